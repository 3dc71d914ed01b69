title    Equal keys meet
question Where does a record with a key go?

moment   first
when     PartitionChosen record=0
say      Record {record} goes to {partition}, {why}: a hash of the key's bytes, modulo the number of partitions.
focus    client:{at}
| Record 0 goes to t-2, by its key: a hash of the key's bytes, modulo the number of partitions.

moment   other
when     PartitionChosen record=2
say      Record {record} has another key, and goes to {partition}.
focus    client:{at}
| Record 2 has another key, and goes to t-0.

moment   given
when     PartitionChosen record=3
say      Record {record} has the last of the keys, and goes to {partition}. The next record has the key of record
         {first.record} again.
focus    client:{at}
ask      Which partition will it go to?
accept   {next.partition}
choice   {first.partition} = where the first one went | Nothing counts but the key's bytes and the number of partitions.
choice   {other.partition} = the next one in turn | Keys take no turns: the hash decides.
| Record 3 has the last of the keys, and goes to t-1. The next record has the key of record 0 again.
| ? Which partition will it go to?
| + where the first one went: Nothing counts but the key's bytes and the number of partitions.
| - the next one in turn: Keys take no turns: the hash decides.

moment   again
when     PartitionChosen record=4
say      To {partition}, as record {first.record}. Nothing had to be remembered for that.
focus    client:{at}
| To t-2, as record 0. Nothing had to be remembered for that.

moment   stored
when     Closed
say      The partitions have {leo leader:t-0 t-0}, {leo leader:t-1 t-1} and {leo leader:t-2 t-2} records: some keys share a
         partition. Hashes of a few keys are seldom even.
focus    client:{at}
| The partitions have 3, 3 and 6 records: some keys share a partition. Hashes of a few keys are seldom even.
