# One log on one disk, for the chapter on indexes: a time becomes an offset.

title    From a time to an offset
question Which record is the first of that time or later?

moment   asked
do       append 20 6 20 none
do       append 20 6 20 none
do       time 24030
say      Somebody asks for the first record at or after {time.target}. The time index of each segment has pairs: the greatest
         timestamp so far, and the offset that carries it.
focus    segment:first segment:last
button   Which file?

moment   file
do       reveal
say      The first segment whose greatest timestamp reaches {time.target} is {find.segment}. All before it
         end too early.
focus    step:1
button   Where in it?

moment   entries
do       reveal
say      Its time index: nothing up to offset {time.from} is later than {time.entry}. Its offset index tells
         where that offset's batch lies: byte {find.start}, or a little before it.
focus    step:2
button   Which record?

moment   record
do       reveal
say      From there it reads on to the first record whose own timestamp is {time.target} or later: offset
         {time.found}, of {time.at}.
focus    step:3 cost
button   Again
