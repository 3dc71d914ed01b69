title    A follower comes back
question What must a follower do after a crash before it counts again?

moment   died
when     BrokerCrashed
say      Broker {broker} follows, and dies. The leader still waits for it: it is in the ISR ({isr t-0}).
focus    broker:{broker} isr
| Broker 2 follows, and dies. The leader still waits for it: it is in the ISR (1, 2 and 3).

moment   out
when     IsrChanged
say      When it has been silent for replica.lag.time.max.ms, the ISR shrinks to {isr}, and what came meanwhile is
         acknowledged without it.
focus    isr row:{at}
| When it has been silent for replica.lag.time.max.ms, the ISR shrinks to 1 and 3, and what came meanwhile is acknowledged without it.

moment   opened
when     ReplicaOpened
say      Broker {at} is back and opens its log: it ends at offset {log_end}, where it ended when it died.
focus    row:{at}
ask      How many records will it have when it is in the ISR again?
accept   {next.leo opened.at t-0}
choice   {log_end} = those that it had | To be in sync is to have what the leader has, so it fetches the rest first.
choice   {leo leader:t-0 t-0} = all that the leader has | It enters when it has caught up, and not before.
| Broker 2 is back and opens its log: it ends at offset 2, where it ended when it died.
| ? How many records will it have when it is in the ISR again?
| - those that it had: To be in sync is to have what the leader has, so it fetches the rest first.
| + all that the leader has: It enters when it has caught up, and not before.

moment   in
when     IsrChanged
say      It has fetched up to offset {leo opened.at t-0}, and the leader takes it back: the ISR is {isr}.
focus    row:{opened.at} isr
| It has fetched up to offset 4, and the leader takes it back: the ISR is 1, 3 and 2.
