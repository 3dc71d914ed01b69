title    Once, whatever happens
question How does a leader know a retry that another leader has stored?

moment   everyone
when     HighWatermarkMoved
say      The whole ISR ({isr t-0}) has the record. In its batch stand the producer's id and a sequence number, so every
         replica knows them.
focus    row:{at} isr
| The whole ISR (1, 2 and 3) has the record. In its batch stand the producer's id and a sequence number, so every replica knows them.

moment   died
when     BrokerCrashed
say      The answer is lost, and broker {broker} dies. The producer will send the same batch again.
focus    broker:{broker} promises
ask      How often will the record be in the log?
accept   {end.leo leader:t-0 t-0}
choice   1 = once | The next leader read the sequence number in the batch that it fetched.
choice   2 = twice | So it would be with a plain producer; this batch carries its sequence number.
| The answer is lost, and broker 1 dies. The producer will send the same batch again.
| ? How often will the record be in the log?
| + once: The next leader read the sequence number in the batch that it fetched.
| - twice: So it would be with a plain producer; this batch carries its sequence number.

moment   known
when     DuplicateBatch
say      Broker {at} finds the sequence number among those that it knows: the batch is stored already, at offset {base_offset}.
         It stores nothing.
focus    row:{at}
| Broker 2 finds the sequence number among those that it knows: the batch is stored already, at offset 0. It stores nothing.

moment   told
when     RecordsAcknowledged
say      The producer is told offset {base_offset}, where the first try had put it: {leo leader:t-0 t-0 record} in the log, and
         one promise kept.
focus    row:{leader t-0} promises
| The producer is told offset 0, where the first try had put it: 1 record in the log, and one promise kept.
