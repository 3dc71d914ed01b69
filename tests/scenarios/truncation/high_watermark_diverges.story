title    Two records, one offset
question Can two replicas of a partition hold different records at the same offset?

moment   told
when     RecordsAcknowledged base_offset=1
say      Both brokers have the record at offset {base_offset}, but it was not forced to disk: that is the system's affair, some
         time.
focus    promises isr
| Both brokers have the record at offset 1, but it was not forced to disk: that is the system's affair, some time.

moment   died
when     BrokerCrashed
say      Broker {broker}, the leader, dies. What it wrote is kept by its machine.
focus    broker:{broker}
| Broker 2, the leader, dies. What it wrote is kept by its machine.

moment   led
when     LeadershipTaken
say      Broker {at} leads alone: the ISR is {isr}.
focus    row:{at} isr
| Broker 3 leads alone: the ISR is 3.

moment   power
when     BrokerCrashed power_lost=true
say      Broker {broker} loses its power, and with it the record that was never forced to disk.
focus    broker:{broker}
| Broker 3 loses its power, and with it the record that was never forced to disk.

moment   short
when     LeadershipTaken
say      It is back as the leader, in epoch {epoch} from offset {start_offset}: one record is missing, and there is nobody to ask.
focus    row:{at}
| It is back as the leader, in epoch 3 from offset 1: one record is missing, and there is nobody to ask.

moment   new
when     RecordsAcknowledged
say      A new record gets the free offset {base_offset}, and is acknowledged.
focus    row:{short.at} promises
| A new record gets the free offset 1, and is acknowledged.

moment   back
when     LeaderFollowed leader={short.at}
say      Broker {at} is back, and truncates by its high watermark, {hw at t-0}. Its old record lies below that, so it keeps it.
focus    row:{at} row:{leader}
ask      What is at offset {new.base_offset} now?
accept   {leo back.at t-0}
choice   {new.leo short.at t-0} = a different record on each | Each keeps what it has, and neither asks the other.
choice   {new.base_offset} = the leader's record on both | The follower would have to cut its log, and it sees no reason to.
| Broker 2 is back, and truncates by its high watermark, 2. Its old record lies below that, so it keeps it.
| ? What is at offset 1 now?
| + a different record on each: Each keeps what it has, and neither asks the other.
| - the leader's record on both: The follower would have to cut its log, and it sees no reason to.
