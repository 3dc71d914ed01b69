title    A third member comes
question Must everybody stop reading when a member comes?

moment   busy
when     RecordsReturned
say      Client {at} was given {count record} and works on it for a long time. It joins nothing before its next poll.
focus    client:{at}
| Client 102 was given 1 record and works on it for a long time. It joins nothing before its next poll.

moment   came
when     RebalanceStarted
say      A third member joins: generation {generation} ends. The others hear so with their next heartbeat.
focus    row:{leader __consumer_offsets-0}
| A third member joins: generation 1 ends. The others hear so with their next heartbeat.

moment   gave
when     PartitionsRevoked at!={busy.at}
say      Client {at} gives up {partitions}.
focus    client:{at}
| Client 103 gives up t-1,t-3,t-5.

moment   back
when     PartitionsAssigned at={gave.at}
say      {since gave} ms later it has its share and reads on: {owned}.
focus    client:{at}
| 3157 ms later it has its share and reads on: t-1,t-3.

moment   counted
when     Closed
say      In the end {moved g} partitions have gone from one member to another.
focus    client:{at}
| In the end 2 partitions have gone from one member to another.
