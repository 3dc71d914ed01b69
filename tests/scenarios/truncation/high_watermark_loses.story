title    Lost between two leaders
question Everyone had the record, and the producer was told so. How can it be lost?

moment   told
when     RecordsAcknowledged
say      The whole ISR ({isr t-0}) has the record, and the producer is told. The followers have not heard yet that it is safe:
         their high watermark is a round behind.
focus    promises isr
| The whole ISR (2, 3 and 4) has the record, and the producer is told. The followers have not heard yet that it is safe: their high watermark is a round behind.

moment   died
when     BrokerCrashed
say      Broker {broker}, the leader, dies.
focus    broker:{broker}
| Broker 2, the leader, dies.

moment   cut
when     LogTruncated
say      Broker {leader t-0} leads now. Broker {at} is to follow, and truncates by its own high watermark: it cuts its log from
         offset {from} to {to}. It would fetch the record again, but the link is cut.
focus    row:{at} row:{leader t-0}
ask      Now broker {leader t-0} dies too. What will broker {at}, the last of the ISR, have?
accept   {end.leo cut.at t-0}
choice   {from} = the record, since it was acknowledged | It had it, and has cut it off.
choice   {to} = nothing | It cut off what it was not sure of, and whoever could give it back is gone.
| Broker none leads now. Broker 4 is to follow, and truncates by its own high watermark: it cuts its log from offset 1 to 0. It would fetch the record again, but the link is cut.
| ? Now broker none dies too. What will broker 4, the last of the ISR, have?
| - the record, since it was acknowledged: It had it, and has cut it off.
| + nothing: It cut off what it was not sure of, and whoever could give it back is gone.

moment   died_too
when     BrokerCrashed
say      Broker {broker} dies before the next fetch.
focus    broker:{broker}
| Broker 3 dies before the next fetch.

moment   led
when     LeadershipTaken
say      Broker {at} is in the ISR ({isr}), so it leads, in epoch {epoch} from offset {start_offset}. The acknowledged record is
         gone, and no rule was broken.
focus    row:{at} promises
| Broker 4 is in the ISR (4), so it leads, in epoch 2 from offset 0. The acknowledged record is gone, and no rule was broken.
