title    Cooperative sticky
question Must everybody stop reading when a member comes?

moment   formed
when     GenerationFormed
say      Both members are in generation {generation}. Its leader shares the partitions of all topics out by {protocol}: as evenly as can be, and everybody keeps what it can.
focus    row:{leader __consumer_offsets-0}
| Both members are in generation 1. Its leader shares the partitions of all topics out by cooperative-sticky: as evenly as can be, and everybody keeps what it can.

moment   one
when     PartitionsAssigned
say      Client {at} is given {partitions}.
focus    client:{at}
| Client 102 is given a-0,a-2,b-1,c-0,c-2,d-1,e-0,e-2.

moment   other
when     PartitionsAssigned at!={one.at}
say      Client {at} is given {partitions}. So the first member has {owned one}, and the second {owned two}.
focus    client:{at} client:{one.at}
| Client 103 is given a-1,b-0,b-2,c-1,d-0,d-2,e-1. So the first member has 8, and the second 7.

moment   given
when     PartitionsRevoked
say      A third member comes. All have joined again with what they had, and read on. Client {at} gives up only what goes to another: {partitions}.
focus    client:{at}
| A third member comes. All have joined again with what they had, and read on. Client 103 gives up only what goes to another: b-2,d-2.

moment   third
when     PartitionsAssigned partitions=a-2,b-2,c-2,d-2,e-2
say      The new member, client {at}, is given {partitions}.
focus    client:{at}
| The new member, client 104, is given a-2,b-2,c-2,d-2,e-2.

moment   left
when     Closed
say      Up to now {moved g} partitions have gone from one member to another. Now client {at} leaves.
focus    client:{at}
| Up to now 5 partitions have gone from one member to another. Now client 103 leaves.

moment   taken
when     PartitionsAssigned
say      Client {at} is given {partitions} in the next generation.
focus    client:{at}
| Client 102 is given a-1,c-1,e-1 in the next generation.

moment   counted
when     PartitionsAssigned at!={taken.at}
say      Client {at} is given {partitions} beside what it has. The two have {owned one} and {owned three}; {moved g} partitions have moved in all, and nobody gave up anything else.
focus    client:{at} client:{taken.at}
| Client 104 is given b-0,d-0 beside what it has. The two have 8 and 7; 10 partitions have moved in all, and nobody gave up anything else.
