title    Anybody rather than nobody
question What does unclean election cost?
picture  tree

moment   told
when     RecordsAcknowledged first=3
say      The same run, with unclean.leader.election.enable=true. Broker {leader orders-0}, the last one in the ISR, acknowledges
         {count record} that nobody else has.
focus    row:{leader orders-0} isr promises
button   Crash broker {leader orders-0}
| The same run, with unclean.leader.election.enable=true. Broker 2, the last one in the ISR, acknowledges 2 records that nobody else has.

moment   gone
when     BrokerCrashed
say      Broker {broker} dies, and the other two come back. They are not in the ISR, but unclean election is on.
focus    broker:{broker} isr promises
ask      Where will the next leader's log end?
accept   {back.leo leader:orders-0 orders-0}
choice   {told.leo leader:orders-0 orders-0} = it ends at {told.leo leader:orders-0 orders-0}, as promised | Nobody who lives has all that.
choice   {back.start_offset} = it ends at {back.start_offset} | One from outside the ISR leads, with what it has.
| Broker 2 dies, and the other two come back. They are not in the ISR, but unclean election is on.
| ? Where will the next leader's log end?
| - it ends at 5, as promised: Nobody who lives has all that.
| + it ends at 3: One from outside the ISR leads, with what it has.

moment   back
when     LeadershipTaken
say      Broker {at} was not in sync, and is elected all the same, {since gone} ms after the crash. Its log ends at offset
         {start_offset}: what was promised beyond is gone.
focus    row:{at} promises
| Broker 1 was not in sync, and is elected all the same, 2020 ms after the crash. Its log ends at offset 3: what was promised beyond is gone.

moment   lost
when     LogTruncated at={gone.broker}
say      Broker {at} is back, must follow, and cuts its log from offset {from} to {to}. So the choice is: wait for the one who knows,
         or go on without what it knew.
focus    row:{at} promises
| Broker 2 is back, must follow, and cuts its log from offset 5 to 3. So the choice is: wait for the one who knows, or go on without what it knew.
