title    Which partition?
question How do records find their partition?

moment   keyed
when     PartitionChosen
say      Record {record} has a key, and goes to {partition}, {why}: a hash, the same in every client of Kafka. Equal keys meet.
focus    client:{at} row:{leader keyed-0}
| Record 0 has a key, and goes to keyed-2, by its key: a hash, the same in every client of Kafka. Equal keys meet.

moment   told
when     RecordsGiven to=sticky
say      Four keys were spread over the partitions as their hashes fell: {leo leader:keyed-0 keyed-0},
         {leo leader:keyed-1 keyed-1} and {leo leader:keyed-2 keyed-2} records. The next records have no key.
focus    client:{client}
| Four keys were spread over the partitions as their hashes fell: 3, 3 and 6 records. The next records have no key.

moment   switched
when     StickySwitched
say      Without a key the records of client {at} stick to one partition until as much as a batch holds went there; then chance
         chooses another, now partition {to}.
focus    client:{at}
| Without a key the records of client 103 stick to one partition until as much as a batch holds went there; then chance chooses another, now partition 2.

moment   turns
when     RecordsGiven to=turns
say      So batches are full, and yet all get some: {leo leader:sticky-0 sticky-0}, {leo leader:sticky-1 sticky-1} and
         {leo leader:sticky-2 sticky-2} records. Client {client} goes by turns instead.
focus    client:{client}
ask      How many will partition zero of the last topic have?
accept   {end.leo leader:turns-0 turns-0}
choice   4 = a third | One record each in turn.
choice   0 = none | Its turn comes as often as that of the others.
| So batches are full, and yet all get some: 8, 6 and 10 records. Client 104 goes by turns instead.
| ? How many will partition zero of the last topic have?
| + a third: One record each in turn.
| - none: Its turn comes as often as that of the others.

moment   turn
when     PartitionChosen
say      Record {record} goes to {partition}, {why}: each record to the next partition, so that no batch grows.
focus    client:{at}
| Record 0 goes to turns-0, RoundRobinPartitioner: each record to the next partition, so that no batch grows.
