title    Sent again, once and in order
question What does a leader do with a retry when every record is numbered?

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

moment   refused
when     BatchRetried code=OUT_OF_ORDER_SEQUENCE_NUMBER
say      The second batch is refused too: its number, {second.sequence}, is not the next one. Both wait to go again.
focus    client:{at} row:{leader t-0}
| The second batch is refused too: its number, 2, is not the next one. Both wait to go again.

moment   first
when     RecordsAcknowledged
say      The first goes alone, and is stored at offset {base_offset}. Only then the second follows.
focus    row:{leader t-0} promises
| The first goes alone, and is stored at offset 1. Only then the second follows.

moment   behind
when     RecordsAcknowledged
say      It is stored behind it, at offset {base_offset}, as it was sent.
focus    row:{leader t-0} promises
| It is stored behind it, at offset 2, as it was sent.

moment   lost
when     PacketLost
say      One batch more is stored, but the answer is lost, and the producer will send it again.
focus    client:{second.at} row:{leader t-0}
ask      Where will the log end?
accept   {end.leo leader:t-0 t-0}
choice   4 = each record is there once | The leader knows the number, and stores nothing.
choice   5 = one is there twice | It would be, if the batch had no number.
| One batch more is stored, but the answer is lost, and the producer will send it again.
| ? Where will the log end?
| + each record is there once: The leader knows the number, and stores nothing.
| - one is there twice: It would be, if the batch had no number.

moment   known
when     DuplicateBatch
say      Broker {at} has the numbers already, and stores nothing.
focus    row:{at}
| Broker 1 has the numbers already, and stores nothing.

moment   once
when     RecordsAcknowledged
say      The producer hears the offset of the first try, {base_offset}. {acknowledged p} records were sent, and the log has
         {leo leader:t-0 t-0}.
focus    row:{leader t-0} promises
| The producer hears the offset of the first try, 3. 4 records were sent, and the log has 4.
