title    At most once
question What is lost when the offset is committed first?

moment   given
when     RecordsReturned
say      Client {at} is given {count record} and commits before it does anything with them.
focus    client:{at}
| Client 103 is given 3 records and commits before it does anything with them.

moment   committed
when     Committed
say      The coordinator has stored the offset: {offsets}. Nothing is processed yet.
focus    client:{at} row:{leader __consumer_offsets-0}
| The coordinator has stored the offset: t-0@3. Nothing is processed yet.

moment   died
when     ClientKilled
say      Client {client} dies in the middle of its work.
focus    client:{client}
ask      Where will the next member begin?
accept   {next.offset}
choice   {given.to} = behind the records | That is what the group has committed, and nobody knows that they were not processed.
choice   {given.from} = at the first of them | It would, had the offset not been committed before.
| Client 103 dies in the middle of its work.
| ? Where will the next member begin?
| + behind the records: That is what the group has committed, and nobody knows that they were not processed.
| - at the first of them: It would, had the offset not been committed before.

moment   next
when     PositionSet why=Committed
say      Client {at} takes the partition over and begins at offset {offset}. Records processed by anybody: {processed all}.
focus    client:{at}
| Client 104 takes the partition over and begins at offset 3. Records processed by anybody: 0.
