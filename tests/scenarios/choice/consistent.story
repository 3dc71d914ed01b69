title    Rather no answer
question The leader is cut off. Shall it go on answering producers?

moment   before
when     RecordsAcknowledged
say      Records are acknowledged when enough replicas have them: acks=all, and min.insync.replicas asks for more than half.
focus    promises isr
| Records are acknowledged when enough replicas have them: acks=all, and min.insync.replicas asks for more than half.

moment   cut
when     LinkCut to=1000
say      Broker {from}, the leader, is cut off from all brokers. Producers still reach it.
focus    broker:{from} row:{from}
ask      A producer sends it one more record now. How many that are acknowledged will be lost in the end?
accept   {end.leo leader:t-0 t-0}
choice   {acknowledged p} = that one | It is acknowledged only when enough replicas have it, and this leader is alone with it.
choice   {end.acknowledged p} = none | Nothing is acknowledged that a majority does not have.
| Broker 2, the leader, is cut off from all brokers. Producers still reach it.
| ? A producer sends it one more record now. How many that are acknowledged will be lost in the end?
| - that one: It is acknowledged only when enough replicas have it, and this leader is alone with it.
| + none: Nothing is acknowledged that a majority does not have.

moment   led
when     LeadershipTaken
say      After {since cut} ms its session is over: broker {at} leads in epoch {epoch}. Until then nobody could store anything.
focus    row:{at} controller
| After 1881 ms its session is over: broker 3 leads in epoch 1. Until then nobody could store anything.

moment   told
when     RecordsAcknowledged
say      The old leader never acknowledged the record. The new one does, {since cut} ms after the cut: the producer has waited,
         and lost nothing.
focus    promises row:{leader t-0}
| The old leader never acknowledged the record. The new one does, 2123 ms after the cut: the producer has waited, and lost nothing.
