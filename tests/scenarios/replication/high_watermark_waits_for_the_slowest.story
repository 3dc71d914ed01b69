title    All wait for the slowest
question A member of the ISR does not fetch. What becomes of the records that all others have?

moment   told
when     RecordsAcknowledged
say      With acks=1 the producer is told that its {count record} are stored. That is true of the leader's log, and says nothing
         of the others.
focus    promises row:{leader t-0}
| With acks=1 the producer is told that its 2 records are stored. That is true of the leader's log, and says nothing of the others.

moment   held
when     HighWatermarkHeld why.broker=3
say      The high watermark stays at {hw leader:t-0 t-0}: broker {why.broker} is in the ISR ({isr t-0}) and has fetched only up to
         {why.log_end}.
focus    row:{why.broker} isr
ask      Up to which offset can a consumer read while broker {why.broker} does not fetch?
accept   {hw leader:t-0 t-0}
choice   0 = none of them | Consumers read below the high watermark, and that waits for every member of the ISR.
choice   {leo leader:t-0 t-0} = all that are acknowledged | An acknowledgement under acks=1 speaks of the leader's log, not of the high watermark.
| The high watermark stays at 0: broker 3 is in the ISR (1, 2 and 3) and has fetched only up to 0.
| ? Up to which offset can a consumer read while broker 3 does not fetch?
| + none of them: Consumers read below the high watermark, and that waits for every member of the ISR.
| - all that are acknowledged: An acknowledgement under acks=1 speaks of the leader's log, not of the high watermark.

moment   moves
when     HighWatermarkMoved
say      The link is healed, and broker {held.why.broker} fetches: the high watermark moves from {from} to {to}, {since held} ms
         after it was first held.
focus    row:{held.why.broker} row:{at}
| The link is healed, and broker 3 fetches: the high watermark moves from 0 to 3, 2006 ms after it was first held.

moment   all
when     RecordsAcknowledged
say      Now the producer of acks=all is told too. It was in time: nobody had to leave the ISR ({isr t-0}).
focus    promises isr
| Now the producer of acks=all is told too. It was in time: nobody had to leave the ISR (1, 2 and 3).
