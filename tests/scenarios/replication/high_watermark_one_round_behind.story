title    One round behind
question Why does a follower's high watermark lag behind its leader's?

moment   written
when     BatchWritten at=1
say      Broker {at} leads and has written the record: its log ends at offset {log_end}. Its high watermark is still
         {hw at t-0}, since no follower has fetched.
focus    row:{at}
| Broker 1 leads and has written the record: its log ends at offset 1. Its high watermark is still 0, since no follower has fetched.

moment   fetched
when     BatchWritten at!={written.at}
say      Broker {at} has fetched the record. The leader does not know it yet: it will hear in this follower's next fetch, which
         asks for offset {log_end}.
focus    row:{at} link:{at}:{written.at}
| Broker 3 has fetched the record. The leader does not know it yet: it will hear in this follower's next fetch, which asks for offset 1.

moment   moved
when     HighWatermarkMoved at={written.at}
say      With that fetch from every member of the ISR ({isr t-0}), the leader knows that all have the record: its high
         watermark moves to {to}.
focus    row:{at} isr
ask      What high watermark does broker {fetched.at} know at this moment?
accept   {hw fetched.at t-0}
choice   {to} = the leader's new one | It travels in the answer to a fetch, and the answer has not come yet.
choice   {from} = the one before | The new one comes with the answer to its next fetch.
| With that fetch from every member of the ISR (1, 2 and 3), the leader knows that all have the record: its high watermark moves to 1.
| ? What high watermark does broker 3 know at this moment?
| - the leader's new one: It travels in the answer to a fetch, and the answer has not come yet.
| + the one before: The new one comes with the answer to its next fetch.

moment   told
when     RecordsAcknowledged
say      The producer is answered now: the record is safe as soon as the leader knows it, not when the followers do.
focus    promises row:{written.at}
| The producer is answered now: the record is safe as soon as the leader knows it, not when the followers do.

moment   heard
when     HighWatermarkMoved at={fetched.at}
say      The answer to that fetch brings broker {at} the high watermark {to}, {since moved} ms after the leader had it: one
         round behind.
focus    row:{at} row:{written.at}
| The answer to that fetch brings broker 3 the high watermark 1, 101 ms after the leader had it: one round behind.
