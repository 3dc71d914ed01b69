title    Stored, and not to be seen
question Acknowledged under acks=1, with too few replicas in sync: can a consumer read it?

moment   alone
when     LeadershipTaken isr=1
say      Broker {at} leads and is alone in the ISR. The topic's min.insync.replicas asks for more.
focus    row:{at} isr
| Broker 1 leads and is alone in the ISR. The topic's min.insync.replicas asks for more.

moment   held
when     HighWatermarkHeld why=UnderMinIsr
say      It writes the records, yet its high watermark stays at {hw alone.at t-0}: {why.in_sync} in sync, {why.least} needed.
focus    row:{alone.at} isr
| It writes the records, yet its high watermark stays at 0: 1 in sync, 2 needed.

moment   told
when     RecordsAcknowledged
say      With acks=1 the producer is told all the same that its {count record} are stored.
focus    promises row:{alone.at}
ask      What can a consumer read while broker {alone.at} is alone?
accept   {hw alone.at t-0}
choice   0 = nothing | Consumers read below the high watermark, and it does not move with too few in sync.
choice   {count} = what is acknowledged | An acknowledgement under acks=1 speaks of the leader's log, not of the high watermark.
| With acks=1 the producer is told all the same that its 2 records are stored.
| ? What can a consumer read while broker 1 is alone?
| + nothing: Consumers read below the high watermark, and it does not move with too few in sync.
| - what is acknowledged: An acknowledgement under acks=1 speaks of the leader's log, not of the high watermark.

moment   back
when     IsrChanged
say      The other broker has fetched all of it and is taken into the ISR: {isr}. Now there are enough.
focus    isr row:{at}
| The other broker has fetched all of it and is taken into the ISR: 1 and 2. Now there are enough.

moment   read
when     RecordsReturned
say      The high watermark moves, and the consumer reads offsets {from} up to {to}, {since told} ms after the producer was told
         that they are stored.
focus    client:{at} row:{alone.at}
| The high watermark moves, and the consumer reads offsets 0 up to 2, 1142 ms after the producer was told that they are stored.
