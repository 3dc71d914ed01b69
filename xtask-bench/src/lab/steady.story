title    Five brokers
question How long does a step take?

moment   began
when     BatchWritten
say      The first record is written.
focus    promises

moment   ended
when     RecordsAcknowledged partition=orders-5
say      All are acknowledged.
focus    promises
