title    One copy
question What is acks=all worth with one replica?

moment   told
when     RecordsAcknowledged
say      The whole ISR, broker {isr t-0}, has {count record}, so acks=all is met, and the producer is told.
focus    row:{leader t-0} promises isr
| The whole ISR, broker 1, has 2 records, so acks=all is met, and the producer is told.

moment   power
when     BrokerCrashed
say      Broker {broker} loses its power. What was not forced to its disk is gone, and nobody else has it.
focus    broker:{broker} promises
| Broker 1 loses its power. What was not forced to its disk is gone, and nobody else has it.

moment   led
when     LeadershipTaken
say      It is back and leads, as the only replica. Its log ends at offset {start_offset}, and {acknowledged all record} were acknowledged.
focus    row:{at} promises
| It is back and leads, as the only replica. Its log ends at offset 0, and 2 records were acknowledged.
