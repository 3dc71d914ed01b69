# One log on one disk, for the chapter on indexes: a producer's clock is ahead.

title    A record from the future
question What does one producer with a wrong clock do?

moment   honest
do       append 8 6 20 none
when     TimeIndexEntryAdded
say      Timestamps rise with offsets, and so does the time index: {log.times} so far. It is {log.now}.
focus    segment:last
button   Now a wrong clock

moment   ahead
do       ahead 90000
do       append 1 6 20 none
do       ahead 0
when     BatchAppended
say      One batch comes from a producer whose clock is ahead: its records say {log.greatest}. The broker takes
         them; it is still {log.now}.
focus    batch:last
button   Go on in order

moment   stands-still
do       append 6 6 20 none
when     IndexEntryAdded
say      Batches with the right time follow. The offset index grows on, but no timestamp is greater than
         {log.greatest}: the time index stands at {log.times}.
focus    segment:last
button   Search by time

moment   found
do       time 12000
do       reveal
do       reveal
do       reveal
say      The first record, by offset, at or after {time.target} is offset {time.found}: the one that says {time.at}.
         Records of just that time lie behind it.
focus    step:3
button   Again
