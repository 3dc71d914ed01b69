title    The coordinator dies
question What becomes of a group whose coordinator dies?

moment   died
when     BrokerCrashed
say      Broker {broker} dies. It led the partition that holds the group, so it was its coordinator.
focus    row:{broker} row:{leader __consumer_offsets-0}
| Broker 3 dies. It led the partition that holds the group, so it was its coordinator.

moment   lost
when     CoordinatorLost
say      Client {at} notices and asks the others who coordinates the group now. Until somebody leads, they still name the dead one.
focus    client:{at}
ask      What will the next coordinator know of the group's offsets?
accept   {loaded.offsets}
choice   {loaded.offsets} = all that was committed | They are records of the partition that it leads then.
choice   none = nothing, until members tell it | So it would be if a coordinator kept them in its memory alone.
| Client 103 notices and asks the others who coordinates the group now. Until somebody leads, they still name the dead one.
| ? What will the next coordinator know of the group's offsets?
| + all that was committed: They are records of the partition that it leads then.
| - nothing, until members tell it: So it would be if a coordinator kept them in its memory alone.

moment   loaded
when     CoordinatorLoaded
say      Broker {at} leads the partition, {since died} ms after the death, and has read it: {groups group} with {offsets offset}.
focus    row:{at} row:{leader __consumer_offsets-0}
| Broker 2 leads the partition, 1447 ms after the death, and has read it: 1 group with 2 offsets.

moment   read
when     RecordsReturned
say      Client {at} reads on meanwhile: offsets {from} to {to}. For that it needs the leader of its topic, and no coordinator.
focus    client:{at}
| Client 102 reads on meanwhile: offsets 2 to 3. For that it needs the leader of its topic, and no coordinator.

moment   committed
when     Committed
say      Client {at} has found the new coordinator and commits {offsets}. It is the same generation as before; nobody had to join again.
focus    client:{at} row:{leader __consumer_offsets-0}
| Client 102 has found the new coordinator and commits t-0@2. It is the same generation as before; nobody had to join again.
