# One log on one disk, for the chapter on indexes: when an entry is written, and what for.

title    An index with few entries
question When does the broker write an index entry?

moment   none-yet
do       append 2 6 20 none
when     BatchAppended
say      {log.batches} lie in {batch.file}, and no entry in its index. A lookup would begin at the first byte
         anyway.
focus    segment:last
button   Append more

moment   entry
do       append 3 6 20 none
when     IndexEntryAdded
say      More than {log.interval} bytes had come since the file began. So the next batch got an entry:
         the batch that ends with offset {entry.offset} starts at byte {entry.position}.
focus    entry:last close-up
button   Append more

moment   counted-anew
do       append 6 6 20 none
when     IndexEntryAdded
say      After each entry the bytes are counted anew. {log.batches} by now, and {log.entries}: a pair of
         numbers each, for any count of records.
focus    segment:last
button   Fill the file

moment   next-file
do       append 10 6 20 none
when     SegmentRolled
say      The file was full, and {rolled.opened} begins with an index of its own. An entry stores its offset as
         the distance from the file's name, so the full offset fits a small number.
focus    segment:last
button   Again
