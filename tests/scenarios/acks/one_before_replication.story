title    The answer that was not heard
question With acks=1, what if leader and answer are lost together?

moment   written
when     BatchWritten
say      Broker {at} has written the record and answers at once: with acks=1 it waits for no follower. None has the
         record, for their links are cut.
focus    row:{at}
| Broker 1 has written the record and answers at once: with acks=1 it waits for no follower. None has the record, for their links are cut.

moment   unheard
when     PacketLost
say      The answer is lost on its way. The producer knows as much as before: nothing.
focus    promises
button   Crash the leader
| The answer is lost on its way. The producer knows as much as before: nothing.

moment   died
when     BrokerCrashed
say      Broker {broker} dies with the only copy of the record.
focus    broker:{broker}
ask      How often is the record in the log of the next leader, in the end?
accept   {end.leo leader:t-0 t-0}
choice   0 = never | The producer heard no answer, so it sends the record again.
choice   1 = once | The first copy died with the leader, the second try stored another.
choice   2 = twice | The first copy was on the dead leader alone.
| Broker 1 dies with the only copy of the record.
| ? How often is the record in the log of the next leader, in the end?
| - never: The producer heard no answer, so it sends the record again.
| + once: The first copy died with the leader, the second try stored another.
| - twice: The first copy was on the dead leader alone.

moment   told
when     RecordsAcknowledged
say      The second try reaches broker {leader t-0}, which stores the record at offset {base_offset}. That no answer came was
         the producer's luck: it tried again.
focus    row:{leader t-0} promises
| The second try reaches broker 2, which stores the record at offset 0. That no answer came was the producer's luck: it tried again.
