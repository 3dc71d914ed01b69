title    LEO, HW and the ISR
question When does a replica know that a record is safe?

moment   written
when     BatchWritten at=1 log_end=4
say      Broker {at} leads, and has written r{hw at orders-0}: its log end offset (LEO) is {log_end}. Its high watermark (HW) stays at {hw at orders-0}, for
         nobody else has the record yet.
focus    row:{at}
| Broker 1 leads, and has written r3: its log end offset (LEO) is 4. Its high watermark (HW) stays at 3, for nobody else has the record yet.

moment   fetched
when     BatchWritten at!={written.at}
say      Broker {at} has fetched r{written.hw written.at orders-0}. The leader does not know it: it hears of it by this follower's next fetch, which will ask
         from offset {log_end}.
focus    row:{at} row:{written.at}
| Broker 3 has fetched r3. The leader does not know it: it hears of it by this follower's next fetch, which will ask from offset 4.

moment   moved
when     HighWatermarkMoved at={written.at}
say      Every member of the ISR, brokers {isr orders-0}, has asked from offset {to}. So the leader knows that all have r{from}, and its high
         watermark moves from {from} to {to}.
focus    row:{at} isr
ask      Which high watermark does broker {fetched.at} know now?
accept   {hw fetched.at orders-0}
choice   {to} = the new one, {to} | It travels in the answer to a fetch, and that answer has not come yet.
choice   {from} = the one before, {from} | The new one comes with the answer to its next fetch.
| Every member of the ISR, brokers 1, 2 and 3, has asked from offset 4. So the leader knows that all have r3, and its high watermark moves from 3 to 4.
| ? Which high watermark does broker 3 know now?
| - the new one, 4: It travels in the answer to a fetch, and that answer has not come yet.
| + the one before, 3: The new one comes with the answer to its next fetch.

moment   told
when     RecordsAcknowledged
say      The producer is told now. A record is safe as soon as the leader knows that the whole ISR has it. It does not wait for
         the followers to know, too.
focus    promises row:{written.at}
| The producer is told now. A record is safe as soon as the leader knows that the whole ISR has it. It does not wait for the followers to know, too.

moment   heard
when     HighWatermarkMoved at={fetched.at}
say      The answer to its fetch brings broker {at} the high watermark {to}, {since moved} ms after the leader had it. A follower's HW is one
         round behind its leader's.
focus    row:{at} row:{written.at}
| The answer to its fetch brings broker 3 the high watermark 4, 98 ms after the leader had it. A follower's HW is one round behind its leader's.

moment   late
when     IsrProposed
say      The link between brokers {because} and {at} is cut. Broker {because} has not caught up for longer than
         replica.lag.time.max.ms, so the leader asks for the ISR {isr}.
focus    row:{because} isr link:{at}:{because}
| The link between brokers 3 and 1 is cut. Broker 3 has not caught up for longer than replica.lag.time.max.ms, so the leader asks for the ISR 1 and 2.

moment   out
when     IsrChanged
say      The controller agrees: the ISR is {isr}. A record waits for the ISR alone, no longer for broker {late.because}.
focus    isr row:{late.because}
ask      Is the new record acknowledged with acks=all, while broker {late.because} has not got it?
accept   {again.acknowledged all}
choice   {leo at orders-0} = yes | acks=all waits for all that are in sync, and by min.insync.replicas they are enough.
choice   {acknowledged all} = no, it waits for all three | All that are in sync: not all that are assigned.
| The controller agrees: the ISR is 1 and 2. A record waits for the ISR alone, no longer for broker 3.
| ? Is the new record acknowledged with acks=all, while broker 3 has not got it?
| + yes: acks=all waits for all that are in sync, and by min.insync.replicas they are enough.
| - no, it waits for all three: All that are in sync: not all that are assigned.

moment   again
when     RecordsAcknowledged
say      The producer is told that its record is safe: everyone in the ISR, brokers {isr orders-0}, has it.
focus    promises isr
| The producer is told that its record is safe: everyone in the ISR, brokers 1 and 2, has it.

moment   wanted
when     IsrProposed
say      The link is mended. Broker {because} has fetched up to the leader's high watermark, so the leader asks for it to be in
         sync again.
focus    row:{because} isr
| The link is mended. Broker 3 has fetched up to the leader's high watermark, so the leader asks for it to be in sync again.

moment   in
when     IsrChanged
say      Broker {wanted.because} is in sync again: the ISR is {isr}. Nobody had to do anything.
focus    isr row:{wanted.because}
| Broker 3 is in sync again: the ISR is 1, 2 and 3. Nobody had to do anything.

moment   alone
when     LeadershipTaken isr={written.at}
say      Both followers have died. The ISR is broker {isr} alone: fewer than min.insync.replicas asks for. It leads on.
focus    isr row:{at}
ask      What does a producer get from it with acks=all?
accept   {refused.leo alone.at orders-0}
choice   {leo at orders-0} = an error, and nothing is written | The leader counts the ISR before it appends, and refuses.
choice   {stored.leo alone.at orders-0} = its record is stored on one broker | So it is with acks=1. With acks=all the leader refuses instead.
| Both followers have died. The ISR is broker 1 alone: fewer than min.insync.replicas asks for. It leads on.
| ? What does a producer get from it with acks=all?
| + an error, and nothing is written: The leader counts the ISR before it appends, and refuses.
| - its record is stored on one broker: So it is with acks=1. With acks=all the leader refuses instead.

moment   refused
when     BatchRetried
say      {code}: broker {leader orders-0} refuses, and its log still ends at {leo alone.at orders-0}. The producer keeps its record, and tries again.
focus    row:{alone.at} promises
| NOT_ENOUGH_REPLICAS: broker 1 refuses, and its log still ends at 5. The producer keeps its record, and tries again.

moment   stored
when     RecordsAcknowledged
say      Two are in sync again, brokers {isr orders-0}, so the producer's next try is stored. Better late than on one disk alone: that is
         the choice min.insync.replicas makes.
focus    isr promises
| Two are in sync again, brokers 1 and 2, so the producer's next try is stored. Better late than on one disk alone: that is the choice min.insync.replicas makes.
