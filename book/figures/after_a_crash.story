# One log on one disk, for the chapter on files: what a start must check.

title    After a crash
question Which files are in doubt after a crash?

moment   in-doubt
do       append 20 6 20 none
when     SegmentRolled
say      The closed segment was forced to the disk when the next one began. So the recovery point is offset
         {disk.recovery_point}; all behind it is in doubt until it is forced, too.
focus    segment:first segment:last
button   Cut the power during a write

moment   torn
do       tear
say      The disk took some of what was in doubt: {disk.lost} lost or torn, and of one only {disk.torn_bytes} bytes are there.
focus    torn lost
button   Start again

moment   recovered
do       start
when     LogRecovered
say      The broker read {restart.checked} bytes, from the recovery point on, and checked each batch. It cut
         {restart.cut} bytes: the log ends at offset {restart.end}.
focus    batch:last
button   Stop it in order

moment   clean
do       stop
do       start
when     LogRecovered
say      In an orderly stop everything is forced to the disk, and a file says so. The next start checked
         {restart.checked} bytes.
focus    segment:last
button   Again
