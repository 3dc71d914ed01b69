# The first scene: one log on one disk. What it knows to do is in actions.rs, its fields in fields.rs.

title    A log grows, a lookup finds
question How is one record found among millions, without a hash table?

moment   first-batch
do       append 1 6 20 none
when     BatchAppended
say      A producer sent {batch.records} records in one batch. The broker writes it, as it came, at the
         end of {batch.file}: the file is named after the first offset in it.
focus    batch:last close-up
button   Append more

moment   index-entry
do       append 5 6 20 none
when     IndexEntryAdded
say      Each batch lies right behind the last. After more than {log.interval} bytes the broker notes one line
         in {entry.file}: the batch that ends with offset {entry.offset} starts at byte {entry.position}.
focus    entry:last close-up
button   Fill the file

moment   roll
do       append 12 6 20 none
when     SegmentRolled
say      The next batch would have taken the file past {log.segment_limit} bytes. So that segment is closed
         for good, and a new one begins: {rolled.opened}, named after offset {rolled.offset}.
focus    segment:last
button   Let it grow

moment   sparse
do       append 20 6 20 none
when     BatchWritten
say      {log.records} records lie in {log.segments}. The indexes are sparse: they hold {log.entries} for
         {log.batches}, and no single record.
focus    segment:first segment:last
button   Find a record

moment   question
do       find 163
say      A consumer asks for offset {find.target}. Names of files, then a sparse index, then the batches
         themselves must lead to it.
focus    find
button   Show me
ask      How many batch headers must the broker read in the log for offset {find.target}?
accept   {next.find.headers}
choice   {find.batches} | That would be the whole segment: the index gives a place to start, near the target.
choice   {find.headers} | The walk is as long as the way from the index entry to the batch.
choice   {find.batches_before} | So it would be from the segment's first byte; the index entry at offset
         {find.entry} skips most of that.
choice   none | The index is sparse: its entry need not be of the batch with offset {find.target}, so at least one
         header tells.

moment   which-segment
do       reveal
say      First the names: the last file whose number is not above {find.target} must have it. That is
         {find.segment}; no byte of any file has been read yet.
focus    step:1
button   Look into its index

moment   which-entry
do       reveal
say      Then {find.index}: halving its {find.entries} takes {find.halvings}. The greatest not above
         {find.target} is {find.entry}, so the search starts at byte {find.start}.
focus    step:2
button   Walk from there

moment   which-batch
do       reveal
say      From there on {find.header_count} were read; the last batch, {find.base} to {find.last}, reaches {find.target}.
         All steps needed {find.bytes} bytes, not the {log.bytes} of the log.
focus    step:3 cost
button   And by time?

moment   by-time
do       time 28015
do       reveal
do       reveal
do       reveal
say      By time there is one search more: the time index says that nothing up to offset {time.from} is later than
         {time.entry}. From there the first record at or after {time.target} is offset {time.found}.
focus    step:2
button   Now cut the power

moment   power
do       flush
do       append 3 6 20 none
do       tear
when     BatchWritten
say      The power went during a write. All below offset {disk.recovery_point} had been forced to the disk;
         behind that the disk took what it could. Lost or torn: {disk.lost}; of one, {disk.torn_bytes} bytes are left.
focus    torn lost
button   Start again
ask      At which offset will the log end after the start?
accept   {next.restart.end}
choice   {disk.old_end} | The records up to there were never forced to the disk, and the disk no longer has them.
choice   {disk.recovery_point} | Only that much was sure, yet what lies behind is read and checked, and kept as far as it
         is sound.
choice   {disk.whole_end} | The last whole batch ends there.

moment   recovered
do       start
when     LogRecovered
say      Recovery read {restart.checked} bytes, the segments that reach past the recovery point, and cut {restart.cut}
         bytes ({restart.why}). The log ends at offset {restart.end}, after its last whole batch.
focus    lost batch:last
button   Now stop it cleanly

moment   clean
do       stop
do       start
when     LogRecovered
say      After a clean stop nothing is in doubt: the mark it left let this start check {restart.checked} bytes of
         batches. Files, indexes and end are as they were.
focus    segment:last
button   Your turn
