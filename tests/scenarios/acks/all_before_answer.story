title    Everyone has it, nobody says so
question With acks=all, what if only the answer is lost?

moment   everyone
when     HighWatermarkMoved
say      The whole ISR ({isr t-0}) has the record, the high watermark moves to offset {to}, and broker {at} answers.
focus    row:{at} isr
| The whole ISR (1, 2 and 3) has the record, the high watermark moves to offset 1, and broker 1 answers.

moment   died
when     BrokerCrashed
say      The answer is lost, and broker {broker} dies. The record is safe, but its producer cannot know.
focus    broker:{broker} promises
ask      How often will the record be in the log?
accept   {end.leo leader:t-0 t-0}
choice   1 = once | The next leader cannot see that the second try is one: a plain producer gives it nothing to go by.
choice   2 = twice | The next leader has it already, and stores the second try too.
| The answer is lost, and broker 1 dies. The record is safe, but its producer cannot know.
| ? How often will the record be in the log?
| - once: The next leader cannot see that the second try is one: a plain producer gives it nothing to go by.
| + twice: The next leader has it already, and stores the second try too.

moment   led
when     LeadershipTaken
say      Broker {at} leads from offset {start_offset}: it has the record, as every member of the ISR has.
focus    row:{at}
| Broker 2 leads from offset 1: it has the record, as every member of the ISR has.

moment   told
when     RecordsAcknowledged
say      The second try is stored at offset {base_offset}. acks=all loses nothing that it promised; that nothing comes twice
         it does not promise.
focus    row:{leader t-0} promises
| The second try is stored at offset 1. acks=all loses nothing that it promised; that nothing comes twice it does not promise.
