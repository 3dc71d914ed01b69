title    The same faults, by leader epoch
question Would the record have stayed if the follower had asked before it cut?

moment   told
when     RecordsAcknowledged
say      The whole ISR ({isr t-0}) has the record, and the producer is told. The followers' high watermark is a round behind.
focus    promises isr
| The whole ISR (2, 3 and 4) has the record, and the producer is told. The followers' high watermark is a round behind.

moment   died
when     BrokerCrashed
say      Broker {broker}, the leader, dies.
focus    broker:{broker}
| Broker 2, the leader, dies.

moment   followed
when     LeaderFollowed leader!={died.broker}
say      Broker {at} is to follow broker {leader} in epoch {epoch}. It cuts nothing: first it will ask where its last epoch ends
         with the new leader.
focus    row:{at} row:{leader}
ask      Now broker {leader} dies too, before it could answer. What will broker {at} have?
accept   {end.leo followed.at t-0}
choice   {leo followed.at t-0} = the record | It has not cut its log, for nobody has told it to.
choice   0 = nothing | So it was when it truncated by its high watermark.
| Broker 4 is to follow broker 3 in epoch 1. It cuts nothing: first it will ask where its last epoch ends with the new leader.
| ? Now broker 3 dies too, before it could answer. What will broker 4 have?
| + the record: It has not cut its log, for nobody has told it to.
| - nothing: So it was when it truncated by its high watermark.

moment   died_too
when     BrokerCrashed
say      Broker {broker} dies before the next fetch.
focus    broker:{broker}
| Broker 3 dies before the next fetch.

moment   led
when     LeadershipTaken
say      Broker {at} leads in epoch {epoch} from offset {start_offset}: it has the record. The promise is kept.
focus    row:{at} promises
| Broker 4 leads in epoch 2 from offset 1: it has the record. The promise is kept.
