# One log on one disk, for the chapter on retention: a record from the future.

title    One wrong clock
question Why does an old file not go away?

moment   mixed
do       append 8 6 20 none
do       ahead 90000
do       append 1 6 20 none
do       ahead 0
do       append 20 6 20 none
when     SegmentRolled
say      All is as usual, but for one batch: its producer's clock was ahead, and its records say {log.greatest}. It is {log.now}.
focus    segment:first
button   Later

moment   stays
do       wait 60000
do       keep-ms 25000
say      It is {log.now}, and retention.ms is {log.keep_ms}. The first file has a record of {log.greatest}, so it stays, and
         all behind it, however old.
focus    segment:first
button   Much later

moment   goes
do       wait 60000
do       keep-ms 25000
when     SegmentDeleted
say      It is {log.now}. At last that record is too old, too, and everything goes at once: {deleted.segments}.
focus    segment:last
button   Again
