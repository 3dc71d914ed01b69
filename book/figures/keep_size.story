# One log on one disk, for the chapter on retention: by size.

title    Too much
question How large may a log be?

moment   full
do       append 20 6 20 none
do       append 20 6 20 none
when     SegmentRolled
say      {log.segments}, {log.bytes} bytes in all.
focus    segment:first segment:last
button   Keep less

moment   checked
do       keep-bytes 5000
when     SegmentDeleted
say      With retention.bytes at {log.keep_bytes} the oldest went: {deleted.segments}. {log.bytes} bytes are left, more than the
         limit: without one more file it would be less.
focus    segment:first segment:last
button   Append on

moment   growing
do       append 10 6 20 none
do       keep-bytes 5000
say      {log.bytes} bytes now. A file goes only when what is left still reaches the limit, so a log may be larger
         by nearly one segment, and by what comes until the next check.
focus    segment:first
button   Again
