title    Lost between two leaders
question Everyone had the record, and the producer was told so. How can it be lost?

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

moment   cut
when     LogTruncated
say      Left, broker {at} goes by its own high watermark, and cuts its log from offset {from} back to {to}. It would fetch the record
         again from broker {elected.leader}, but the link is cut.
focus    row:{at} link:{elected.leader}:{at}
ask      Now broker {elected.leader} dies too. What will broker {at}, the last of the ISR, have left?
accept   {led.leo cut.at orders-0}
choice   {from} = everything, for all of it was acknowledged | It had it, and has cut it off.
choice   {to} = all but the last record | It cut off what it was not sure of, and whoever could give it back is gone.
| Left, broker 4 goes by its own high watermark, and cuts its log from offset 4 back to 3. It would fetch the record again from broker 3, but the link is cut.
| ? Now broker 3 dies too. What will broker 4, the last of the ISR, have left?
| - everything, for all of it was acknowledged: It had it, and has cut it off.
| + all but the last record: It cut off what it was not sure of, and whoever could give it back is gone.

moment   died_too
when     BrokerCrashed
say      Broker {broker} dies before the link is mended. Of the three, one is left.
focus    broker:{broker} promises
| Broker 3 dies before the link is mended. Of the three, one is left.

moment   led
when     LeadershipTaken
say      Left, broker {at} is the last of the ISR, so it leads, in epoch {epoch} from offset {start_offset}. The record is gone, though
         acks=all had promised it and everyone had it.
focus    row:{at} promises
| Left, broker 4 is the last of the ISR, so it leads, in epoch 2 from offset 3. The record is gone, though acks=all had promised it and everyone had it.

moment   returned
when     LogTruncated at={died.broker}
say      Left, broker {at}, which had led first, is back. It must follow now, and cuts its log from offset {from} to {to}, its own
         high watermark: the last copy goes.
focus    row:{at} promises
| Left, broker 2, which had led first, is back. It must follow now, and cuts its log from offset 4 to 0, its own high watermark: the last copy goes.
