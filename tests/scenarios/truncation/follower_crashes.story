title    Forget what is not sure
question Why did followers once cut their logs after each crash?

moment   died
when     BrokerCrashed
say      Broker {broker} dies. It had written what the leader sent, but it had not heard yet that any of it is safe: its
         high watermark was a round behind.
focus    broker:{broker}
| Broker 3 dies. It had written what the leader sent, but it had not heard yet that any of it is safe: its high watermark was a round behind.

moment   opened
when     ReplicaOpened
say      It is back. On its disk the log ends at offset {log_end}, and its own high watermark is {high_watermark}.
focus    row:{at}
ask      Truncation goes by the high watermark here. Where will its log end before it fetches?
accept   {cut.to}
choice   {opened.log_end} = where it ends now | What lies above its high watermark might differ from the leader's log, and this way
         it cannot tell.
choice   {opened.high_watermark} = at its high watermark | Below that it is sure, and of nothing else.
| It is back. On its disk the log ends at offset 2, and its own high watermark is 0.
| ? Truncation goes by the high watermark here. Where will its log end before it fetches?
| - where it ends now: What lies above its high watermark might differ from the leader's log, and this way it cannot tell.
| + at its high watermark: Below that it is sure, and of nothing else.

moment   cut
when     LogTruncated
say      It cuts its log from offset {from} to {to}, although the leader has exactly these records. It only knows what it was
         told.
focus    row:{at}
| It cuts its log from offset 2 to 0, although the leader has exactly these records. It only knows what it was told.

moment   in
when     IsrChanged isr=1,2,3
say      It fetches them again and is back in the ISR: {isr}. Harmless, as long as the leader lives.
focus    row:{opened.at} isr
| It fetches them again and is back in the ISR: 1, 2 and 3. Harmless, as long as the leader lives.
