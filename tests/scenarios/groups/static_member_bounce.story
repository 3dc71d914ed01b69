title    Gone and back
question Must a group share out anew when a member restarts?

moment   died
when     ClientKilled
say      Client {client} is killed. It was a static member: it had told the group a name of its own, group.instance.id.
focus    client:{client}
| Client 103 is killed. It was a static member: it had told the group a name of its own, group.instance.id.

moment   back
when     StaticMemberReplaced
say      {since died} ms later it is started again and joins as {instance}. The coordinator knows the name, and puts it in the place of
         its former life.
focus    row:{leader __consumer_offsets-0}
ask      Which generation is formed for it?
accept   none
choice   none = none | Its share is waiting for it, and nobody else need know.
choice   {instance} = one more | That would be so for a member without a name of its own.
| 5015 ms later it is started again and joins as second. The coordinator knows the name, and puts it in the place of its former life.
| ? Which generation is formed for it?
| + none: Its share is waiting for it, and nobody else need know.
| - one more: That would be so for a member without a name of its own.

moment   given
when     PartitionsAssigned
say      Client {at} has what the former life had: {owned}. The other member has read on all the time.
focus    client:{at}
| Client 104 has what the former life had: t-2,t-3. The other member has read on all the time.
