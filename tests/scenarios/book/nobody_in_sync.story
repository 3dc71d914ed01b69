title    Nobody is left in the ISR
question Nobody of the ISR lives. Who leads, and what does it cost?

moment   alone
when     IsrChanged
say      The link between the replicas is cut. The follower has left the ISR: it is broker {isr} alone.
focus    isr row:{at}
| The link between the replicas is cut. The follower has left the ISR: it is broker 2 alone.

moment   told
when     RecordsAcknowledged
say      Broker {leader t-0} acknowledges {count record} more. All of the ISR have them: that is itself.
focus    row:{leader t-0} promises isr
| Broker 2 acknowledges 2 records more. All of the ISR have them: that is itself.

moment   died
when     BrokerCrashed
say      It dies, and the link is mended. The other replica lives, and is not in the ISR.
focus    broker:{broker} isr promises
ask      Of the {acknowledged all record} that were acknowledged, how many will the next leader have?
accept   {led.leo leader:t-0 t-0}
choice   {acknowledged all} = all of them | Only the dead broker has them all: a next leader has them if it is waited for.
choice   {leo 3 t-0} = as many as the other replica has | Who is outside the ISR may lead only where unclean election is on.
| It dies, and the link is mended. The other replica lives, and is not in the ISR.
| ? Of the 3 records that were acknowledged, how many will the next leader have?
| + all of them: Only the dead broker has them all: a next leader has them if it is waited for.
| - as many as the other replica has: Who is outside the ISR may lead only where unclean election is on.

moment   chosen
when     Elected
say      The session of the dead leader is over, and the controller, broker {at}, looks for the next. Its choice: {leader}.
focus    broker:{at} isr
| The session of the dead leader is over, and the controller, broker 1, looks for the next. Its choice: none.

moment   led
when     LeadershipTaken
say      Broker {at} leads, {since died} ms after the death. Its log ends at offset {start_offset}, and {acknowledged all record} were acknowledged.
focus    row:{at} promises
| Broker 2 leads, 8041 ms after the death. Its log ends at offset 3, and 3 records were acknowledged.

moment   end
when     IsrChanged
say      Both live and are in sync: the ISR is {isr}. Acknowledged: {acknowledged all record}; in the log: {leo leader:t-0 t-0 record}.
focus    isr promises
| Both live and are in sync: the ISR is 2 and 3. Acknowledged: 3 records; in the log: 3 records.
