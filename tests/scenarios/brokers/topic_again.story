title    The same name, another topic
question A topic is deleted and created again. Does it still know its old records?

moment   marked
when     TopicDeletionStarted
say      Topic {topic} is marked for deletion: no client sees it any more, its files are still there.
focus    tree
| Topic t is marked for deletion: no client sees it any more, its files are still there.

moment   closed
when     ReplicaClosed
say      Broker {at} closes its replica and takes its files away.
focus    broker:{at}
| Broker 1 closes its replica and takes its files away.

moment   deleted
when     TopicDeleted
say      Every replica is gone. Only now the name is free.
focus    tree
ask      A topic of that name is created. Where does its log begin?
accept   {next.log_end}
choice   0 = at its very start | It has another id, and no file of the old one is left.
choice   {end.leo leader:t-0 t-0} = where the old one ended | A name alone makes no topic: each has an id of its own.
| Every replica is gone. Only now the name is free.
| ? A topic of that name is created. Where does its log begin?
| + at its very start: It has another id, and no file of the old one is left.
| - where the old one ended: A name alone makes no topic: each has an id of its own.

moment   opened
when     ReplicaOpened
say      Broker {at} opens a replica of the new topic: offsets {log_start} to {log_end}, as if there had never been another.
focus    row:{at}
| Broker 1 opens a replica of the new topic: offsets 0 to 0, as if there had never been another.
