title    By round robin
question How evenly are many small topics shared out in turn?

moment   formed
when     GenerationFormed
say      Both members are in generation {generation}. Its leader shares the partitions of all topics out by {protocol}: all in one row, dealt out in turn.
focus    row:{leader __consumer_offsets-0}
| Both members are in generation 1. Its leader shares the partitions of all topics out by roundrobin: all in one row, dealt out in turn.

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
say      A third member comes. Before it joins again, client {at} gives up all that it has: {partitions}.
focus    client:{at}
| A third member comes. Before it joins again, client 103 gives up all that it has: a-1,b-0,b-2,c-1,d-0,d-2,e-1.

moment   third
when     PartitionsAssigned owned=a-2,b-2,c-2,d-2,e-2
say      The new member, client {at}, is given {partitions}.
focus    client:{at}
| The new member, client 104, is given a-2,b-2,c-2,d-2,e-2.

moment   left
when     Closed
say      Up to now {moved g} partitions have gone from one member to another. Now client {at} leaves.
focus    client:{at}
| Up to now 9 partitions have gone from one member to another. Now client 103 leaves.

moment   taken
when     PartitionsAssigned
say      Client {at} is given {partitions} in the next generation.
focus    client:{at}
| Client 102 is given a-0,a-2,b-1,c-0,c-2,d-1,e-0,e-2 in the next generation.

moment   counted
when     PartitionsAssigned at!={taken.at}
say      Client {at} is given {partitions}. The two have {owned one} and {owned three}; nobody looked at who had what before, and {moved g} partitions have moved in all.
focus    client:{at} client:{taken.at}
| Client 104 is given a-1,b-0,b-2,c-1,d-0,d-2,e-1. The two have 8 and 7; nobody looked at who had what before, and 19 partitions have moved in all.
