title    A controller from the past
question A controller was away for seconds and does not know it. What can it spoil?

moment   paused
when     BrokerPaused
say      Broker {broker}, the controller, is paused: a long garbage collection, a frozen machine. It does not feel it.
focus    broker:{broker} controller
| Broker 1, the controller, is paused: a long garbage collection, a frozen machine. It does not feel it.

moment   expired
when     SessionExpired
say      Nobody has heard of it for {since paused} ms, so its session expires.
focus    tree
| Nobody has heard of it for 1995 ms, so its session expires.

moment   elected
when     ControllerElected
say      Broker {broker} is controller now, in epoch {epoch}.
focus    controller broker:{broker}
ask      Now the old one goes on. How many controllers are there?
accept   {end.controller}
choice   {broker} = one, the new one | Every change that the old one tries fails at the controller epoch, and it resigns.
choice   {paused.broker} = one, the old one again | Its session is over, and with it its node.
| Broker 2 is controller now, in epoch 2.
| ? Now the old one goes on. How many controllers are there?
| + one, the new one: Every change that the old one tries fails at the controller epoch, and it resigns.
| - one, the old one again: Its session is over, and with it its node.

moment   resumed
when     BrokerResumed
say      Broker {broker} goes on, and still takes itself for the controller.
focus    broker:{broker}
| Broker 1 goes on, and still takes itself for the controller.

moment   resigned
when     ControllerResigned
say      It learns that {why}, and resigns from epoch {epoch} before it has changed anything.
focus    broker:{at} controller
| It learns that its session expired, and resigns from epoch 1 before it has changed anything.
