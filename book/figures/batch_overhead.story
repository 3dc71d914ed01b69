# One log on one disk, for the chapter on batches: what a record costs.

title    A header for all
question What does a batch cost, and what a record in it?

moment   one
do       append 1 1 20 none
when     BatchAppended
say      A batch with {batch.records} record: {batch.bytes} bytes. Most of it is the header, which knows offset, epoch, times and
         checksum of the whole batch.
focus    batch:last close-up
button   More records in one batch

moment   some
do       append 1 6 20 none
when     BatchAppended
say      {batch.records} records in one batch: {batch.bytes} bytes. The header is as long as before. A record says only how it
         differs: offset and time are distances.
focus    batch:last close-up
button   Many records

moment   many
do       append 1 20 20 none
when     BatchAppended
say      {batch.records} records: {batch.bytes} bytes. What the header costs each of them is next to nothing.
focus    batch:last close-up
button   Again
