# One log on one disk, for the first chapter: what an append does.

title    At the end, always
question Where does the next record go?

moment   first
do       append 1 6 20 none
when     BatchAppended
say      A batch of {batch.records} records is written at byte {batch.position} of {batch.file}. They get the offsets
         {batch.base} to {batch.last}.
focus    batch:last
button   Append

moment   second
do       append 1 6 20 none
when     BatchAppended
say      The next one goes right behind it, at byte {batch.position}. Nothing was searched, and nothing that was there before
         is touched.
focus    batch:last
button   Append a lot

moment   many
do       append 10 6 20 none
when     BatchAppended
say      {log.records} records by now. The last batch went to byte {batch.position}, and cost what the first one cost.
focus    batch:last
button   Again
