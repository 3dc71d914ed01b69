title    All at once
question Three replicas have the record. What can still take it?

moment   told
when     RecordsAcknowledged
say      {count record} are acknowledged: all of the ISR, brokers {isr t-0}, have written them. Written is not forced to disk.
focus    promises isr
| 3 records are acknowledged: all of the ISR, brokers 1, 2 and 3, have written them. Written is not forced to disk.

moment   power
when     BrokerCrashed
say      The power fails, for broker {broker} and for all others at the same moment.
focus    broker:{broker} promises
| The power fails, for broker 1 and for all others at the same moment.

moment   led
when     LeadershipTaken
say      They are back. Broker {at} leads from offset {start_offset}: of the {acknowledged all record} that were acknowledged, no replica had forced one to disk.
focus    row:{at} promises
| They are back. Broker 1 leads from offset 0: of the 3 records that were acknowledged, no replica had forced one to disk.
