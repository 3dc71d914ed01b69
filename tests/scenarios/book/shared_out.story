title    Shared out
question Who reads what, by which rule?

moment   formed
when     GenerationFormed
say      Both members have joined, and generation {generation} begins. One of them, the group's leader, shares the partitions out by
         {protocol}.
focus    row:{leader __consumer_offsets-0}
| Both members have joined, and generation 1 begins. One of them, the group's leader, shares the partitions out by range.

moment   one
when     PartitionsAssigned
say      Client {at} is given {partitions}.
focus    client:{at}
| Client 103 is given a-2,b-2.

moment   other
when     PartitionsAssigned at!={one.at}
say      Client {at} is given {partitions}. So the first has {owned one}, and the second {owned two}.
focus    client:{at} client:{one.at}
| Client 102 is given a-0,a-1,b-0,b-1. So the first has 4, and the second 2.
