title    It was safe
question A producer was told that its records are stored. Can they be lost?

moment   told
when     RecordsAcknowledged
say      The leader alone has the {count record}, and with acks=1 that is enough: the producer is told that they are stored.
focus    row:{leader t-0} promises
button   Crash the leader
| The leader alone has the 3 records, and with acks=1 that is enough: the producer is told that they are stored.

moment   died
when     BrokerCrashed
say      Broker {broker} dies before a follower has fetched. Nobody else has the {told.count record}.
focus    broker:{broker} promises
ask      How many of the {told.count record} that were promised will the next leader have?
accept   {led.leo leader:t-0 t-0}
choice   {told.count} = all of them | A leader can only have what it had fetched as a follower, and that was nothing.
choice   0 = none | They were on the dead leader alone.
| Broker 1 dies before a follower has fetched. Nobody else has the 3 records.
| ? How many of the 3 records that were promised will the next leader have?
| - all of them: A leader can only have what it had fetched as a follower, and that was nothing.
| + none: They were on the dead leader alone.

moment   led
when     LeadershipTaken
say      Broker {at} leads in epoch {epoch}: it lives and is in the ISR ({isr t-0}). Its log ends at offset {leo at t-0}, and
         the promise is broken.
focus    row:{at} promises
| Broker 2 leads in epoch 1: it lives and is in the ISR (2 and 3). Its log ends at offset 0, and the promise is broken.

moment   cut
when     LogTruncated at={died.broker}
say      Broker {at} is back and has to follow. Its log is cut from offset {from} to {to}: what it alone had told the
         producer about is gone for good.
focus    row:{at} promises
| Broker 1 is back and has to follow. Its log is cut from offset 3 to 0: what it alone had told the producer about is gone for good.
