title    As fast as the slowest
question One follower's disk is slow. Who waits for it?

moment   slow
when     DiskSlowed
say      Each operation of broker {broker}'s disk takes {delay_ms} ms now.
focus    broker:{broker}
| Each operation of broker 3's disk takes 200 ms now.

moment   written
when     BatchWritten at=1
say      Broker {at}, the leader, has written the record already.
focus    row:{at}
ask      The other follower is fast, and two are enough for min.insync.replicas. Whom does acks=all wait for?
accept   {moved.leo slow.broker t-0}
choice   0 = for enough of them | acks=all waits for everyone in the ISR; the setting only says how few may be in it.
choice   {log_end} = for everyone in the ISR | The slow one is still in the ISR, so it counts.
| Broker 1, the leader, has written the record already.
| ? The other follower is fast, and two are enough for min.insync.replicas. Whom does acks=all wait for?
| - for enough of them: acks=all waits for everyone in the ISR; the setting only says how few may be in it.
| + for everyone in the ISR: The slow one is still in the ISR, so it counts.

moment   moved
when     HighWatermarkMoved at=1
say      The high watermark moves only when broker {slow.broker} has written too: {since written} ms after the leader.
focus    row:{slow.broker} row:{at} isr
| The high watermark moves only when broker 3 has written too: 407 ms after the leader.

moment   told
when     RecordsAcknowledged
say      And so the producer is answered {since written} ms after the leader had its record.
focus    promises
| And so the producer is answered 409 ms after the leader had its record.
