title    Three ways to begin anew
question What makes a group share out its partitions again?

moment   alone
when     PartitionsAssigned
say      The group has one member, client {at}, which reads {owned}.
focus    client:{at}
| The group has one member, client 102, which reads t-0,t-1.

moment   came
when     RebalanceStarted why=MemberJoined
say      Another client joins. Generation {generation} ends: whoever is in it hears so with its next heartbeat, and joins again.
focus    row:{leader __consumer_offsets-0}
| Another client joins. Generation 1 ends: whoever is in it hears so with its next heartbeat, and joins again.

moment   shared
when     GenerationFormed
say      Generation {generation} is there, {since came} ms later, as soon as everybody had come.
focus    row:{leader __consumer_offsets-0}
ask      A topic that the members read is created now. Who notices?
accept   {changed.why}
choice   LeaderJoined = the group's leader | It looks at the topics' partitions now and then, and joins again when they are others.
choice   SessionExpired = the coordinator | A coordinator knows members and offsets, but no topics.
| Generation 2 is there, 1408 ms later, as soon as everybody had come.
| ? A topic that the members read is created now. Who notices?
| + the group's leader: It looks at the topics' partitions now and then, and joins again when they are others.
| - the coordinator: A coordinator knows members and offsets, but no topics.

moment   changed
when     RebalanceStarted why=LeaderJoined
say      The leader has asked for the topics again, since what it knew was too old, and found another. It joins again, and generation
         {generation} ends.
focus    row:{leader __consumer_offsets-0}
| The leader has asked for the topics again, since what it knew was too old, and found another. It joins again, and generation 2 ends.

moment   died
when     ClientKilled
say      Client {client} is killed. Its machine closes the connections, but of that a coordinator takes no notice.
focus    client:{client}
| Client 103 is killed. Its machine closes the connections, but of that a coordinator takes no notice.

moment   expired
when     RebalanceStarted why=SessionExpired
say      Its session is over, {since died} ms after it was killed: nothing was heard of it for session.timeout.ms.
focus    row:{leader __consumer_offsets-0}
| Its session is over, 5417 ms after it was killed: nothing was heard of it for session.timeout.ms.

moment   last
when     PartitionsAssigned
say      Client {at} has everything again: {owned}.
focus    client:{at}
| Client 102 has everything again: t-0,t-1,u-0,u-1.
