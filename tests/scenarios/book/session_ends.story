title    Until the session ends
question A leader is killed. How long does nobody lead?

moment   died
when     BrokerCrashed
say      Broker {broker} leads and is killed. It cannot say goodbye: the controller learns of it when its session is over.
focus    broker:{broker}
| Broker 1 leads and is killed. It cannot say goodbye: the controller learns of it when its session is over.

moment   led
when     LeadershipTaken
say      {since died} ms later broker {at} leads, in epoch {epoch}.
focus    row:{at}
| 5906 ms later broker 2 leads, in epoch 1.

moment   told
when     RecordsAcknowledged
say      The record that waited is stored, {since died} ms after the death: one of {leo leader:t-0 t-0} in the log. Nothing was lost.
focus    promises row:{leader t-0}
| The record that waited is stored, 6172 ms after the death: one of 3 in the log. Nothing was lost.
