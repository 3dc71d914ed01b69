title    One replica
question With one replica, which records may a consumer read?

moment   written
when     BatchWritten
say      Broker {at} has written {leo at t-0 record}. The next one will get offset {log_end}: that is its log end offset, LEO.
focus    row:{at}
| Broker 1 has written 2 records. The next one will get offset 2: that is its log end offset, LEO.

moment   moved
when     HighWatermarkMoved
say      No other replica has to have them, so the high watermark, HW, moves at once from {from} to {to}: up to the LEO.
focus    row:{at}
| No other replica has to have them, so the high watermark, HW, moves at once from 0 to 2: up to the LEO.

moment   read
when     RecordsReturned
say      A consumer is given what lies below the high watermark: offsets {from} up to {to}. With one replica that is everything.
focus    client:{at} row:{moved.at}
| A consumer is given what lies below the high watermark: offsets 0 up to 2. With one replica that is everything.

moment   died
when     BrokerCrashed
say      Broker {broker} dies. Its records lie on a disk that nobody can ask, and there is no other copy.
focus    broker:{broker} promises
| Broker 1 dies. Its records lie on a disk that nobody can ask, and there is no other copy.
