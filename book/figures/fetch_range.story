# One log on one disk, for the chapter on how bytes move: a fetch becomes a range of a file.

title    A range of a file
question Which bytes does a fetch need?

moment   asked
do       append 12 6 20 none
do       find 20
say      A consumer asks for offset {find.target}, and for all that follows. {log.batches} lie in the file as
         their producer made them.
focus    segment:last
button   Where does it begin?

moment   located
do       reveal
do       reveal
do       reveal
say      {find.header_count} were read to find the batch. What is sent begins with it, offset {find.base}, and ends with the file or the
         size asked for. The broker looks at none of these records.
focus    step:3 cost
button   Again
