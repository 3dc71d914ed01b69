title    What was never on disk
question A member of the ISR loses its power. Are acknowledged records lost?

moment   written
when     BatchWritten at=2
say      Broker {at} follows, and has written up to offset {log_end}. Written is not forced to disk.
focus    row:{at} isr
| Broker 2 follows, and has written up to offset 3. Written is not forced to disk.

moment   power
when     BrokerCrashed
say      Broker {broker} loses its power. What was not forced to disk is gone.
focus    broker:{broker}
| Broker 2 loses its power. What was not forced to disk is gone.

moment   opened
when     ReplicaOpened
say      It is back: its log ends at offset {log_end}. Before it counts again it must have what the leader has.
focus    row:{at}
ask      From where does it get its records?
accept   {next.leo opened.at t-0}
choice   {log_end} = from nowhere, they are lost | The others in the ISR have them.
choice   {leo leader:t-0 t-0} = from the leader | Replication is what makes records durable, not one disk.
| It is back: its log ends at offset 0. Before it counts again it must have what the leader has.
| ? From where does it get its records?
| - from nowhere, they are lost: The others in the ISR have them.
| + from the leader: Replication is what makes records durable, not one disk.

moment   in
when     IsrChanged
say      It has fetched up to offset {leo opened.at t-0} and is in the ISR: {isr}.
focus    row:{opened.at} isr
| It has fetched up to offset 3 and is in the ISR: 1, 3 and 2.
