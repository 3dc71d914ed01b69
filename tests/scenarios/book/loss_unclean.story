title    Two had it
question Two replicas have the record, as many as are needed. Can an election lose it?

moment   out
when     IsrChanged
say      One replica was cut off too long: the ISR is {isr}, as many as min.insync.replicas asks for.
focus    isr row:{at}
| One replica was cut off too long: the ISR is 2 and 3, as many as min.insync.replicas asks for.

moment   told
when     RecordsAcknowledged
say      {count record} more are acknowledged with acks=all: both members of the ISR have them.
focus    promises isr
| 2 records more are acknowledged with acks=all: both members of the ISR have them.

moment   died
when     BrokerCrashed
say      Broker {broker} dies, and the other one with it. Only the replica that was cut off lives.
focus    broker:{broker} isr promises
| Broker 2 dies, and the other one with it. Only the replica that was cut off lives.

moment   chosen
when     Elected unclean=true
say      Nobody in the ISR lives, and unclean election is on: the controller, broker {at}, elects broker {leader}.
focus    broker:{at} row:{leader} isr
| Nobody in the ISR lives, and unclean election is on: the controller, broker 1, elects broker 4.

moment   led
when     LeadershipTaken at={chosen.leader}
say      Broker {at} leads from offset {start_offset}: {acknowledged all record} were acknowledged, and two replicas had them.
focus    row:{at} promises
| Broker 4 leads from offset 1: 3 records were acknowledged, and two replicas had them.

moment   lost
when     LogTruncated
say      Broker {at} is back, must follow, and cuts its log from offset {from} to {to}.
focus    row:{at} promises
| Broker 2 is back, must follow, and cuts its log from offset 3 to 1.
