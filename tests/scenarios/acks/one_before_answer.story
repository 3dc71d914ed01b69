title    Stored twice
question With acks=1, can one record be in the log two times?

moment   everyone
when     HighWatermarkMoved
say      The record is on every member of the ISR ({isr t-0}), but the answer to the producer is late.
focus    row:{at} isr
button   Crash the leader
| The record is on every member of the ISR (1, 2 and 3), but the answer to the producer is late.

moment   died
when     BrokerCrashed
say      Broker {broker} dies, and its answer with it. The producer does not know that its record is stored.
focus    broker:{broker} promises
ask      How often will the record be in the log?
accept   {end.leo leader:t-0 t-0}
choice   1 = once | Nothing marks the second try as a second try: for the new leader it is a new record.
choice   2 = twice | The followers have the first copy, and the second try adds another.
choice   0 = never | Both followers had fetched it.
| Broker 1 dies, and its answer with it. The producer does not know that its record is stored.
| ? How often will the record be in the log?
| - once: Nothing marks the second try as a second try: for the new leader it is a new record.
| + twice: The followers have the first copy, and the second try adds another.
| - never: Both followers had fetched it.

moment   led
when     LeadershipTaken
say      Broker {at} leads from offset {start_offset}: it has the record.
focus    row:{at}
| Broker 2 leads from offset 1: it has the record.

moment   told
when     RecordsAcknowledged
say      The producer tries again and is told offset {base_offset}. The log has {leo leader:t-0 t-0 record} now, and each is the
         same one: a plain producer stores what it repeats.
focus    row:{leader t-0} promises
| The producer tries again and is told offset 1. The log has 2 records now, and each is the same one: a plain producer stores what it repeats.
