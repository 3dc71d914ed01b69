title    The network repeats itself
question A request arrives two times. Is a record stored two times?

moment   copied
when     PacketDuplicated
say      The network has made a copy of the producer's request: the leader will get both.
focus    row:{leader t-0}
| The network has made a copy of the producer's request: the leader will get both.

moment   appended
when     BatchAppended
say      Broker {at} appends the batch: offsets {base_offset} to {last_offset}.
focus    row:{at}
| Broker 1 appends the batch: offsets 0 to 4.

moment   known
when     DuplicateBatch
say      The copy comes. Broker {at} knows its sequence number, and stores nothing.
focus    row:{at}
| The copy comes. Broker 1 knows its sequence number, and stores nothing.

moment   read
when     RecordsRead
say      The consumer reads offsets {from} up to {to}: each record once.
focus    client:{client} row:{known.at}
| The consumer reads offsets 0 up to 10: each record once.
