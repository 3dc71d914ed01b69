# One log on one disk, for the chapter on files: what a partition's directory holds.

title    A partition's first files
question What is in a partition's directory?

moment   first
do       append 1 6 20 none
when     BatchAppended
say      A batch of {batch.records} records came. It stands in {batch.file}, just as it came: the file is named
         after the first offset in it.
focus    batch:last close-up
button   More batches

moment   index
do       append 4 6 20 none
when     IndexEntryAdded
say      {log.batches}, one right behind the other, and an index: {entry.file} says that the batch ending with offset
         {entry.offset} starts at byte {entry.position}.
focus    entry:last close-up
button   Force it to the disk

moment   forced
do       flush
say      Solid now: forced to the disk. Until then the bytes were with the operating system, which would have
         written them in its own time.
focus    segment:last
button   Again
