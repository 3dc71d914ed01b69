title    Safe by luck
question With acks=0, can a record outlive its leader?

moment   everyone
when     HighWatermarkMoved
say      Every member of the ISR ({isr t-0}) has the record now: the high watermark moves to offset {to}. The producer is
         told nothing, as it asked.
focus    row:{at} isr
button   Crash the leader
| Every member of the ISR (1, 2 and 3) has the record now: the high watermark moves to offset 1. The producer is told nothing, as it asked.

moment   died
when     BrokerCrashed
say      Broker {broker} dies. This time its followers have the record already.
focus    broker:{broker}
ask      Where will the next leader's log end?
accept   {end.leo leader:t-0 t-0}
choice   {everyone.to} = behind the record | Both followers had fetched it before the crash.
choice   0 = before the record | That would be so if the leader had died a few milliseconds earlier.
| Broker 1 dies. This time its followers have the record already.
| ? Where will the next leader's log end?
| + behind the record: Both followers had fetched it before the crash.
| - before the record: That would be so if the leader had died a few milliseconds earlier.

moment   led
when     LeadershipTaken
say      Broker {at} leads with a log that ends at offset {leo at t-0}: the record is still there. The producer cannot tell
         this from the run in which it was lost.
focus    row:{at} promises
| Broker 2 leads with a log that ends at offset 1: the record is still there. The producer cannot tell this from the run in which it was lost.
