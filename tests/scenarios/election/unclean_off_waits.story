title    Wait for the one who knows
question All members of the ISR are gone. Who may lead?

moment   alone
when     LeadershipTaken isr=1
say      The others are dead: broker {at} leads alone, the ISR is {isr}.
focus    row:{at} isr
| The others are dead: broker 1 leads alone, the ISR is 1.

moment   told
when     RecordsAcknowledged
say      With min.insync.replicas met by itself, it acknowledges {count record}.
focus    promises row:{alone.at}
| With min.insync.replicas met by itself, it acknowledges 2 records.

moment   died
when     BrokerCrashed broker={alone.at}
say      It dies as well. The others come back, but they are not in the ISR, and unclean election is off.
focus    broker:{broker} isr
ask      Who leads when only the others are there?
accept   {end.leader t-0}
choice   {died.broker} = nobody, until it is back | Only it is known to have all that was acknowledged.
choice   {opened.at} = one of the others | They may lack what was acknowledged, and unclean election is off.
| It dies as well. The others come back, but they are not in the ISR, and unclean election is off.
| ? Who leads when only the others are there?
| + nobody, until it is back: Only it is known to have all that was acknowledged.
| - one of the others: They may lack what was acknowledged, and unclean election is off.

moment   opened
when     ReplicaOpened
say      Broker {at} is back with a log that ends at offset {log_end}. It lacks what was acknowledged, so it has to wait.
focus    row:{at} isr
| Broker 3 is back with a log that ends at offset 0. It lacks what was acknowledged, so it has to wait.

moment   led
when     LeadershipTaken
say      Broker {at} is back and leads again from offset {start_offset}, {since died} ms after it died. Nothing is lost.
focus    row:{at} promises
| Broker 1 is back and leads again from offset 2, 10038 ms after it died. Nothing is lost.
