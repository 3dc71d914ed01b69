# One log on one disk, for the chapter on files: when a new file begins.

title    The next file
question When does the next file begin?

moment   growing
do       append 14 6 20 none
when     BatchAppended
say      The active segment has {log.bytes} of at most {log.segment_limit} bytes. Only this file grows.
focus    segment:last
button   Append more

moment   rolled
do       append 4 6 20 none
when     SegmentRolled
say      The next batch did not fit. {rolled.closed} is closed and never changes again; {rolled.opened} is named after
         the offset of its first record.
focus    segment:first segment:last
button   Fill that, too

moment   row
do       append 20 6 20 none
when     SegmentRolled
say      A log is a row of such files: {log.segments}, and {log.records} records. Names alone tell which file has
         an offset.
focus    segment:first segment:last
button   Again
