title    Commit, and die
question What comes twice, and what not at all?

moment   given
when     RecordsReturned
say      Client {at} is given {count record}, and its position moves to {to}. The application needs a second for them.
focus    client:{at}
| Client 103 is given 3 records, and its position moves to 3. The application needs a second for them.

moment   died
when     ClientKilled
say      The application dies, done with {processed all} of the records. What was committed the coordinator knows.
focus    client:{client}
ask      Where will the next member begin?
accept   {next.offset}
choice   {given.from} = at the first of the records | Nothing was committed, so it begins where the group began.
choice   {given.to} = behind them | That is what the group has committed, done or not.
| The application dies, done with 3 of the records. What was committed the coordinator knows.
| ? Where will the next member begin?
| + at the first of the records: Nothing was committed, so it begins where the group began.
| - behind them: That is what the group has committed, done or not.

moment   next
when     PositionSet at!={given.at}
say      Client {at} takes the partition over and begins at offset {offset}.
focus    client:{at}
| Client 104 takes the partition over and begins at offset 0.

moment   counted
when     Closed
say      Of {given.count record}, {processed all} were processed: counting each as often as it was.
focus    client:{at}
| Of 3 records, 6 were processed: counting each as often as it was.
