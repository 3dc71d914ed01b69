title    Goodbye in order
question Must a partition be without a leader when a broker stops?

moment   told
when     RecordsAcknowledged
say      Broker {leader t-0} leads and is asked to stop. It asks the controller first.
focus    row:{leader t-0} controller
ask      Will it be taken out of the ISR because its session has ended, as after a crash?
accept   {led.isr}
choice   {isr t-0} = yes, and until then it is waited for | After a crash it is so; here the controller is told beforehand.
choice   {led.isr} = no, before it goes | The controller takes it out and chooses another leader while it still lives.
| Broker 1 leads and is asked to stop. It asks the controller first.
| ? Will it be taken out of the ISR because its session has ended, as after a crash?
| - yes, and until then it is waited for: After a crash it is so; here the controller is told beforehand.
| + no, before it goes: The controller takes it out and chooses another leader while it still lives.

moment   stopped
when     BrokerStopped
say      The controller has chosen another leader, and only then broker {broker} has stopped.
focus    broker:{broker} controller
| The controller has chosen another leader, and only then broker 1 has stopped.

moment   led
when     LeadershipTaken
say      Broker {at} leads in epoch {epoch}, {since stopped} ms after the other has gone: the ISR is {isr}. Nobody had to wait for a session
         to end.
focus    row:{at} isr
| Broker 2 leads in epoch 1, 1 ms after the other has gone: the ISR is 2 and 3. Nobody had to wait for a session to end.

moment   again
when     RecordsAcknowledged
say      The producer goes on with the next leader: {count record}, stored at offset {base_offset}.
focus    promises row:{leader t-0}
| The producer goes on with the next leader: 1 record, stored at offset 2.
