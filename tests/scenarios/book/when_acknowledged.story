title    When is a record stored?
question At which moment is the producer told?

moment   sent
when     PacketSent what=Produce
say      The producer sends a record to broker {to}, the leader. Records that it counts as stored: {acknowledged p}.
focus    client:{from} broker:{to} promises
| The producer sends a record to broker 1, the leader. Records that it counts as stored: 0.

moment   written
when     BatchWritten
say      Broker {at} has written it: its log ends at offset {log_end}. Its followers have not fetched it. Counted as stored:
         {acknowledged p}.
focus    row:{at} promises
| Broker 1 has written it: its log ends at offset 1. Its followers have not fetched it. Counted as stored: 0.

moment   second
when     BatchWritten
say      Broker {at} has fetched and written it, too; one follower has not. Counted as stored: {acknowledged p}.
focus    row:{at} promises
| Broker 2 has fetched and written it, too; one follower has not. Counted as stored: 0.

moment   third
when     BatchWritten
say      Broker {at} is the last of the ISR ({isr t-0}) to write it. Counted as stored: {acknowledged p}.
focus    row:{at} isr promises
| Broker 3 is the last of the ISR (1, 2 and 3) to write it. Counted as stored: 0.

moment   everyone
when     HighWatermarkMoved
say      By the next fetches the leader knows that all have it, and moves the high watermark to {to}. With acks=all it
         answers only now.
focus    row:{at} promises
| By the next fetches the leader knows that all have it, and moves the high watermark to 1. With acks=all it answers only now.

moment   later
when     HighWatermarkMoved
say      Broker {at} hears of the high watermark one fetch later. Counted as stored: {acknowledged p}.
focus    row:{at} promises
| Broker 3 hears of the high watermark one fetch later. Counted as stored: 1.
