title    Alive, and taken for dead
question A leader loses only the coordination service. May it lead on?

moment   cut
when     LinkCut
say      Broker {from} leads. It still reaches its followers and its clients, but not the coordination service.
focus    broker:{from} tree
| Broker 1 leads. It still reaches its followers and its clients, but not the coordination service.

moment   expired
when     SessionExpired
say      {since cut} ms later its session expires: for all others it is dead.
focus    tree
ask      Who leads?
accept   {next.leader t-0}
choice   {cut.from} = the old leader, it is alive | The controller sees only its session, and that is over.
choice   {next.leader t-0} = another | The controller has elected the next one in the ISR, in a higher epoch.
| 1995 ms later its session expires: for all others it is dead.
| ? Who leads?
| - the old leader, it is alive: The controller sees only its session, and that is over.
| + another: The controller has elected the next one in the ISR, in a higher epoch.

moment   led
when     LeadershipTaken
say      Broker {at} leads in epoch {epoch}, the ISR is {isr}. Followers go with the higher epoch, so the old leader can move no high
         watermark.
focus    row:{at} isr
| Broker 2 leads in epoch 1, the ISR is 2 and 3. Followers go with the higher epoch, so the old leader can move no high watermark.

moment   registered
when     BrokerRegistered
say      The link is healed. Broker {broker} registers anew, under broker epoch {epoch}.
focus    broker:{broker} tree
| The link is healed. Broker 1 registers anew, under broker epoch 15.

moment   in
when     IsrChanged
say      It has caught up as a follower, and is in the ISR: {isr}.
focus    row:{registered.broker} isr
| It has caught up as a follower, and is in the ISR: 2, 3 and 1.
