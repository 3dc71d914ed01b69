title    Named, not chosen
question Who decides when a record names its partition?

moment   chosen
when     PartitionChosen
say      Record {record} has a key, and its producer a partitioner. Neither is asked: {why}, {partition}.
focus    client:{at} row:{leader t-2}
| Record 0 has a key, and its producer a partitioner. Neither is asked: the record names it, t-2.

moment   all
when     RecordsAcknowledged
say      All {count record} are in {partition}, and no other partition has any.
focus    row:{leader t-2} client:{client}
| All 3 records are in t-2, and no other partition has any.

moment   blocked
when     RecordBlocked
say      A record names a partition that is not there. It might come yet, so the producer asks again and again, and the
         application waits.
focus    client:{at}
| A record names a partition that is not there. It might come yet, so the producer asks again and again, and the application waits.

moment   failed
when     RecordFailed
say      Nobody has made it within max.block.ms: {why}
focus    client:{at}
| Nobody has made it within max.block.ms: Partition 7 of topic t with partition count 3 is not present in metadata after 2000 ms.
