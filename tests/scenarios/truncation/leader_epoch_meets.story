title    The same faults, and the logs meet
question How does a follower find out that its record is not the leader's?

moment   died
when     BrokerCrashed
say      Broker {broker}, the leader, dies. What it wrote is kept by its machine.
focus    broker:{broker}
| Broker 2, the leader, dies. What it wrote is kept by its machine.

moment   power
when     BrokerCrashed power_lost=true
say      The next leader, broker {broker}, loses its power, and with it a record that was never forced to disk.
focus    broker:{broker}
| The next leader, broker 3, loses its power, and with it a record that was never forced to disk.

moment   new
when     RecordsAcknowledged
say      It is back, leads, and gives the free offset {base_offset} to a new record.
focus    row:{leader t-0} promises
| It is back, leads, and gives the free offset 1 to a new record.

moment   diverge
when     LogsDiverge
say      Broker {follower} is back too. In its fetch it names its last epoch, {last_fetched_epoch}. The leader answers: epoch {epoch}
         ends at offset {end_offset} here.
focus    row:{follower} row:{at}
ask      Where will the log of broker {follower} end before it fetches?
accept   {cut.to}
choice   {diverge.fetch_offset} = where it ends now | Its last record is of an epoch that ends earlier with the leader.
choice   {diverge.end_offset} = where the leader's epoch ends | Up to there both have the same records.
| Broker 2 is back too. In its fetch it names its last epoch, 0. The leader answers: epoch 0 ends at offset 1 here.
| ? Where will the log of broker 2 end before it fetches?
| - where it ends now: Its last record is of an epoch that ends earlier with the leader.
| + where the leader's epoch ends: Up to there both have the same records.

moment   cut
when     LogTruncated
say      Broker {at} cuts its log from offset {from} to {to}, and takes the leader's record in its place.
focus    row:{at} row:{diverge.at}
| Broker 2 cuts its log from offset 2 to 1, and takes the leader's record in its place.
