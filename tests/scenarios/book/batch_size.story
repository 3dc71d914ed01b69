title    Full, or over
question When does a batch stop waiting?

moment   given
when     RecordsGiven count=12
say      Client {client} is given {count record}, one every other millisecond.
focus    client:{client}
| Client 102 is given 12 records, one every other millisecond.

moment   first
when     BatchDrained
say      A batch goes out with {records record}, {bytes} bytes, {since given} ms after its first record came: {why}.
focus    client:{at}
| A batch goes out with 4 records, 497 bytes, 8 ms after its first record came: it is full.

moment   done
when     Closed
say      All are stored. Requests: {requests p}. The longest that a record waited from send to its answer: {latency p} ms.
focus    client:{at}
| All are stored. Requests: 3. The longest that a record waited from send to its answer: 61 ms.
