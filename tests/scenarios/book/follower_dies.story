title    A follower dies
question For how long does the high watermark wait for a follower that is dead?

moment   died
when     BrokerCrashed
say      Broker {broker}, the follower, dies. Nobody knows: it is in the ISR, brokers {isr t-0}.
focus    broker:{broker} isr
| Broker 3, the follower, dies. Nobody knows: it is in the ISR, brokers 2 and 3.

moment   held
when     HighWatermarkHeld
say      A record comes, and the leader writes it. The high watermark stays at {hw leader:t-0 t-0}: broker {why.broker} is in the ISR, and has fetched only
         up to {why.log_end}.
focus    row:{why.broker} row:{leader t-0} isr
ask      What becomes of the record, if broker {why.broker} never comes back?
accept   {told.hw leader:t-0 t-0}
choice   {hw leader:t-0 t-0} = it stays above the high watermark for ever | A member of the ISR that is silent for too long is put out of it.
choice   {leo leader:t-0 t-0} = it is committed, later | As soon as the dead one is out of the ISR, nobody waits for it.
| A record comes, and the leader writes it. The high watermark stays at 2: broker 3 is in the ISR, and has fetched only up to 2.
| ? What becomes of the record, if broker 3 never comes back?
| - it stays above the high watermark for ever: A member of the ISR that is silent for too long is put out of it.
| + it is committed, later: As soon as the dead one is out of the ISR, nobody waits for it.

moment   told
when     RecordsAcknowledged
say      {since died} ms after that death the ISR is broker {isr t-0} alone. The high watermark is {hw leader:t-0 t-0}, and the producer is told.
focus    row:{leader t-0} isr promises
| 1017 ms after that death the ISR is broker 2 alone. The high watermark is 3, and the producer is told.

moment   read
when     RecordsReturned
say      Consumers may read the record, too. What waits for every member of the ISR waits no longer than a member may be silent.
focus    client:{at} row:{leader t-0}
| Consumers may read the record, too. What waits for every member of the ISR waits no longer than a member may be silent.
