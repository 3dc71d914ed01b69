title    More than there is
question What does a follower get that asks for more bytes than its leader has?

moment   written
when     BatchWritten at=1
say      Broker {at} has stored a batch. Each follower asks for at least replica.fetch.min.bytes, which is far more than that.
focus    row:{at}
ask      What do the followers get?
accept   {end.leo 3 t-0}
choice   {leo 1 t-0} = all there is, when their wait is over | replica.fetch.wait.max.ms ends the wait, whatever there is.
choice   0 = nothing before there are bytes enough | Then a topic with little traffic would never be replicated.
| Broker 1 has stored a batch. Each follower asks for at least replica.fetch.min.bytes, which is far more than that.
| ? What do the followers get?
| + all there is, when their wait is over: replica.fetch.wait.max.ms ends the wait, whatever there is.
| - nothing before there are bytes enough: Then a topic with little traffic would never be replicated.

moment   has
when     FollowerProgressed log_end=1
say      The wait is over, and the answer came with all there was. Broker {replica} has it, and asks for what lies at offset
         {log_end}.
focus    row:{replica}
| The wait is over, and the answer came with all there was. Broker 3 has it, and asks for what lies at offset 1.
