title    In sync, out, and in again
question What happens to a follower that cannot keep up?

moment   late
when     IsrProposed
say      Broker {because} has not caught up for longer than replica.lag.time.max.ms allows. The leader, broker {at}, asks the
         controller for the ISR {isr}.
focus    row:{because} isr controller
| Broker 3 has not caught up for longer than replica.lag.time.max.ms allows. The leader, broker 1, asks the controller for the ISR 1 and 2.

moment   out
when     IsrChanged
say      The controller agrees: the ISR is {isr}. From now on nobody waits for the slow one.
focus    isr row:{late.because}
ask      Is the record of acks=all acknowledged while broker {late.because} is out?
accept   {told.acknowledged all}
choice   {leo at t-0} = yes | acks=all waits for all that are in sync, and enough are: min.insync.replicas is met.
choice   0 = no, all replicas are needed | acks=all means all that are in sync, not all that are assigned.
| The controller agrees: the ISR is 1 and 2. From now on nobody waits for the slow one.
| ? Is the record of acks=all acknowledged while broker 3 is out?
| + yes: acks=all waits for all that are in sync, and enough are: min.insync.replicas is met.
| - no, all replicas are needed: acks=all means all that are in sync, not all that are assigned.

moment   told
when     RecordsAcknowledged
say      The producer hears that its {count record} are stored: everyone in the ISR has them.
focus    promises isr
| The producer hears that its 2 records are stored: everyone in the ISR has them.

moment   wanted
when     IsrProposed
say      The link is healed. Broker {because} has fetched up to the leader's high watermark, so the leader asks for the ISR
         {isr}.
focus    row:{because} isr controller
| The link is healed. Broker 3 has fetched up to the leader's high watermark, so the leader asks for the ISR 1, 2 and 3.

moment   in
when     IsrChanged
say      Broker {wanted.because} is in sync again: the ISR is {isr}. Nobody had to restart anything.
focus    isr row:{wanted.because}
| Broker 3 is in sync again: the ISR is 1, 2 and 3. Nobody had to restart anything.
