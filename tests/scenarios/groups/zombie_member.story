title    The zombie
question What can a member still do that took too long?

moment   given
when     RecordsReturned
say      Client {at} is given {count record} and works on them for a long time. It says nothing, but its heartbeats go on.
focus    client:{at}
| Client 103 is given 3 records and works on them for a long time. It says nothing, but its heartbeats go on.

moment   late
when     PollOverdue
say      Its application has not polled for {since_ms} ms, which is max.poll.interval.ms. The client itself leaves the group.
focus    client:{at}
| Its application has not polled for 6000 ms, which is max.poll.interval.ms. The client itself leaves the group.

moment   taken
when     RecordsReturned at!={given.at}
say      Client {at} has the partition now, {since late} ms later, and is given the same {count record}.
focus    client:{at}
| Client 104 has the partition now, 26 ms later, and is given the same 3 records.

moment   done
when     RecordsProcessed client={given.at}
say      Client {client} has finished after all, and commits.
focus    client:{client}
ask      Will its commit be taken?
accept   {refused.again}
choice   false = no | It is in no generation any more, so it cannot undo what the others do.
choice   true = yes, later | No later try can help: another has the partition.
| Client 103 has finished after all, and commits.
| ? Will its commit be taken?
| + no: It is in no generation any more, so it cannot undo what the others do.
| - yes, later: No later try can help: another has the partition.

moment   refused
when     CommitFailed
say      It is refused: the client is no member any more.
focus    client:{at}
| It is refused: the client is no member any more.

moment   lost
when     PartitionsLost
say      With its next poll client {at} learns that it has lost {partitions}. {processed all} records were processed: each one came twice.
focus    client:{at}
| With its next poll client 103 learns that it has lost t-0. 6 records were processed: each one came twice.
