title    A follower fetches
question What does each replica know of the other, and since when?

moment   written
when     BatchWritten at=1 log_end=3
say      Broker {at} leads and has written a record: its LEO is {log_end}. Its high watermark stays at {hw at t-0}, for its follower's log ends
         there.
focus    row:{at}
| Broker 1 leads and has written a record: its LEO is 3. Its high watermark stays at 2, for its follower's log ends there.

moment   fetched
when     BatchWritten at!={written.at}
say      The follower, broker {at}, has fetched the record: its LEO is {log_end}, too. The leader has not heard of it.
focus    row:{at} row:{written.at}
| The follower, broker 2, has fetched the record: its LEO is 3, too. The leader has not heard of it.

moment   heard
when     FollowerProgressed
say      The follower fetches again, from offset {log_end}. That is its report: a fetch from an offset says that all below is there.
focus    link:{replica}:{at} row:{at}
| The follower fetches again, from offset 3. That is its report: a fetch from an offset says that all below is there.

moment   moved
when     HighWatermarkMoved at={written.at}
say      So the leader's high watermark moves from {from} to {to}, and the record may be read.
focus    row:{at}
ask      Which high watermark does the follower know at this moment?
accept   {hw fetched.at t-0}
choice   {to} = the same as its leader | It comes with the answer to this fetch, and the answer is not there yet.
choice   {from} = the one before | The new one comes with the answer to this fetch.
| So the leader's high watermark moves from 2 to 3, and the record may be read.
| ? Which high watermark does the follower know at this moment?
| - the same as its leader: It comes with the answer to this fetch, and the answer is not there yet.
| + the one before: The new one comes with the answer to this fetch.

moment   told
when     HighWatermarkMoved at={fetched.at}
say      The answer to this fetch tells broker {at}: its high watermark moves to {to}, {since moved} ms after its leader's. A follower is
         always a round behind.
focus    row:{at} row:{written.at}
| The answer to this fetch tells broker 2: its high watermark moves to 3, 3 ms after its leader's. A follower is always a round behind.
