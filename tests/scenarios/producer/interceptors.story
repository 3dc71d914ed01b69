title    A chain of interceptors
question What if one of them fails?

moment   stamped
when     RecordIntercepted
say      Before anything else is done with a record its producer hands it to the interceptors, in order. The first, which
         {by} it, makes another record of it.
focus    client:{at}
| Before anything else is done with a record its producer hands it to the interceptors, in order. The first, which stamps it, makes another record of it.

moment   failed
when     InterceptorFailed
say      The second {by}, {why}. That is written to the log, and the next is handed what the first made.
focus    client:{at}
| The second fails, as it was told to. That is written to the log, and the next is handed what the first made.

moment   watched
when     RecordIntercepted
say      The third {by}, and leaves the record as it is.
focus    client:{at}
| The third watches, and leaves the record as it is.

moment   again
when     InterceptorFailed
say      When the record's fate is known the chain hears of it in the same order, and the same one {by}.
focus    client:{at}
| When the record's fate is known the chain hears of it in the same order, and the same one fails.

moment   told
when     RecordsAcknowledged
say      The application is told all the same: stored at offset {base_offset}.
focus    client:{client} row:{leader t-0}
| The application is told all the same: stored at offset 0.
