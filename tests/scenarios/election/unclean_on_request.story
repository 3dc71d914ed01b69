title    By your own word
question Nobody in the ISR is left. What can an operator do?

moment   told
when     RecordsAcknowledged
say      Broker {leader t-0} is alone in the ISR ({isr t-0}), since the other is cut off, and acknowledges {count record}.
focus    row:{leader t-0} isr promises
| Broker 1 is alone in the ISR (1), since the other is cut off, and acknowledges 2 records.

moment   died
when     BrokerCrashed
say      It dies. The other is back, but may not lead: it is not in the ISR.
focus    broker:{broker} isr
| It dies. The other is back, but may not lead: it is not in the ISR.

moment   led
when     LeadershipTaken
say      An operator asks for an unclean election, and broker {at} leads from offset {start_offset}. That the records are lost is
         known, and wanted.
focus    row:{at} promises
| An operator asks for an unclean election, and broker 2 leads from offset 0. That the records are lost is known, and wanted.

moment   lost
when     LogTruncated
say      Broker {at} is back, and its log is cut from offset {from} to {to}.
focus    row:{at} promises
| Broker 1 is back, and its log is cut from offset 2 to 0.
