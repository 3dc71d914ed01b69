title    It was safe
question A producer was told that its record is stored. Can it be lost?

moment   told
when     RecordsAcknowledged first=5
say      With acks=1 the leader, broker {leader orders-0}, answered as soon as it had written r{first} itself. The producer was
         told that it is safe. No follower has it yet.
focus    row:{leader orders-0} promises
button   Crash broker {leader orders-0}
| With acks=1 the leader, broker 1, answered as soon as it had written r5 itself. The producer was told that it is safe. No follower has it yet.

moment   died
when     BrokerCrashed
say      Broker {broker} dies. Its disk still has r{told.first}, and nobody can reach it. The followers' fetches, which would have
         brought it to them, find nobody.
focus    broker:{broker} row:{broker} promises
ask      The next leader is one of the followers. Will it have the record that was promised?
accept   {led.leo leader:orders-0 orders-0}
choice   {told.leo leader:orders-0 orders-0} = yes, for it was acknowledged | A follower has only what it has fetched, and it had not fetched that record.
choice   {told.base_offset} = no | It was on the dead leader alone.
| Broker 1 dies. Its disk still has r5, and nobody can reach it. The followers' fetches, which would have brought it to them, find nobody.
| ? The next leader is one of the followers. Will it have the record that was promised?
| - yes, for it was acknowledged: A follower has only what it has fetched, and it had not fetched that record.
| + no: It was on the dead leader alone.

moment   led
when     LeadershipTaken
say      Broker {at} leads in epoch {epoch}. Its log ends at offset {start_offset}: it never had r{told.first}. The promise is broken,
         and nobody will tell the producer.
focus    row:{at} promises
button   Produce the next record
| Broker 2 leads in epoch 1. Its log ends at offset 5: it never had r5. The promise is broken, and nobody will tell the producer.

moment   rewritten
when     RecordsAcknowledged first=6
say      The next record, r{first}, takes the same place, offset {base_offset}, in epoch {led.epoch}. The producer is told that it
         is safe, as it was told of r{told.first}.
focus    row:{led.at} promises
button   Restart broker {died.broker}
| The next record, r6, takes the same place, offset 5, in epoch 1. The producer is told that it is safe, as it was told of r5.

moment   cut
when     LogTruncated at={died.broker}
say      Broker {at} is back, as a follower. Its r{told.first} is not in the leader's log, so it cuts it off: its log goes from
         offset {from} back to {to}. That was the only copy.
focus    row:{at} promises
button   The same crash, with acks=all
| Broker 1 is back, as a follower. Its r5 is not in the leader's log, so it cuts it off: its log goes from offset 6 back to 5. That was the only copy.
