title    Nothing was promised
question With acks=all, what if the leader dies before it has the record?

moment   sent
when     PacketSent what=Produce
say      The producer sends a record to broker {to}. With acks=all it will hear an answer when the whole ISR has the record.
focus    client:{from} broker:{to} isr
button   Crash the leader
| The producer sends a record to broker 1. With acks=all it will hear an answer when the whole ISR has the record.

moment   died
when     BrokerCrashed
say      Broker {broker} dies before the record arrives. No replica has it; the producer still does.
focus    broker:{broker} promises
ask      How often will the record be stored in the end?
accept   {end.leo leader:t-0 t-0}
choice   0 = never | No answer came, so the producer tries again.
choice   1 = once | The first try reached no log.
choice   2 = twice | The first try reached no log, so only the second can store it.
| Broker 1 dies before the record arrives. No replica has it; the producer still does.
| ? How often will the record be stored in the end?
| - never: No answer came, so the producer tries again.
| + once: The first try reached no log.
| - twice: The first try reached no log, so only the second can store it.

moment   led
when     LeadershipTaken
say      Broker {at} leads, {since died} ms after the crash, as long as the dead leader's session was believed.
focus    row:{at}
| Broker 2 leads, 2006 ms after the crash, as long as the dead leader's session was believed.

moment   told
when     RecordsAcknowledged
say      The record is stored at offset {base_offset} on every member of the ISR ({isr t-0}), and now the producer is told.
focus    row:{leader t-0} isr promises
| The record is stored at offset 0 on every member of the ISR (2 and 3), and now the producer is told.
