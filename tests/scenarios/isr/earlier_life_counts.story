title    For the merits of an earlier life
question Can a replica with an empty disk be in the ISR?

moment   out
when     IsrChanged
say      A follower was cut off too long: the ISR is {isr}.
focus    row:{at} isr
| A follower was cut off too long: the ISR is 2.

moment   wanted
when     IsrProposed
say      It has caught up, and broker {at} asks the controller for the ISR {isr}. This request is slow on its way.
focus    row:{because} isr controller
| It has caught up, and broker 2 asks the controller for the ISR 2 and 3. This request is slow on its way.

moment   power
when     BrokerCrashed
say      Meanwhile broker {broker} loses its power. Nothing it had fetched was forced to disk.
focus    broker:{broker}
| Meanwhile broker 3 loses its power. Nothing it had fetched was forced to disk.

moment   reborn
when     BrokerRegistered
say      It is back under a new broker epoch, {epoch}, with an empty log. But nothing checks the epoch here.
focus    row:{broker}
ask      Now the slow request arrives. What does the controller answer?
accept   {next.isr t-0}
choice   {isr t-0} = it refuses | It would have to know that the request speaks of an earlier life, and does not check.
choice   {wanted.isr} = it agrees | Partition and leader are as the request says, and nobody looks at whose life it speaks of.
| It is back under a new broker epoch, 15, with an empty log. But nothing checks the epoch here.
| ? Now the slow request arrives. What does the controller answer?
| - it refuses: It would have to know that the request speaks of an earlier life, and does not check.
| + it agrees: Partition and leader are as the request says, and nobody looks at whose life it speaks of.

moment   in
when     IsrChanged
say      The controller agrees to what was true before: the ISR is {isr}, and one of them has nothing.
focus    isr row:{wanted.because}
| The controller agrees to what was true before: the ISR is 2 and 3, and one of them has nothing.

moment   died
when     BrokerCrashed
say      Broker {broker}, the leader, dies.
focus    broker:{broker}
| Broker 2, the leader, dies.

moment   led
when     LeadershipTaken
say      Broker {at} is in the ISR, so it leads, from offset {start_offset}. All acknowledged records are gone, by a clean
         election.
focus    row:{at} promises
| Broker 3 is in the ISR, so it leads, from offset 0. All acknowledged records are gone, by a clean election.
