title    A full buffer
question What does a producer do with more records than it can keep?

moment   cut
when     LinkCut
say      The way from client {from} to broker {to}, the leader, is cut.
focus    link:{from}:{to}
| The way from client 102 to broker 1, the leader, is cut.

moment   blocked
when     RecordBlocked
say      The records that wait take up all memory. Record {record} finds none: {why}. The application waits in send.
focus    client:{at}
| The records that wait take up all memory. Record 4 finds none: buffer.memory is used up. The application waits in send.

moment   failed
when     RecordFailed
say      After {since blocked} ms, max.block.ms, the record fails: {why}
focus    client:{at}
| After 2000 ms, max.block.ms, the record fails: Failed to allocate 200 bytes within the configured max blocking time 2000 ms. Total memory: 600 bytes. Available memory: 0 bytes. Poolable size: 200 bytes

moment   healed
when     LinkHealed
say      The link works again. Of what was in memory nothing is lost; what never found room was told to the application as
         failed.
focus    link:{cut.from}:{cut.to}
| The link works again. Of what was in memory nothing is lost; what never found room was told to the application as failed.

moment   stored
when     RecordsAcknowledged
say      Now {acknowledged p} records are acknowledged, and {failed p} failed. Each acknowledgement frees memory for the next.
focus    client:{client}
| Now 2 records are acknowledged, and 1 failed. Each acknowledgement frees memory for the next.
