title    Sent twice, stored once
question How does a leader know that it has a batch already?

moment   appended
when     BatchAppended
say      Broker {at} appends the batch at offsets {base_offset} to {last_offset}. With it come the producer's id and a sequence
         number.
focus    row:{at}
| Broker 1 appends the batch at offsets 0 to 1. With it come the producer's id and a sequence number.

moment   lost
when     PacketLost
say      The followers have it too, but the answer to the producer is lost: {why}.
focus    promises
| The followers have it too, but the answer to the producer is lost: dropped.

moment   again
when     BatchRetried
say      The producer cannot know whether the batch or the answer was lost. It sends the same batch once more.
focus    client:{at}
ask      What will the leader do with it?
accept   {end.leo 1 t-0}
choice   {leo 1 t-0} = answer without storing it | Its sequence number is known: the batch is stored already.
choice   0 = refuse it | That would make the producer believe that it is not stored.
| The producer cannot know whether the batch or the answer was lost. It sends the same batch once more.
| ? What will the leader do with it?
| + answer without storing it: Its sequence number is known: the batch is stored already.
| - refuse it: That would make the producer believe that it is not stored.

moment   known
when     DuplicateBatch
say      Broker {at} knows the sequence number: the batch is at offsets {base_offset} to {last_offset}, and is not stored again.
focus    row:{at}
| Broker 1 knows the sequence number: the batch is at offsets 0 to 1, and is not stored again.

moment   told
when     RecordsAcknowledged
say      The producer is told the offset that the batch has had since its first try: {base_offset}.
focus    promises client:{client}
| The producer is told the offset that the batch has had since its first try: 0.
