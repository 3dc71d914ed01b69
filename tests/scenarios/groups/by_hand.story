title    By hand
question What is a group good for without members?

moment   chosen
when     Assigned
say      Client {at} takes {partitions} itself. Nobody is asked, and nobody else will be kept from reading the same.
focus    client:{at}
| Client 103 takes t-0,t-1 itself. Nobody is asked, and nobody else will be kept from reading the same.

moment   read
when     RecordsReturned
say      It was told to begin at offset {from}, and reads up to {to}.
focus    client:{at}
| It was told to begin at offset 1, and reads up to 3.

moment   stored
when     OffsetsCommitted
say      It commits what it has read, and broker {at} stores it for its group: {offsets}. For that a group needs no member.
focus    row:{leader __consumer_offsets-0} row:{at}
| It commits what it has read, and broker 2 stores it for its group: t-0@3,t-1@2. For that a group needs no member.

moment   next
when     PositionSet why=Committed
say      A later consumer of the group, client {at}, goes on at offset {offset} of {partition}.
focus    client:{at}
| A later consumer of the group, client 104, goes on at offset 3 of t-0.
