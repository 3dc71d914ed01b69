# One log on one disk, for the chapter on indexes: an offset is found in three steps.

title    Found in three steps
question Where is this offset?

moment   asked
do       append 20 6 20 none
do       append 20 6 20 none
do       find 100
say      A consumer asks for offset {find.target}. The log has {log.bytes} bytes in {log.segments}, and
         {log.entries} in its indexes.
focus    segment:first segment:last
button   Which file?

moment   file
do       reveal
say      The broker has the files' names in memory, sorted. The last one that is not above {find.target} is
         {find.segment}.
focus    step:1
button   Where in it?

moment   entry
do       reveal
say      A binary search in {find.index}: {find.halvings} at {find.entries}. The greatest that is not above
         {find.target} is {find.entry}; its batch starts at byte {find.start}.
focus    step:2
button   Which batch?

moment   batch
do       reveal
say      From there on it read {find.header_count}; the last batch reaches {find.target}: the one from
         {find.base} to {find.last}. It is sent whole; the consumer skips what it did not ask for.
focus    step:3 cost
button   Again
