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
| Broker 1 appends the batch: offsets 0 to 9.

moment   known
when     DuplicateBatch
say      The copy comes. Broker {at} knows its sequence number, and stores nothing.
focus    row:{at}
| The copy comes. Broker 1 knows its sequence number, and stores nothing.

moment   read
when     RecordsReturned to=10
say      With this the consumer has read all offsets up to {to}: each record once.
focus    client:{at} row:{known.at}
| With this the consumer has read all offsets up to 10: each record once.
