title    This life, not that one
question How does a controller know that a replica is not what it was?

moment   wanted
when     IsrProposed isr=2,3
say      A follower has caught up, and broker {at} asks for the ISR {isr}. This request is slow on its way.
focus    row:{because} isr controller
| A follower has caught up, and broker 2 asks for the ISR 2 and 3. This request is slow on its way.

moment   power
when     BrokerCrashed
say      Meanwhile broker {broker} loses its power. Nothing it had fetched was forced to disk.
focus    broker:{broker}
| Meanwhile broker 3 loses its power. Nothing it had fetched was forced to disk.

moment   reborn
when     BrokerRegistered
say      It is back with an empty log, under a new broker epoch: {epoch}. The request speaks of the old one.
focus    row:{broker}
ask      Now the slow request arrives. What is the ISR then?
accept   {next.isr t-0}
choice   {isr t-0} = as it is, it is refused | Each member is named with its broker epoch, and one is of an earlier life.
choice   {wanted.isr} = what was asked for | That was true of an earlier life of the broker.
| It is back with an empty log, under a new broker epoch: 15. The request speaks of the old one.
| ? Now the slow request arrives. What is the ISR then?
| + as it is, it is refused: Each member is named with its broker epoch, and one is of an earlier life.
| - what was asked for: That was true of an earlier life of the broker.

moment   refused
when     IsrProposalRefused
say      {code}: the ISR stays {isr t-0}. A life that is over counts for nothing.
focus    isr controller
| INELIGIBLE_REPLICA: the ISR stays 2. A life that is over counts for nothing.

moment   died
when     BrokerCrashed
say      Broker {broker}, the leader, dies. Nobody outside the ISR may take its place.
focus    broker:{broker} isr
| Broker 2, the leader, dies. Nobody outside the ISR may take its place.

moment   led
when     LeadershipTaken
say      Broker {at} is back, {since died} ms later, and leads again from offset {start_offset}: unavailable for a while, and
         nothing is lost.
focus    row:{at} promises
| Broker 2 is back, 4043 ms later, and leads again from offset 3: unavailable for a while, and nothing is lost.
