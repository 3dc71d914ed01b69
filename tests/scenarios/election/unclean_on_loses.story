title    Anybody rather than nobody
question All members of the ISR are gone, and unclean election is on. What does it cost?

moment   alone
when     LeadershipTaken isr=1
say      The others are dead: broker {at} leads alone, the ISR is {isr}.
focus    row:{at} isr
| The others are dead: broker 1 leads alone, the ISR is 1.

moment   told
when     RecordsAcknowledged
say      It acknowledges {count record} that nobody else has.
focus    promises row:{alone.at}
| It acknowledges 2 records that nobody else has.

moment   died
when     BrokerCrashed broker={alone.at}
say      It dies as well. The others come back: they are not in the ISR, but unclean election is on.
focus    broker:{broker} isr
ask      How many of the {told.count record} will the next leader have?
accept   {next.leo leader:t-0 t-0}
choice   {told.count} = all of them | Nobody but the dead broker has them.
choice   0 = none | A broker from outside the ISR leads, with what it has.
| It dies as well. The others come back: they are not in the ISR, but unclean election is on.
| ? How many of the 2 records will the next leader have?
| - all of them: Nobody but the dead broker has them.
| + none: A broker from outside the ISR leads, with what it has.

moment   led
when     LeadershipTaken
say      Broker {at} leads in epoch {epoch}, from offset {start_offset}, {since died} ms after the crash: available, and without what was
         promised.
focus    row:{at} promises
| Broker 2 leads in epoch 2, from offset 0, 1960 ms after the crash: available, and without what was promised.

moment   lost
when     LogTruncated
say      Broker {at} is back and follows. Its log is cut from offset {from} to {to}: the promise is broken for good.
focus    row:{at} promises
| Broker 1 is back and follows. Its log is cut from offset 2 to 0: the promise is broken for good.
