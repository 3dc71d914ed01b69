title    The same faults, by leader epoch
question Would the record have stayed if the follower had asked before it cut?

moment   told
when     RecordsAcknowledged first=3
say      The whole ISR, brokers {isr orders-0}, has the last record, and the producer is told that it is safe. The followers have
         not heard so yet: their own high watermark is a round behind.
focus    row:{leader orders-0} promises isr
button   Crash broker {leader orders-0}
| The whole ISR, brokers 2, 3 and 4, has the last record, and the producer is told that it is safe. The followers have not heard so yet: their own high watermark is a round behind.

moment   died
when     BrokerCrashed
say      Broker {broker}, the leader, dies. Both followers have everything, and neither knows that the last record is safe.
focus    broker:{broker} promises
| Broker 2, the leader, dies. Both followers have everything, and neither knows that the last record is safe.

moment   elected
when     Elected reason=Offline
say      The controller, broker {at}, elects broker {leader}: it lives and is in the ISR. Nothing is lost so far, for it has the
         record. The other follower is to follow it now.
focus    broker:{at} row:{leader} promises
| The controller, broker 1, elects broker 3: it lives and is in the ISR. Nothing is lost so far, for it has the record. The other follower is to follow it now.

moment   followed
when     LeaderFollowed leader={elected.leader}
say      Right, broker {at} cuts nothing by itself. First it will ask broker {leader} where its last epoch ended there; the
         link is cut, so it waits.
focus    row:{at} row:{leader}
ask      Now broker {leader} dies too, before it could answer. What will broker {at} have left?
accept   {led.leo followed.at orders-0}
choice   {leo followed.at orders-0} = everything | It has not cut its log, for nobody has told it to.
choice   {hw followed.at orders-0} = all but the last record | So it was when it went by its high watermark.
| Right, broker 4 cuts nothing by itself. First it will ask broker 3 where its last epoch ended there; the link is cut, so it waits.
| ? Now broker 3 dies too, before it could answer. What will broker 4 have left?
| + everything: It has not cut its log, for nobody has told it to.
| - all but the last record: So it was when it went by its high watermark.

moment   died_too
when     BrokerCrashed
say      Broker {broker} dies before the link is mended. Of the three, one is left.
focus    broker:{broker} promises
| Broker 3 dies before the link is mended. Of the three, one is left.

moment   led
when     LeadershipTaken
say      Right, broker {at} leads in epoch {epoch} from offset {start_offset}: it has the record. The same faults, and the promise
         is kept.
focus    row:{at} promises
| Right, broker 4 leads in epoch 2 from offset 4: it has the record. The same faults, and the promise is kept.

moment   returned
when     IsrChanged partition_epoch=4
say      Right, broker {died.broker} is back, and asked where its last epoch ended. It ended there for the leader too, so nothing
         was cut: all three have the same, and are in sync.
focus    row:{died.broker} promises isr
| Right, broker 2 is back, and asked where its last epoch ended. It ended there for the leader too, so nothing was cut: all three have the same, and are in sync.
