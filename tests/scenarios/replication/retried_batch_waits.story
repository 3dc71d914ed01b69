title    Known is not safe
question A retried batch is in the leader's log already. May the leader say "stored" at once?

moment   written
when     BatchWritten
say      Broker {at} has written the batch, and waits for its followers, whose links are cut.
focus    row:{at} isr
| Broker 1 has written the batch, and waits for its followers, whose links are cut.

moment   again
when     BatchRetried
say      The time that the producer gave for this is over: {code}. It sends the batch again.
focus    client:{at}
| The time that the producer gave for this is over: REQUEST_TIMED_OUT. It sends the batch again.

moment   known
when     DuplicateBatch
say      The leader has it already, at offset {base_offset}, and stores nothing.
focus    row:{at}
ask      Is it acknowledged now?
accept   {next.leader t-0}
choice   0 = yes, it is stored | It is stored on one broker. A crash now, and a promise would be broken.
choice   {leader t-0} = no, not before the followers have it | acks=all means the same for a retry as for a first try.
| The leader has it already, at offset 0, and stores nothing.
| ? Is it acknowledged now?
| - yes, it is stored: It is stored on one broker. A crash now, and a promise would be broken.
| + no, not before the followers have it: acks=all means the same for a retry as for a first try.

moment   moved
when     HighWatermarkMoved at={written.at}
say      The links are healed, the followers have fetched, and the high watermark passes the batch: {from} becomes {to}.
focus    row:{at} isr
| The links are healed, the followers have fetched, and the high watermark passes the batch: 0 becomes 1.

moment   told
when     RecordsAcknowledged
say      Only now the producer is told: {count record} at offset {base_offset}, {since known} ms after the leader had recognised the
         batch.
focus    promises row:{written.at}
| Only now the producer is told: 1 record at offset 0, 105 ms after the leader had recognised the batch.
