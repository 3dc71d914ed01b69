title    Without the service
question The coordination service dies. What still works?

moment   died
when     CoordinationCrashed
say      The coordination service is gone. Nobody can be elected, and no ISR can change.
focus    tree
| The coordination service is gone. Nobody can be elected, and no ISR can change.

moment   told
when     RecordsAcknowledged
say      Broker {leader t-0} leads on: {count record} stored and acknowledged, for leader and followers need nobody else.
focus    row:{leader t-0} promises
| Broker 1 leads on: 1 record stored and acknowledged, for leader and followers need nobody else.

moment   back
when     CoordinationStarted
say      The service is back, {since died} ms later.
focus    tree
ask      Who is the leader now?
accept   {next.leader t-0}
choice   {leader t-0} = the same as before | Its session is taken up again: for the service only the connection was lost.
choice   none = nobody, all must register again | Sessions outlive a connection, and a restart of the service.
| The service is back, 520 ms later.
| ? Who is the leader now?
| + the same as before: Its session is taken up again: for the service only the connection was lost.
| - nobody, all must register again: Sessions outlive a connection, and a restart of the service.

moment   resumed
when     SessionResumed
say      A session is taken up where it was: nobody has lost anything.
focus    tree row:{leader t-0}
| A session is taken up where it was: nobody has lost anything.
