title    Sent, written, gone
question With acks=0, is a record safe once the leader has written it?

moment   written
when     BatchWritten
say      Broker {at} has written the record: its log ends at offset {log_end}. No follower has fetched it yet, since their
         links to the leader are cut.
focus    row:{at}
button   Crash the leader
| Broker 1 has written the record: its log ends at offset 1. No follower has fetched it yet, since their links to the leader are cut.

moment   died
when     BrokerCrashed
say      Broker {broker} dies, and with it the only copy. The producer asked for no answer, so it cannot miss one.
focus    broker:{broker} promises
ask      Where will the next leader's log end?
accept   {end.leo leader:t-0 t-0}
choice   {written.log_end} = where the dead leader's ended | The next leader can only have what it had fetched, and it
         had fetched nothing.
choice   0 = at its very start | No follower had fetched the record.
| Broker 1 dies, and with it the only copy. The producer asked for no answer, so it cannot miss one.
| ? Where will the next leader's log end?
| - where the dead leader's ended: The next leader can only have what it had fetched, and it had fetched nothing.
| + at its very start: No follower had fetched the record.

moment   led
when     LeadershipTaken
say      Broker {at} leads in epoch {epoch}, from offset {start_offset}. The record that the producer counts as stored is
         not there, and no error was ever told.
focus    row:{at} promises
| Broker 2 leads in epoch 1, from offset 0. The record that the producer counts as stored is not there, and no error was ever told.
