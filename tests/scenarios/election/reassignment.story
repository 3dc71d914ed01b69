title    Moving house
question How does a partition move to other brokers without a gap?

moment   joined
when     LeadershipTaken epoch=1
say      The partition shall move. First it only grows: its replicas are {replicas}, and broker {at} still leads.
focus    row:{at}
| The partition shall move. First it only grows: its replicas are 3, 4, 1 and 2, and broker 1 still leads.

moment   opened
when     ReplicaOpened
say      Broker {at} is new and begins with an empty log: it fetches from the start.
focus    row:{at}
| Broker 3 is new and begins with an empty log: it fetches from the start.

moment   in
when     IsrChanged
say      It has caught up and enters the ISR: {isr}.
focus    isr row:{opened.at}
| It has caught up and enters the ISR: 1, 2 and 3.

moment   all
when     IsrChanged
say      All new replicas are in the ISR now: {isr}. The old ones can go.
focus    isr
ask      The leader is one of those that go. Who leads then?
accept   {next.at}
choice   {next.at} = the first of the new ones | It is first in the new list, lives, and is in the ISR.
choice   {at} = the old leader, until it dies | It is not assigned any more.
| All new replicas are in the ISR now: 1, 2, 3 and 4. The old ones can go.
| ? The leader is one of those that go. Who leads then?
| + the first of the new ones: It is first in the new list, lives, and is in the ISR.
| - the old leader, until it dies: It is not assigned any more.

moment   led
when     LeadershipTaken
say      Broker {at} leads in epoch {epoch} from offset {start_offset}: the replicas are {replicas}.
focus    row:{at} isr
| Broker 3 leads in epoch 2 from offset 3: the replicas are 3 and 4.

moment   gone
when     ReplicaClosed
say      Broker {at} closes its replica. Nobody had to stop writing.
focus    broker:{at}
| Broker 2 closes its replica. Nobody had to stop writing.
