title    Sure, or asked
question What does a follower that comes back do with records of which it is not sure?

moment   died
when     BrokerCrashed
say      Broker {broker} dies. It had written what the leader sent, and had not heard that any of it is committed: its high
         watermark was a round behind.
focus    row:{broker}
| Broker 3 dies. It had written what the leader sent, and had not heard that any of it is committed: its high watermark was a round behind.

moment   opened
when     ReplicaOpened
say      It is back. On its disk the log ends at offset {log_end}, and its own high watermark is {high_watermark}.
focus    row:{at}
ask      Where will its log end when it fetches?
accept   {next.leo opened.at t-0}
choice   {log_end} = where it ends now | By leader epoch it asks first, and the leader has exactly these records.
choice   {high_watermark} = at its high watermark | By high watermark it keeps what it is sure of, and no more.
| It is back. On its disk the log ends at offset 2, and its own high watermark is 0.
| ? Where will its log end when it fetches?
| - where it ends now: By leader epoch it asks first, and the leader has exactly these records.
| + at its high watermark: By high watermark it keeps what it is sure of, and no more.

moment   fetches
when     PacketSent what=Fetch from={opened.at}
say      It fetches, and its log ends at offset {leo opened.at t-0}. The leader's ends at {leo leader:t-0 t-0}.
focus    row:{opened.at} row:{leader t-0}
| It fetches, and its log ends at offset 0. The leader's ends at 2.

moment   in
when     IsrChanged
say      It has what the leader has, {leo opened.at t-0 record}, and is back in the ISR: {isr}. Harmless, as long as the leader lives.
focus    row:{opened.at} isr
| It has what the leader has, 2 records, and is back in the ISR: 1, 2 and 3. Harmless, as long as the leader lives.
