title    Records without a key
question Where does a record without a key go?

moment   drawn
when     StickySwitched
say      Chance chooses a partition: {to}. All records without a key go there for now, none in turn.
focus    client:{at}
| Chance chooses a partition: 2. All records without a key go there for now, none in turn.

moment   grows
when     RecordsGiven count=11
say      Now client {client} is given {count record} more, one after the other.
focus    client:{client}
| Now client 102 is given 11 records more, one after the other.

moment   switched
when     StickySwitched
say      As much as a batch holds (batch.size) went to partition {drawn.to}. Only now chance draws again: {to}.
focus    client:{at}
| As much as a batch holds (batch.size) went to partition 2. Only now chance draws again: 1.

moment   again
when     StickySwitched
say      And again after as much: {to}. Batches fill one after the other, in place of many at a time.
focus    client:{at}
| And again after as much: 0. Batches fill one after the other, in place of many at a time.

moment   last
when     Closed
say      In the end the partitions have {leo leader:t-0 t-0}, {leo leader:t-1 t-1} and {leo leader:t-2 t-2} records: few batches,
         and in the long run as many records for each.
focus    client:{at}
| In the end the partitions have 2, 6 and 4 records: few batches, and in the long run as many records for each.
