title    No space left
question The leader's disk is full. Is anything lost?

moment   told
when     RecordsAcknowledged
say      Broker {leader t-0} leads, and has {count record} acknowledged.
focus    row:{leader t-0} promises
| Broker 1 leads, and has 2 records acknowledged.

moment   full
when     DiskFilled
say      The disk of broker {broker} has {left_bytes} bytes left. The next batch does not fit.
focus    broker:{broker}
| The disk of broker 1 has 10 bytes left. The next batch does not fit.

moment   failed
when     DirectoryFailed
say      The disk says: {reason}. The whole log directory goes offline at once, rather than pretend.
focus    broker:{at}
| The disk says: no space left on the device. The whole log directory goes offline at once, rather than pretend.

moment   led
when     LeadershipTaken
say      Broker {at} leads in epoch {epoch} from offset {start_offset}: it has all that was acknowledged.
focus    row:{at} isr
| Broker 2 leads in epoch 1 from offset 2: it has all that was acknowledged.
