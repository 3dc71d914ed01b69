title    Where to begin
question Where does a group begin that has committed nothing?

moment   came
when     Subscribed
say      A group comes that was never here. The log holds {leo leader:t-0 t-0} records by now.
focus    client:{at}
| A group comes that was never here. The log holds 5 records by now.

moment   set
when     PositionSet
say      Nothing is committed, so auto.offset.reset decides: client {at} begins at offset {offset}.
focus    client:{at}
| Nothing is committed, so auto.offset.reset decides: client 103 begins at offset 0.

moment   read
when     RecordsReturned
say      It is given {count record}, from offset {from} on.
focus    client:{at}
| It is given 5 records, from offset 0 on.

moment   stored
when     OffsetsCommitted
say      The coordinator stores {offsets} for the group.
focus    row:{leader __consumer_offsets-0}
| The coordinator stores t-0@7 for the group.

moment   again
when     PositionSet why=Committed
say      A later member, client {at}, begins at offset {offset}. What is committed goes before any setting.
focus    client:{at}
| A later member, client 104, begins at offset 7. What is committed goes before any setting.
