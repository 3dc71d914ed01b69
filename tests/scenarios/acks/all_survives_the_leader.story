title    The promise that was kept
question What does acks=all add, when the leader dies at the same moment?

moment   told
when     BatchWritten log_end=6
say      The same record with acks=all. Broker {at} has written it, and does not answer: first everyone in the ISR, brokers {isr
         orders-0}, must have it. Nothing is promised yet.
focus    row:{at} isr promises
button   Crash broker {at}
| The same record with acks=all. Broker 1 has written it, and does not answer: first everyone in the ISR, brokers 1, 2 and 3, must have it. Nothing is promised yet.

moment   died
when     BrokerCrashed
say      Broker {broker} dies at the same moment as before. Its last record is lost with it, and no promise is broken: there was
         none.
focus    broker:{broker} row:{broker} promises
ask      Of the producer's {told.log_end record}, {died.acknowledged all} are acknowledged. How many will be in the end?
accept   {end.acknowledged all}
choice   {told.log_end} = all of them | The producer had no answer, so it sends the rest again.
choice   {died.acknowledged all} = no more than now | What was not acknowledged is still in the producer's hands: it sends it again.
| Broker 1 dies at the same moment as before. Its last record is lost with it, and no promise is broken: there was none.
| ? Of the producer's 6 records, 5 are acknowledged. How many will be in the end?
| + all of them: The producer had no answer, so it sends the rest again.
| - no more than now: What was not acknowledged is still in the producer's hands: it sends it again.

moment   led
when     LeadershipTaken
say      Broker {at} leads in epoch {epoch} from offset {start_offset}. It was in the ISR, so it has all that was promised.
focus    row:{at} promises
| Broker 2 leads in epoch 1 from offset 5. It was in the ISR, so it has all that was promised.

moment   rewritten
when     RecordsAcknowledged first=5
say      The producer had no answer, so it sent the record again. Broker {led.at} answered when the whole ISR, now {isr orders-0},
         had it.
focus    row:{led.at} isr promises
| The producer had no answer, so it sent the record again. Broker 2 answered when the whole ISR, now 2 and 3, had it.

moment   cut
when     LogTruncated at={died.broker}
say      Broker {at} is back, and cuts off its own copy, which nobody was promised. It will fetch what the leader has. Every promise
         is kept.
focus    row:{at} promises
| Broker 1 is back, and cuts off its own copy, which nobody was promised. It will fetch what the leader has. Every promise is kept.
