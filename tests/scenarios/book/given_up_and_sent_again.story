title    The application tries again
question The producer gives up, and the application sends the record again. Is it stored once?

moment   stored
when     BatchAppended
say      Broker {at}, the leader, stores a record under its sequence number.
focus    row:{at}
| Broker 1, the leader, stores a record under its sequence number.

moment   cut
when     LinkCut
say      The way from producer {from} to broker {to} is cut. No answer comes.
focus    client:{from} link:{from}:{to}
| The way from producer 102 to broker 1 is cut. No answer comes.

moment   failed
when     BatchFailed
say      {since stored} ms later delivery.timeout.ms is over, and the application hears of an error: {why}
focus    client:{at} row:{leader t-0}
| 1995 ms later delivery.timeout.ms is over, and the application hears of an error: Expiring 1 record(s) for t-0:2000 ms has passed since batch creation

moment   again
when     RecordsGiven
say      The link works again, and the application sends the same record once more. For the producer it is a new one.
focus    client:{client}
ask      Where will the log end?
accept   {end.leo leader:t-0 t-0}
choice   1 = it is known already | Only the producer's own tries go under the same number.
choice   2 = it is stored again | It has another number, so nothing tells that it is the same.
| The link works again, and the application sends the same record once more. For the producer it is a new one.
| ? Where will the log end?
| - it is known already: Only the producer's own tries go under the same number.
| + it is stored again: It has another number, so nothing tells that it is the same.

moment   told
when     RecordsAcknowledged
say      It is stored at offset {base_offset}, behind itself. The producer was told of {acknowledged p record}; the log has
         {leo leader:t-0 t-0 record}.
focus    row:{leader t-0} promises
| It is stored at offset 1, behind itself. The producer was told of 1 record; the log has 2 records.
