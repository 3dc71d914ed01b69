title    Did it happen or not?
question A controller changes something and gets no answer. What may it believe?

moment   died
when     BrokerCrashed
say      Broker {broker} dies. The controller will have to write that it is not in the ISR any more.
focus    broker:{broker} controller
| Broker 3 dies. The controller will have to write that it is not in the ISR any more.

moment   expired
when     SessionExpired
say      Its session expires. The controller writes, and the answer to its change is lost: it happened or not, and nobody knows.
focus    tree controller
ask      What does the controller do?
accept   {end.controller}
choice   {controller} = it reads what is there | Reading settles it, and nothing was decided on a guess.
choice   none = it gives up its office | A lost answer is no lost session.
| Its session expires. The controller writes, and the answer to its change is lost: it happened or not, and nobody knows.
| ? What does the controller do?
| + it reads what is there: Reading settles it, and nothing was decided on a guess.
| - it gives up its office: A lost answer is no lost session.

moment   told
when     RecordsAcknowledged
say      It has read the state, found its own change, and gone on: the ISR is {isr t-0}, and producers are served.
focus    isr promises controller
| It has read the state, found its own change, and gone on: the ISR is 1 and 2, and producers are served.
