title    The promise that was kept
question What does acks=all add, when the leader dies right after its answer?

moment   everyone
when     HighWatermarkMoved
say      Broker {at} leads. It waited until the whole ISR ({isr t-0}) had the records; now its high watermark moves from {from} to
         {to}.
focus    row:{at} isr
| Broker 1 leads. It waited until the whole ISR (1, 2 and 3) had the records; now its high watermark moves from 0 to 3.

moment   told
when     RecordsAcknowledged
say      Only then the producer is told that its {count record} are stored.
focus    promises row:{leader t-0}
button   Crash the leader
| Only then the producer is told that its 3 records are stored.

moment   died
when     BrokerCrashed
say      Broker {broker} dies, just as it did when acks=1 broke its promise.
focus    broker:{broker} promises
ask      How many of the {told.count record} will the next leader have?
accept   {led.leo leader:t-0 t-0}
choice   {told.count} = all of them | Whoever is in the ISR had fetched them before the answer.
choice   0 = none | So it was with acks=1, where the leader answered before anybody had fetched.
| Broker 1 dies, just as it did when acks=1 broke its promise.
| ? How many of the 3 records will the next leader have?
| + all of them: Whoever is in the ISR had fetched them before the answer.
| - none: So it was with acks=1, where the leader answered before anybody had fetched.

moment   led
when     LeadershipTaken
say      Broker {at} leads in epoch {epoch} from offset {start_offset}. It is in the ISR ({isr t-0}), so it has all that was
         promised.
focus    row:{at} promises
| Broker 2 leads in epoch 1 from offset 3. It is in the ISR (2 and 3), so it has all that was promised.

moment   returned
when     HighWatermarkMoved at={died.broker}
say      Broker {at} is back as a follower, and has lost nothing either: it hears that all below offset {to} is safe.
focus    row:{at} promises
| Broker 1 is back as a follower, and has lost nothing either: it hears that all below offset 3 is safe.
