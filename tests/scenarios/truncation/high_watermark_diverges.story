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
ask      Broker {died.broker} comes back, with the old record at that offset. Where will it cut its log?
accept   {back.to}
choice   {told.leo leader:t-0 t-0} = nowhere: it keeps all that it has | Whoever asks where its last epoch ends with the leader
         learns that its last record is another one.
choice   {short.start_offset} = where its record and the new one part | Whoever goes by its own high watermark asks nobody, and
         all that it has lies below.
| A new record gets the free offset 1, and is acknowledged.
| ? Broker 2 comes back, with the old record at that offset. Where will it cut its log?
| + nowhere: it keeps all that it has: Whoever asks where its last epoch ends with the leader learns that its last record is another one.
| - where its record and the new one part: Whoever goes by its own high watermark asks nobody, and all that it has lies below.

moment   back
when     FollowerTruncates at={died.broker}
say      It truncates by its own high watermark, {to}: the old record lies below that, so it stays, and differs from the
         leader's for good.
focus    row:{at} row:{leader}
| It truncates by its own high watermark, 2: the old record lies below that, so it stays, and differs from the leader's for good.
