title    A word to nobody
question With acks=0, does a producer notice that there is no leader?

moment   first
when     RecordsAcknowledged
say      With acks=0 the producer asks for no answer. What it sends ({count record}) counts as stored at once.
focus    client:{client} promises
| With acks=0 the producer asks for no answer. What it sends (1 record) counts as stored at once.

moment   died
when     BrokerCrashed
say      Broker {broker}, the leader, dies. Nobody tells the producer.
focus    broker:{broker}
| Broker 1, the leader, dies. Nobody tells the producer.

moment   second
when     RecordsAcknowledged
say      It sends on, to a broker that is not there, and counts {acknowledged blind record} as stored.
focus    client:{client} broker:{died.broker} promises
ask      How many of them are in the log of the next leader?
accept   {end.leo leader:t-0 t-0}
choice   {acknowledged blind} = all that it counts | The last one was sent to a dead broker.
choice   {first.count} = the first one | It was replicated before the crash.
choice   0 = none | The first one had time to be replicated.
| It sends on, to a broker that is not there, and counts 2 records as stored.
| ? How many of them are in the log of the next leader?
| - all that it counts: The last one was sent to a dead broker.
| + the first one: It was replicated before the crash.
| - none: The first one had time to be replicated.

moment   led
when     LeadershipTaken
say      Broker {at} leads with a log that ends at offset {leo at t-0}. What was sent in between is nowhere, and was never missed.
focus    row:{at} promises
| Broker 2 leads with a log that ends at offset 1. What was sent in between is nowhere, and was never missed.
