title    Written, and not yet safe
question With acks=all, what if the leader dies as the only one that has the record?

moment   written
when     BatchWritten
say      Broker {at} has written the record and waits. With acks=all it may not answer before its followers have fetched,
         and their links are cut.
focus    row:{at} promises
button   Crash the leader
| Broker 1 has written the record and waits. With acks=all it may not answer before its followers have fetched, and their links are cut.

moment   died
when     BrokerCrashed
say      Broker {broker} dies with the only copy. It had told nobody that the record is stored.
focus    broker:{broker} promises
ask      What becomes of the record?
accept   {told.leo leader:t-0 t-0}
choice   0 = it is lost | The producer heard no answer, and sends it again.
choice   1 = it is stored by the next leader | The producer sends it again, to the leader that is there.
choice   2 = it is stored twice | The first copy never left the dead leader.
| Broker 1 dies with the only copy. It had told nobody that the record is stored.
| ? What becomes of the record?
| - it is lost: The producer heard no answer, and sends it again.
| + it is stored by the next leader: The producer sends it again, to the leader that is there.
| - it is stored twice: The first copy never left the dead leader.

moment   told
when     RecordsAcknowledged
say      The next leader, broker {leader t-0}, has stored it at offset {base_offset}, with its whole ISR ({isr t-0}). Only now is
         it promised.
focus    row:{leader t-0} promises isr
| The next leader, broker 2, has stored it at offset 0, with its whole ISR (2 and 3). Only now is it promised.

moment   cut
when     LogTruncated at={died.broker}
say      Broker {at} is back. The copy that it had written alone is cut off, from offset {from} to {to}: nobody was told about
         it.
focus    row:{at}
| Broker 1 is back. The copy that it had written alone is cut off, from offset 1 to 0: nobody was told about it.
