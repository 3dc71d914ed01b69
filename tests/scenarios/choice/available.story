title    Rather an answer
question The leader is cut off, and answers all the same. What is its answer worth?

moment   before
when     RecordsAcknowledged
say      Records are acknowledged as soon as the leader has them: acks=1, and min.insync.replicas asks for no other.
focus    promises
| Records are acknowledged as soon as the leader has them: acks=1, and min.insync.replicas asks for no other.

moment   cut
when     LinkCut to=1000
say      Broker {from}, the leader, is cut off from all brokers. Producers still reach it.
focus    broker:{from} row:{from}
| Broker 2, the leader, is cut off from all brokers. Producers still reach it.

moment   told
when     RecordsAcknowledged
say      A producer sends a record and is told that it is stored, {since cut} ms after the cut. It has waited for nobody.
focus    promises row:{cut.from}
ask      How many of the {acknowledged p record} that are acknowledged will be there in the end?
accept   {end.leo leader:t-0 t-0}
choice   {acknowledged p} = all of them | The last one was on the old leader alone, and a leader that is replaced cuts its log.
choice   {before.acknowledged p} = only what was replicated | The last one was nowhere else.
| A producer sends a record and is told that it is stored, 7 ms after the cut. It has waited for nobody.
| ? How many of the 2 records that are acknowledged will be there in the end?
| - all of them: The last one was on the old leader alone, and a leader that is replaced cuts its log.
| + only what was replicated: The last one was nowhere else.

moment   led
when     LeadershipTaken
say      Broker {at} leads in epoch {epoch} from offset {start_offset}: the old leader's last record is not there.
focus    row:{at}
| Broker 3 leads in epoch 1 from offset 1: the old leader's last record is not there.

moment   lost
when     LogTruncated
say      The links are healed, and broker {at} has to follow. Its log is cut from offset {from} to {to}: always an answer, and
         one of them broken.
focus    row:{at} promises
| The links are healed, and broker 2 has to follow. Its log is cut from offset 2 to 1: always an answer, and one of them broken.
