title    Back to the first
question A leader was away and is back. Does it lead again?

moment   died
when     BrokerCrashed
say      Broker {broker} leads, as the first of the assigned replicas: it is the preferred leader. It dies.
focus    broker:{broker}
| Broker 1 leads, as the first of the assigned replicas: it is the preferred leader. It dies.

moment   second
when     LeadershipTaken
say      Broker {at} is the next of the replicas ({replicas}) that lives and is in the ISR. It leads in epoch {epoch}.
focus    row:{at} isr
ask      The first one comes back and catches up. Who leads then?
accept   {end.leader t-0}
choice   {second.at} = the second, until somebody asks | So it was for a while; then an election was asked for.
choice   {died.broker} = the first, when it is elected | The preferred leader gets the partition back when an election is asked for.
| Broker 2 is the next of the replicas (1, 2 and 3) that lives and is in the ISR. It leads in epoch 1.
| ? The first one comes back and catches up. Who leads then?
| - the second, until somebody asks: So it was for a while; then an election was asked for.
| + the first, when it is elected: The preferred leader gets the partition back when an election is asked for.

moment   first
when     LeadershipTaken
say      A preferred election was asked for. Broker {at} is in the ISR ({isr}) again, and leads in epoch {epoch}, without any pause for
         readers.
focus    row:{at} isr
| A preferred election was asked for. Broker 1 is in the ISR (2, 3 and 1) again, and leads in epoch 2, without any pause for readers.
