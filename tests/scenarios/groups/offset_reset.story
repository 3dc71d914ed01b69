title    Where to begin
question Where does a group begin that has committed nothing?

moment   first
when     PositionSet
say      With auto.offset.reset=earliest client {at} begins at the start of the log: offset {offset}.
focus    client:{at}
| With auto.offset.reset=earliest client 103 begins at the start of the log: offset 0.

moment   last
when     PositionSet
say      With latest client {at} begins at the end, offset {offset}, and is given nothing of what is there.
focus    client:{at}
| With latest client 104 begins at the end, offset 5, and is given nothing of what is there.

moment   young
when     PositionSet
say      With a duration client {at} begins at offset {offset}: the first record that is young enough.
focus    client:{at}
| With a duration client 105 begins at offset 3: the first record that is young enough.

moment   none
when     Failed
say      With none client {at} is told that there is nowhere to begin, and its application has to say where.
focus    client:{at}
ask      The first group has committed what it read. Where will its next member begin, again with earliest?
accept   {again.offset}
choice   {first.offset} = at the start | The setting counts only while nothing is committed.
choice   {last.offset} = where the group had come to | What is committed goes before the setting.
| With none client 106 is told that there is nowhere to begin, and its application has to say where.
| ? The first group has committed what it read. Where will its next member begin, again with earliest?
| - at the start: The setting counts only while nothing is committed.
| + where the group had come to: What is committed goes before the setting.

moment   again
when     PositionSet why=Committed
say      Client {at} goes on where its group had come to: offset {offset}.
focus    client:{at}
| Client 107 goes on where its group had come to: offset 5.
