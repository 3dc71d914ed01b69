title    Too much of a good thing
question A follower has more than the new leader. Which of them is right?

moment   died
when     BrokerCrashed
say      Broker {broker}, the leader, dies. One follower had fetched its last records; the other, cut off for a moment, had
         not.
focus    broker:{broker}
| Broker 2, the leader, dies. One follower had fetched its last records; the other, cut off for a moment, had not.

moment   led
when     LeadershipTaken
say      Broker {at} is the first in the ISR that lives, and leads in epoch {epoch} from offset {start_offset}. The other has
         more.
focus    row:{at} isr
ask      What happens to the records that only the other follower has?
accept   {cut.to}
choice   {led.start_offset} = they are cut off | The leader's log is right by definition; they were below no high watermark.
choice   {cut.from} = the leader fetches them | A leader never fetches: followers follow.
| Broker 3 is the first in the ISR that lives, and leads in epoch 1 from offset 2. The other has more.
| ? What happens to the records that only the other follower has?
| + they are cut off: The leader's log is right by definition; they were below no high watermark.
| - the leader fetches them: A leader never fetches: followers follow.

moment   diverge
when     LogsDiverge
say      In its fetch broker {follower} names its last epoch, {last_fetched_epoch}, and its end, {fetch_offset}. The leader answers
         where that epoch ends here: at {end_offset}.
focus    row:{follower} row:{at}
| In its fetch broker 4 names its last epoch, 0, and its end, 4. The leader answers where that epoch ends here: at 2.

moment   cut
when     LogTruncated
say      Broker {at} cuts its log from offset {from} to {to}. From here on both are equal.
focus    row:{at} row:{led.at}
| Broker 4 cuts its log from offset 4 to 2. From here on both are equal.

moment   returned
when     LogTruncated at={died.broker}
say      The old leader is back as a follower and does the same: its log is cut from offset {from} to {to}.
focus    row:{at} row:{led.at}
| The old leader is back as a follower and does the same: its log is cut from offset 4 to 2.
