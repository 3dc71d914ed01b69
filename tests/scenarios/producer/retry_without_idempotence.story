title    Sent again, and out of order
question What does a retry do to a log when nothing is numbered?

moment   alone
when     LeadershipTaken isr=1
say      Broker {at} is alone in the ISR: too few for min.insync.replicas.
focus    row:{at} isr
| Broker 1 is alone in the ISR: too few for min.insync.replicas.

moment   sent
when     BatchDrained
say      Client {at} sends a batch, while the other replica is on its way back. The leader refuses it, and the answer takes its
         time.
focus    client:{at} row:{leader t-0} isr
| Client 102 sends a batch, while the other replica is on its way back. The leader refuses it, and the answer takes its time.

moment   grown
when     IsrChanged
say      Meanwhile the other replica is in sync again: the ISR is {isr}.
focus    isr row:{at}
| Meanwhile the other replica is in sync again: the ISR is 1 and 2.

moment   second
when     BatchDrained
say      The producer sends the next batch without waiting for the answer to the one before. Several requests may be in flight.
focus    client:{at} row:{leader t-0}
| The producer sends the next batch without waiting for the answer to the one before. Several requests may be in flight.

moment   passed
when     RecordsAcknowledged
say      The second batch is stored at offset {base_offset}. That the first was refused is known only now.
focus    row:{leader t-0} promises
| The second batch is stored at offset 1. That the first was refused is known only now.

moment   behind
when     RecordsAcknowledged
say      The first is sent again, and stored behind it, at offset {base_offset}. Readers see them in another order than they were sent.
focus    row:{leader t-0} promises
| The first is sent again, and stored behind it, at offset 2. Readers see them in another order than they were sent.

moment   lost
when     PacketLost
say      One batch more is stored, but the answer is lost, and the producer will send it again.
focus    client:{second.at} row:{leader t-0}
ask      Where will the log end?
accept   {end.leo leader:t-0 t-0}
choice   4 = each record is there once | A leader sees no difference between a new batch and the same batch again.
choice   5 = one is there twice | The batch has no number, so it is stored as a new one.
| One batch more is stored, but the answer is lost, and the producer will send it again.
| ? Where will the log end?
| - each record is there once: A leader sees no difference between a new batch and the same batch again.
| + one is there twice: The batch has no number, so it is stored as a new one.

moment   twice
when     RecordsAcknowledged
say      It is stored a second time, at offset {base_offset}. Of {acknowledged p} records that were sent the log has
         {leo leader:t-0 t-0}.
focus    row:{leader t-0} promises
| It is stored a second time, at offset 4. Of 4 records that were sent the log has 5.
