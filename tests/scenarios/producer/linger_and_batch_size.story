title    To wait or to go
question What do linger.ms and batch.size cost, and what do they spare?

moment   none
when     RecordsGiven count=20
say      Client {client} is given {count record}, one every other millisecond. It does not linger: a batch goes out as soon as
         the sender comes by.
focus    client:{client}
| Client 102 is given 20 records, one every other millisecond. It does not linger: a batch goes out as soon as the sender comes by.

moment   usual
when     RecordsGiven count=20
say      Requests: {requests none}. The longest wait: {latency none} ms. Client {client} is given the
         same, and lingers as long as is usual.
focus    client:{client} client:{none.client}
| Requests: 18. The longest wait: 16 ms. Client 103 is given the same, and lingers as long as is usual.

moment   long
when     RecordsGiven count=20
say      Requests: {requests usual}. The longest wait: {latency usual} ms. Client {client} lingers ten times as long.
focus    client:{client} client:{usual.client}
| Requests: 7. The longest wait: 18 ms. Client 104 lingers ten times as long.

moment   small
when     RecordsGiven count=20
say      Requests: {requests long}. The longest wait: {latency long} ms. Client {client} lingers as long, with room for a few
         records in a batch.
focus    client:{client} client:{long.client}
| Requests: 1. The longest wait: 61 ms. Client 105 lingers as long, with room for a few records in a batch.

moment   full
when     BatchDrained at={small.client}
say      A batch of {records record} goes out, {bytes} bytes: {why}. Who sends much never waits for linger.ms.
focus    client:{at} broker:{leader t-0}
ask      What will it have cost at the end?
accept   {end.requests small}
choice   {requests long} = as few requests as with large batches | Each batch takes a few records, so there are more.
choice   {end.requests small} = more requests, and less waiting | A full batch does not linger; only the last one does.
| A batch of 4 records goes out, 497 bytes: it is full. Who sends much never waits for linger.ms.
| ? What will it have cost at the end?
| - as few requests as with large batches: Each batch takes a few records, so there are more.
| + more requests, and less waiting: A full batch does not linger; only the last one does.

moment   flushed
when     FlushEnded at={long.client}
say      Who cannot wait says so: a flush of client {at} sends what is there, and its record waits {latency long} ms, not the
         whole of linger.ms.
focus    client:{at}
| Who cannot wait says so: a flush of client 104 sends what is there, and its record waits 9 ms, not the whole of linger.ms.
