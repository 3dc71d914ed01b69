title    Never mind
question A partition is moving, and the new broker cannot fetch. How does one go back?

moment   before
when     RecordsAcknowledged
say      Broker {leader t-0} leads, and the ISR is {isr t-0}.
focus    row:{leader t-0} isr
| Broker 2 leads, and the ISR is 2 and 3.

moment   started
when     ReassignmentStarted
say      The partition shall move to brokers {target}. Broker {adding} is new, and broker {removing} shall go when it has caught up.
focus    controller row:{adding}
| The partition shall move to brokers 4 and 3. Broker 4 is new, and broker 2 shall go when it has caught up.

moment   stuck
when     ReplicaOpened
say      Broker {at} has opened an empty log, but no answer of the leader reaches it.
focus    row:{at} link:{leader t-0}:{at}
ask      The move is given up. Who is in the ISR then?
accept   {end.isr t-0}
choice   {before.isr t-0} = whoever was in it before | The old replicas were never taken away.
choice   {started.target} = whoever it should have moved to | The new one never had the records.
| Broker 4 has opened an empty log, but no answer of the leader reaches it.
| ? The move is given up. Who is in the ISR then?
| + whoever was in it before: The old replicas were never taken away.
| - whoever it should have moved to: The new one never had the records.

moment   closed
when     ReplicaClosed
say      It is given up: broker {at} closes its replica, and the ISR is {isr t-0}, as before.
focus    row:{at} isr
| It is given up: broker 4 closes its replica, and the ISR is 2 and 3, as before.
