title    All of whom?
question Two of three replicas are down. Will acks=all wait for them?

moment   alone
when     LeadershipTaken isr=1
say      Two brokers are down, and out of the ISR: broker {at} is alone in it.
focus    row:{at} isr
| Two brokers are down, and out of the ISR: broker 1 is alone in it.

moment   asked
when     PacketSent what=Produce
say      The producer sends a record with acks=all. In the ISR: {isr t-0}.
focus    client:{from} row:{to} isr
| The producer sends a record with acks=all. In the ISR: 1.

moment   answered
when     PacketSent from={asked.to} to={asked.from}
say      Broker {from} answers. Its log ends at offset {leo leader:t-0 t-0}: that is how many records it has taken.
focus    row:{from} isr
| Broker 1 answers. Its log ends at offset 1: that is how many records it has taken.

moment   back
when     IsrChanged isr=1,2
say      A follower is back: the ISR is {isr}. While the leader was alone, {acknowledged p record} of the producer counted as
         stored.
focus    isr row:{at} promises
| A follower is back: the ISR is 1 and 2. While the leader was alone, 1 record of the producer counted as stored.

moment   both
when     HighWatermarkMoved at=1 to=2
say      With the next record the log ends at offset {to}, on every member of the ISR ({isr t-0}).
focus    row:{at} isr promises
| With the next record the log ends at offset 2, on every member of the ISR (1 and 2).
