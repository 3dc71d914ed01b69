title    No answer, another try
question With acks=1, what if the leader dies before it has the record?

moment   sent
when     PacketSent what=Produce
say      The producer sends a record to broker {to} and waits for its answer: acks=1.
focus    client:{from} broker:{to}
button   Crash the leader
| The producer sends a record to broker 1 and waits for its answer: acks=1.

moment   died
when     BrokerCrashed
say      Broker {broker} dies before the record arrives. No promise was made, and none is broken.
focus    broker:{broker} promises
ask      Will the record be stored in the end, and how often?
accept   {end.leo leader:t-0 t-0}
choice   0 = never | The producer still has the record, and an error that may pass is tried again.
choice   1 = once | The first try reached no log, the second one does.
choice   2 = twice | Only what was stored already can be stored a second time.
| Broker 1 dies before the record arrives. No promise was made, and none is broken.
| ? Will the record be stored in the end, and how often?
| - never: The producer still has the record, and an error that may pass is tried again.
| + once: The first try reached no log, the second one does.
| - twice: Only what was stored already can be stored a second time.

moment   retried
when     BatchRetried
say      The connection is gone ({code}), so the producer will send the record again, to whoever leads then.
focus    client:{at}
| The connection is gone (NETWORK_EXCEPTION), so the producer will send the record again, to whoever leads then.

moment   told
when     RecordsAcknowledged
say      The next leader, broker {leader t-0}, has stored it at offset {base_offset} and says so, {since died} ms after the
         crash.
focus    row:{leader t-0} promises
| The next leader, broker 2, has stored it at offset 0 and says so, 2682 ms after the crash.
