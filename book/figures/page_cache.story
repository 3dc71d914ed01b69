# One log on one disk, for the first chapter: written is not forced.

title    Written, and where
question When a broker dies, what is left of its log?

moment   dashed
do       append 4 6 20 none
do       flush
do       append 4 6 20 none
when     BatchAppended
say      Solid batches have been forced to the disk. Dashed ones were written: the operating system has them in
         its page cache, and the append is done.
focus    segment:last
button   kill -9

moment   killed
do       kill
do       start
when     LogRecovered
say      The process died, the page cache did not: after the start the log ends at offset {restart.end}, as before. Nothing
         is lost.
focus    batch:last
button   Append more, cut the power

moment   power
do       append 4 6 20 none
do       power
do       start
when     LogRecovered
say      The power went, and with it what had not been forced. The log ends at offset {restart.end}. Other brokers
         have the rest: that is what replicas are for.
focus    segment:last
button   Again
