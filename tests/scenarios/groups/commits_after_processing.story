title    At least once
question What comes twice when the offset is committed last?

moment   given
when     RecordsReturned
say      Client {at} is given {count record}, and processes them before it commits.
focus    client:{at}
| Client 103 is given 3 records, and processes them before it commits.

moment   done
when     RecordsProcessed
say      It is done with {count record}. Its commit is under way, and never arrives.
focus    client:{client}
| It is done with 3 records. Its commit is under way, and never arrives.

moment   died
when     ClientKilled
say      Client {client} dies. Of what it did, the group knows nothing.
focus    client:{client}
ask      Where will the next member begin?
accept   {next.offset}
choice   {given.to} = behind the records | Only a committed offset would say so.
choice   {given.from} = at the first of them | Nothing was committed, so it begins where the group began.
| Client 103 dies. Of what it did, the group knows nothing.
| ? Where will the next member begin?
| - behind the records: Only a committed offset would say so.
| + at the first of them: Nothing was committed, so it begins where the group began.

moment   next
when     PositionSet
say      Client {at} takes the partition over and begins at offset {offset}.
focus    client:{at}
| Client 104 takes the partition over and begins at offset 0.

moment   again
when     RecordsProcessed
say      It processes {count record}, too. With those of the first member that makes {processed all}: each one came twice.
focus    client:{client}
| It processes 3 records, too. With those of the first member that makes 6: each one came twice.
