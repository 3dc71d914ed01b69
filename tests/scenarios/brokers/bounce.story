title    Faster than its own death
question A broker is back before anybody saw it die. Is it still the same?

moment   died
when     BrokerCrashed
say      Broker {broker} leads, and dies.
focus    broker:{broker}
| Broker 1 leads, and dies.

moment   back
when     BrokerStarted
say      It starts again, {since died} ms later. Its old session lives on, and with it the node of its earlier life.
focus    broker:{broker} tree
| It starts again, 0 ms later. Its old session lives on, and with it the node of its earlier life.

moment   expired
when     SessionExpired
say      It waits until that session is over: {since back} ms.
focus    tree
| It waits until that session is over: 1867 ms.

moment   registered
when     BrokerRegistered
say      Now it registers, under broker epoch {epoch}. By that number everyone sees that this is another life.
focus    broker:{broker} tree
| Now it registers, under broker epoch 14. By that number everyone sees that this is another life.

moment   led
when     LeadershipTaken
say      Broker {at} leads in epoch {epoch}, with the ISR {isr}: nothing is lost.
focus    row:{at} isr
| Broker 1 leads in epoch 1, with the ISR 1, 2 and 3: nothing is lost.
