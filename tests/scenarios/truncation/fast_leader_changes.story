title    Back to common ground
question Two leaders in a row, each with a record that nobody else has. How do their logs meet?

moment   died
when     BrokerCrashed
say      Broker {broker} leads, and dies with records that its follower has not fetched.
focus    broker:{broker}
| Broker 2 leads, and dies with records that its follower has not fetched.

moment   second
when     LeadershipTaken
say      Broker {at} leads in epoch {epoch} from offset {start_offset}.
focus    row:{at}
| Broker 3 leads in epoch 1 from offset 2.

moment   own
when     BatchAppended epoch={second.epoch}
say      It takes a record of its own at offset {base_offset}, in epoch {epoch}, and nobody fetches it.
focus    row:{at}
| It takes a record of its own at offset 2, in epoch 1, and nobody fetches it.

moment   died_too
when     BrokerCrashed
say      It dies as well.
focus    broker:{broker}
| It dies as well.

moment   first
when     LeadershipTaken
say      Broker {at} is back and leads in epoch {epoch} from offset {start_offset}: an unclean election, for the only member of
         the ISR is dead.
focus    row:{at} isr
ask      The other will ask where epoch {second.epoch} ends. Broker {at} has never seen that epoch. Where must the other cut?
accept   {cut.to}
choice   {own.base_offset} = where its own record lies | Up to there both have the records of the last epoch that both know.
choice   {first.start_offset} = where the new epoch begins | Below that lie records of an epoch that the other has less of.
| Broker 2 is back and leads in epoch 2 from offset 4: an unclean election, for the only member of the ISR is dead.
| ? The other will ask where epoch 1 ends. Broker 2 has never seen that epoch. Where must the other cut?
| + where its own record lies: Up to there both have the records of the last epoch that both know.
| - where the new epoch begins: Below that lie records of an epoch that the other has less of.

moment   diverge
when     LogsDiverge
say      It answers with the greatest epoch below that it knows: epoch {epoch} ends at offset {end_offset} here. With broker
         {follower} that epoch ends earlier.
focus    row:{at} row:{follower}
| It answers with the greatest epoch below that it knows: epoch 0 ends at offset 4 here. With broker 3 that epoch ends earlier.

moment   cut
when     LogTruncated
say      Broker {at} goes back to the last common record: its log is cut from offset {from} to {to}.
focus    row:{at} row:{diverge.at}
| Broker 3 goes back to the last common record: its log is cut from offset 3 to 2.
