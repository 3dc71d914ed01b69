title    The one who decides dies
question The controller dies. Who notices, and who decides then?

moment   died
when     BrokerCrashed
say      Broker {broker} was controller and led a partition. It dies, and for now nobody decides anything.
focus    broker:{broker} controller
button   Wait for its session
| Broker 1 was controller and led a partition. It dies, and for now nobody decides anything.

moment   expired
when     SessionExpired
say      {since died} ms later its session expires. Its nodes go with it: /controller, and its own.
focus    tree
| 1995 ms later its session expires. Its nodes go with it: /controller, and its own.

moment   elected
when     ControllerElected
say      The others watched /controller. Broker {broker} creates it first and is controller, in epoch {epoch}: whoever speaks for an earlier epoch
         is not heard any more.
focus    controller broker:{broker}
| The others watched /controller. Broker 2 creates it first and is controller, in epoch 2: whoever speaks for an earlier epoch is not heard any more.

moment   led
when     LeadershipTaken
say      It reads what is, sees that a leader is missing, and decides: broker {at} leads, {since died} ms after the crash.
focus    row:{at} controller
| It reads what is, sees that a leader is missing, and decides: broker 2 leads, 2019 ms after the crash.
