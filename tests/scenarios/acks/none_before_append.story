title    Nobody asks, nobody tells
question With acks=0, what does a producer know when the leader dies?

moment   sent
when     PacketSent what=Produce
say      The producer sends a record to broker {to}, the leader. With acks=0 it asks for no answer: once sent, the record
         counts as stored.
focus    client:{from} broker:{to} promises
button   Crash the leader
| The producer sends a record to broker 1, the leader. With acks=0 it asks for no answer: once sent, the record counts as stored.

moment   died
when     BrokerCrashed
say      Broker {broker} dies while the record is on its way. The record is lost with the connection, and a producer that
         waits for nothing has nothing to send again.
focus    broker:{broker} promises
ask      How much of what counts as stored will the next leader have?
accept   {end.leo leader:t-0 t-0}
choice   {acknowledged blind} = all of it | The record never reached a log, so no replica can have it.
choice   0 = none | It was on its way to the leader alone, and nobody sends it again.
| Broker 1 dies while the record is on its way. The record is lost with the connection, and a producer that waits for nothing has nothing to send again.
| ? How much of what counts as stored will the next leader have?
| - all of it: The record never reached a log, so no replica can have it.
| + none: It was on its way to the leader alone, and nobody sends it again.

moment   led
when     LeadershipTaken
say      Broker {at} leads, {since died} ms after the crash. Its log ends at offset {leo at t-0}: the record that counted as
         stored was never in any log.
focus    row:{at} promises
| Broker 2 leads, 2012 ms after the crash. Its log ends at offset 0: the record that counted as stored was never in any log.
