title    Eighty records
question Does the picture keep up with all that is on its way?

moment   began
when     RecordsAcknowledged
say      The first record is acknowledged.
focus    promises

moment   ended
when     RecordsAcknowledged first=80
say      The last record is acknowledged.
focus    promises
