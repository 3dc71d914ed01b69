title    All of one
question What is acks=all worth when the ISR may shrink to one?

moment   alone
when     IsrChanged isr=1
say      Both followers are cut off. The ISR is broker {isr} alone, and min.insync.replicas allows that.
focus    isr row:{at}
| Both followers are cut off. The ISR is broker 1 alone, and min.insync.replicas allows that.

moment   told
when     RecordsAcknowledged
say      {count record} more are acknowledged with acks=all: all of the ISR have them.
focus    promises isr
| 2 records more are acknowledged with acks=all: all of the ISR have them.

moment   power
when     BrokerCrashed
say      Broker {broker} loses its power, and with it what was never forced to disk.
focus    broker:{broker} promises
| Broker 1 loses its power, and with it what was never forced to disk.

moment   led
when     LeadershipTaken
say      It is back. As the only member of the ISR it leads, by a clean election, from offset {start_offset}: {acknowledged all record} were acknowledged.
focus    row:{at} promises isr
| It is back. As the only member of the ISR it leads, by a clean election, from offset 0: 3 records were acknowledged.
