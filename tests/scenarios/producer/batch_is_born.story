title    A batch is born
question Why does a record wait before it is sent?
picture  producer

moment   sent
when     RecordIntercepted
say      An application hands over a record. Before anything else its interceptors see it, in order: this one {by} it, and so
         makes another record of it.
focus    way:send way:interceptors
| An application hands over a record. Before anything else its interceptors see it, in order: this one stamps it, and so makes another record of it.

moment   unknown
when     RecordBlocked
say      The producer does not know the topic yet, so send does not return: {why}. It asks a broker which partitions there
         are, and who leads them.
focus    way:send memory
| The producer does not know the topic yet, so send does not return: orders is not known yet. It asks a broker which partitions there are, and who leads them.

moment   serialized
when     RecordSerialized
say      Now it does. The serializers make bytes of key and value, {key_bytes} and {value_bytes}. From here on nobody looks into
         the record.
focus    way:serializer
| Now it does. The serializers make bytes of key and value, 2 and 100. From here on nobody looks into the record.

moment   placed
when     PartitionChosen
say      The partitioner decides where it belongs: {partition}, {why}. The hash of a key is the same in every client, so equal
         keys meet.
focus    way:partitioner queue:{partition}
| The partitioner decides where it belongs: orders-2, by its key. The hash of a key is the same in every client, so equal keys meet.

moment   appended
when     RecordAppended
say      It is the first of a batch, {batch_bytes} bytes with the header. Nothing is sent: the batch waits for more records until
         linger.ms is over.
focus    queue:{partition}
| It is the first of a batch, 180 bytes with the header. Nothing is sent: the batch waits for more records until linger.ms is over.

moment   drained
when     BatchDrained
say      Nobody else came, and {why}: the batch goes out with {records record}. Each batch pays for a header and for an answer,
         however few its records are.
focus    queue:{partition}
| Nobody else came, and linger.ms is over: the batch goes out with 1 record. Each batch pays for a header and for an answer, however few its records are.

moment   flies
when     RequestSent
say      The sender makes one request for broker {node}: a batch of every partition led there that is ready. Some more may follow
         before this one is answered.
focus    requests:{node}
| The sender makes one request for broker 3: a batch of every partition led there that is ready. Some more may follow before this one is answered.

moment   answered
when     BatchAcknowledged
say      The broker has it, at offset {base_offset}: the batch ends, its memory is free, and the application hears of it. The
         record waited {latency app} ms, most of it to linger.
focus    tally memory
| The broker has it, at offset 0: the batch ends, its memory is free, and the application hears of it. The record waited 39 ms, most of it to linger.

moment   keyed
when     RecordAppended record>=6
say      More records follow, of a few keys. Each key has its partition, and each partition a batch of its own: they fill side by
         side.
focus    way:partitioner queue:orders-0 queue:orders-2
| More records follow, of a few keys. Each key has its partition, and each partition a batch of its own: they fill side by side.

moment   together
when     RequestSent
say      What is ready for one broker goes together. The request to broker {node} has {bytes} bytes, and costs no more answers
         than one with a single record.
focus    requests:{node}
| What is ready for one broker goes together. The request to broker 3 has 537 bytes, and costs no more answers than one with a single record.

moment   sticky
when     StickySwitched
say      Without a key records stick to one partition, now {to}, until about batch.size went there. So a batch fills soon, where
         spreading would leave several half empty.
focus    way:partitioner queue:{topic}-{to}
| Without a key records stick to one partition, now 1, until about batch.size went there. So a batch fills soon, where spreading would leave several half empty.

moment   full
when     BatchDrained records>=4
say      And so it goes: {why}, with {records record} in {bytes} bytes. Who sends much never waits for linger.ms.
focus    queue:{partition}
| And so it goes: it is full, with 4 records in 529 bytes. Who sends much never waits for linger.ms.

moment   cut
when     RecordsGiven count>=20
say      Now no broker can be reached, and the application sends all the same: {count record}. Batches wait, and each has its
         part of buffer.memory.
focus    memory
ask      How many records will be lost when memory is used up?
accept   {end.failed app}
choice   0 = none, send waits | The application is held up in send until a batch has ended, for max.block.ms at most.
choice   {count} = all of them | What is in memory stays there and is sent again; only what waits too long fails.
| Now no broker can be reached, and the application sends all the same: 40 records. Batches wait, and each has its part of buffer.memory.
| ? How many records will be lost when memory is used up?
| + none, send waits: The application is held up in send until a batch has ended, for max.block.ms at most.
| - all of them: What is in memory stays there and is sent again; only what waits too long fails.

moment   blocked
when     RecordBlocked
say      Record {record} finds no room for another batch: {why}. send does not return, so the application can hand over
         nothing more.
focus    memory way:send
| Record 46 finds no room for another batch: buffer.memory is used up. send does not return, so the application can hand over nothing more.

moment   healed
when     LinkHealed
say      The brokers can be reached again. Every batch that is acknowledged frees its memory, and what waits in send moves up.
focus    memory
| The brokers can be reached again. Every batch that is acknowledged frees its memory, and what waits in send moves up.

moment   turns
when     RecordAppended record=5
say      Another producer goes by turns, from one partition to the next. Several batches are begun where a sticky producer begins
         one.
focus    queue:orders-0 queue:orders-1 queue:orders-2
| Another producer goes by turns, from one partition to the next. Several batches are begun where a sticky producer begins one.

moment   rate
when     RecordsGiven count>=20
say      The first producer again: {count record} without a key, at a steady rate, and nothing is in the way.
focus    tally
ask      How many requests will they take?
accept   {end.requests app}
choice   {count} = one for each record | So it would be if a batch waited for nobody.
choice   {end.requests app} = a few, each with several records | While a batch lingers, the next records join it.
| The first producer again: 24 records without a key, at a steady rate, and nothing is in the way.
| ? How many requests will they take?
| - one for each record: So it would be if a batch waited for nobody.
| + a few, each with several records: While a batch lingers, the next records join it.

moment   counted
when     FlushEnded
say      Requests: {requests app}. The longest wait: {latency app} ms. Turn linger.ms, batch.size and the rate, and see how much
         waiting a spared request costs.
focus    tally
| Requests: 6. The longest wait: 31 ms. Turn linger.ms, batch.size and the rate, and see how much waiting a spared request costs.
