title    Waiting for company
question What does linger.ms cost, and what does it spare?

moment   given
when     RecordsGiven count=12
say      Client {client} is given {count record}, one every other millisecond.
focus    client:{client}
| Client 102 is given 12 records, one every other millisecond.

moment   first
when     BatchDrained
say      A batch goes out with {records record}, {bytes} bytes, {since given} ms after its first record came: {why}.
focus    client:{at}
| A batch goes out with 3 records, 388 bytes, 5 ms after its first record came: linger.ms is over.

moment   done
when     Closed
say      All are stored. Requests: {requests p}. The longest that a record waited from send to its answer: {latency p} ms.
focus    client:{at}
| All are stored. Requests: 4. The longest that a record waited from send to its answer: 16 ms.
