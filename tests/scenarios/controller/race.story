title    Who is first
question Three brokers start. Who decides for all of them?

moment   registered
when     BrokerRegistered
say      Broker {broker} is the first to register its node. Now it tries to create /controller, and with it, in the same change, a new
         controller epoch.
focus    broker:{broker} tree
| Broker 3 is the first to register its node. Now it tries to create /controller, and with it, in the same change, a new controller epoch.

moment   other
when     BrokerRegistered
say      Broker {broker} is not far behind, and tries the same. The tree takes one change after the other: the second finds the node there, and
         fails.
focus    broker:{broker} tree
ask      Who will be controller?
accept   {end.controller}
choice   {registered.broker} = broker {registered.broker} | Its change came first, and that alone decides.
choice   {broker} = broker {broker} | It came second: the node was there.
choice   none = nobody, before they agree | Nobody has to agree: one change of the tree decides.
| Broker 1 is not far behind, and tries the same. The tree takes one change after the other: the second finds the node there, and fails.
| ? Who will be controller?
| + broker 3: Its change came first, and that alone decides.
| - broker 1: It came second: the node was there.
| - nobody, before they agree: Nobody has to agree: one change of the tree decides.

moment   elected
when     ControllerElected
say      Broker {broker} is controller, in epoch {epoch}. The others watch its node, and will try again when it goes.
focus    controller tree
| Broker 3 is controller, in epoch 1. The others watch its node, and will try again when it goes.

moment   led
when     LeadershipTaken
say      From now on it decides for all: it has made broker {at} the leader of a new partition.
focus    row:{at} controller
| From now on it decides for all: it has made broker 3 the leader of a new partition.
