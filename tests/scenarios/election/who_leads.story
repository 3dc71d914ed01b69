title    Who leads now?
question A leader dies. Who decides who is next, and by what?
picture  tree

moment   registered
when     BrokerRegistered
say      Broker {broker} is the first to register: its node in the tree lives as long as its session. Now it tries to create
         /controller, too.
focus    session:{broker} node:/brokers/ids/{broker}
| Broker 3 is the first to register: its node in the tree lives as long as its session. Now it tries to create /controller, too.

moment   other
when     BrokerRegistered
say      Broker {broker} is not far behind, and tries the same. The tree takes one change after the other: where the node is there, creating it
         fails.
focus    session:{broker} node:/brokers/ids/{broker}
ask      Who will be controller?
accept   {led.controller}
choice   {registered.broker} = broker {registered.broker} | Its change came first, and that alone decides.
choice   {broker} = broker {broker} | It came second: the node was there.
choice   none = nobody, before they agree | Nobody has to agree: one change of the tree decides.
| Broker 1 is not far behind, and tries the same. The tree takes one change after the other: where the node is there, creating it fails.
| ? Who will be controller?
| + broker 3: Its change came first, and that alone decides.
| - broker 1: It came second: the node was there.
| - nobody, before they agree: Nobody has to agree: one change of the tree decides.

moment   elected
when     ControllerElected
say      Broker {broker} is controller, in epoch {epoch}. The others watch its node, and will try again when it goes.
focus    node:/controller watches:/controller
| Broker 3 is controller, in epoch 1. The others watch its node, and will try again when it goes.

moment   led
when     LeadershipTaken
say      The controller decides for all. Of a new partition it makes the first of its replicas, {replicas}, the leader: broker {at}.
focus    row:{at} node:state isr
| The controller decides for all. Of a new partition it makes the first of its replicas, 1, 2 and 3, the leader: broker 1.

moment   died
when     BrokerCrashed
say      Broker {broker}, the leader, dies. Nobody knows it yet: its node stays in the tree until its session ends.
focus    broker:{broker} session:{broker} node:/brokers/ids/{broker}
| Broker 1, the leader, dies. Nobody knows it yet: its node stays in the tree until its session ends.

moment   expired
when     WatchFired path=/brokers/ids
say      {since died} ms later the session ends, and the node goes with it. The controller watches those nodes: now it knows.
focus    session:{died.broker} node:/brokers/ids/{died.broker} watches:/brokers/ids
ask      Who will lead?
accept   {chosen.leader}
choice   {chosen.leader} = broker {chosen.leader} | It is the first in the list of replicas that lives and is in the ISR.
choice   {elected.broker} = broker {elected.broker}, which decides | It lives and is in the ISR, too, but stands later in the list.
| 1865 ms later the session ends, and the node goes with it. The controller watches those nodes: now it knows.
| ? Who will lead?
| + broker 2: It is the first in the list of replicas that lives and is in the ISR.
| - broker 3, which decides: It lives and is in the ISR, too, but stands later in the list.

moment   chosen
when     Elected reason=Offline
say      The controller goes through the replicas in their order: broker {died.broker} is dead, broker {leader} lives and is in the ISR. It
         leads, and nobody is asked any further.
focus    broker:{leader} node:state isr
| The controller goes through the replicas in their order: broker 1 is dead, broker 2 lives and is in the ISR. It leads, and nobody is asked any further.

moment   decider_died
when     BrokerCrashed
say      Broker {died.broker} is back, and the controller, broker {broker}, dies. Broker {leader orders-0} leads on without it: only
         decisions have to wait.
focus    broker:{broker} node:/controller row:{leader orders-0}
| Broker 1 is back, and the controller, broker 3, dies. Broker 2 leads on without it: only decisions have to wait.

moment   succeeded
when     ControllerElected
say      With its session went /controller, which the others watched. Broker {broker} created it first: it is controller, in epoch
         {epoch}. Who speaks for an earlier epoch is not heard any more.
focus    session:{decider_died.broker} node:/controller watches:/controller
| With its session went /controller, which the others watched. Broker 1 created it first: it is controller, in epoch 2. Who speaks for an earlier epoch is not heard any more.

moment   alone
when     LeadershipTaken isr={chosen.leader}
say      Another one dies. Broker {at} leads alone: the ISR is {isr}, and min.insync.replicas is met.
focus    row:{at} isr
| Another one dies. Broker 2 leads alone: the ISR is 2, and min.insync.replicas is met.

moment   told
when     RecordsAcknowledged
say      It acknowledges {count record} that nobody else has.
focus    row:{alone.at} promises
| It acknowledges 2 records that nobody else has.

moment   gone
when     BrokerCrashed
say      It dies as well. The other two come back, but they are not in the ISR: they may lack what was promised.
focus    broker:{broker} isr promises
ask      Who leads when only those two are there?
accept   {nobody.leader orders-0}
choice   none = nobody, until broker {broker} is back | Unclean election is off, and it alone is known to have everything.
choice   {nobody.controller} = one of the two | Unclean election is off: who is not in the ISR is not elected.
| It dies as well. The other two come back, but they are not in the ISR: they may lack what was promised.
| ? Who leads when only those two are there?
| + nobody, until broker 2 is back: Unclean election is off, and it alone is known to have everything.
| - one of the two: Unclean election is off: who is not in the ISR is not elected.

moment   nobody
when     Elected leader=none
say      The new controller, broker {at}, can elect nobody: of the replicas, one is dead and the others are not in sync. The
         partition waits.
focus    broker:{at} node:state isr
| The new controller, broker 3, can elect nobody: of the replicas, one is dead and the others are not in sync. The partition waits.

moment   back
when     LeadershipTaken
say      Broker {at} is back, and leads. Nobody led for {since gone} ms, and every promise is kept.
focus    row:{at} promises
button   The same with unclean election
| Broker 2 is back, and leads. Nobody led for 6042 ms, and every promise is kept.
