title    Two settings, one death
question What do the two settings on the brokers' side change?

moment   alone
when     IsrChanged
say      The link between the replicas is cut, and a producer has sent a record with acks=all. The follower leaves the ISR: it is
         broker {isr} alone.
focus    isr row:{at}
| The link between the replicas is cut, and a producer has sent a record with acks=all. The follower leaves the ISR: it is broker 2 alone.

moment   died
when     BrokerCrashed
say      Broker {broker} dies. The producer has heard of {acknowledged p record}, counted from the start, that they are stored.
focus    broker:{broker} promises
ask      And after all this, how many of the acknowledged records are gone?
accept   {last.leo leader:t-0 t-0}
choice   {last.acknowledged all} = none | Nothing is lost where the next leader comes from the ISR, nor where nothing was acknowledged that only one broker had.
choice   2 = one | It takes two things: an acknowledged record that only one broker had, and a leader that never had it.
| Broker 2 dies. The producer has heard of 2 records, counted from the start, that they are stored.
| ? And after all this, how many of the acknowledged records are gone?
| - none: Nothing is lost where the next leader comes from the ISR, nor where nothing was acknowledged that only one broker had.
| + one: It takes two things: an acknowledged record that only one broker had, and a leader that never had it.

moment   led
when     LeadershipTaken
say      Broker {at} leads, {since died} ms after the death, from offset {start_offset}.
focus    row:{at} isr
| Broker 3 leads, 1810 ms after the death, from offset 1.

moment   back
when     IsrChanged
say      Both replicas live and are in sync again: the ISR is {isr}.
focus    isr
| Both replicas live and are in sync again: the ISR is 3 and 2.

moment   last
when     RecordsAcknowledged at=103
say      One record more, by another producer. In all, acknowledged: {acknowledged all record}; in the log: {leo leader:t-0 t-0 record}.
focus    promises row:{leader t-0}
| One record more, by another producer. In all, acknowledged: 3 records; in the log: 2 records.
