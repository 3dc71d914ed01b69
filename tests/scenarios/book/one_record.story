title    The way of one record
question What happens between send and the answer?

moment   intercepted
when     RecordIntercepted
say      The application calls send. First the interceptors see the record: this one {by} it, so from here on it is another
         record.
focus    client:{at}
| The application calls send. First the interceptors see the record: this one stamps it, so from here on it is another record.

moment   blocked
when     RecordBlocked
say      Where can it go? {why}. The producer asks a broker for metadata; the application waits in send, for max.block.ms
         at most.
focus    client:{at}
| Where can it go? t is not known yet. The producer asks a broker for metadata; the application waits in send, for max.block.ms at most.

moment   serialized
when     RecordSerialized
say      Now the topic is known. The serializers make bytes of it: a key of {key_bytes} and a value of {value_bytes} bytes.
focus    client:{at}
| Now the topic is known. The serializers make bytes of it: a key of 2 and a value of 100 bytes.

moment   chosen
when     PartitionChosen
say      The partitioner takes the bytes of the key: the record goes to {partition}, {why}.
focus    client:{at} row:{leader t-0}
| The partitioner takes the bytes of the key: the record goes to t-1, by its key.

moment   appended
when     RecordAppended
say      It is put into a batch of that partition, which holds {batch_bytes} bytes now. Here send returns. All the rest is the
         sender's work.
focus    client:{at}
| It is put into a batch of that partition, which holds 180 bytes now. Here send returns. All the rest is the sender's work.

moment   drained
when     BatchDrained
say      {since appended} ms later the sender takes the batch ({records record}) and sends it to the partition's leader: {why}.
focus    client:{at}
| 9 ms later the sender takes the batch (1 record) and sends it to the partition's leader: linger.ms is over.

moment   told
when     RecordsAcknowledged
say      The answer: stored at offset {base_offset}. Interceptors hear of it first, then the application's callback.
focus    client:{client} promises
| The answer: stored at offset 0. Interceptors hear of it first, then the application's callback.
