# One log on one disk, for the chapter on batches: compression.

title    Packed by the producer
question What does compression leave of a batch?

moment   plain
do       append 1 20 80 none
when     BatchAppended
say      {batch.records} records as they are: {batch.bytes} bytes. Keys and values can be read in the file.
focus    batch:last close-up
button   The same, packed

moment   packed
do       append 1 20 80 lz4
when     BatchAppended
say      As many more, packed by their producer: {batch.bytes} bytes. The header is not packed: so the broker can give
         offsets without unpacking anything.
focus    batch:last close-up
button   One record, packed

moment   alone
do       append 1 1 20 lz4
when     BatchAppended
say      {batch.records} record, packed alone: {batch.bytes} bytes. Packing finds what repeats, and in a single record little does.
focus    batch:last close-up
button   Again
