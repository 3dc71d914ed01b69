# One log on one disk, for the chapter on retention: by time.

title    Old files go
question When is an old record deleted?

moment   full
do       append 20 6 20 none
do       append 20 6 20 none
when     SegmentRolled
say      {log.segments}, from offset {log.start} to {log.end}. It is {log.now}, and nothing is old yet.
focus    segment:first segment:last
button   Let time pass

moment   checked
do       wait 5000
do       keep-ms 25000
when     SegmentDeleted
say      It is {log.now}, and retention.ms is {log.keep_ms}. Files whose greatest timestamp is older go whole: {deleted.segments}.
         The log starts at offset {log.start}.
focus    segment:first
button   Let more time pass

moment   not-yet
do       wait 1000
do       keep-ms 25000
say      A moment later some records of {log.first} are too old as well. They stay: the file's newest record is
         not, and files are all that retention deletes.
focus    segment:first
button   Much later

moment   all
do       wait 60000
do       keep-ms 25000
when     SegmentDeleted
say      Even the active segment may grow too old: then it is closed first, and goes. The log is empty, and still
         begins and ends at offset {log.end}: no offset comes twice.
focus    segment:last
button   Again
