title    Better not at all
question What does min.insync.replicas do when too few are in sync?

moment   fewer
when     LeadershipTaken isr=1,2
say      A broker is gone: the ISR is {isr}, fewer than min.insync.replicas asks for. Broker {at} leads on.
focus    isr row:{at}
ask      What does acks=all get from this leader?
accept   {end.failed safe}
choice   0 = it waits until the third is back | The answer comes at once: the leader counts the ISR before it appends.
choice   1 = an error | The leader counts the ISR before it appends, and refuses.
| A broker is gone: the ISR is 1 and 2, fewer than min.insync.replicas asks for. Broker 1 leads on.
| ? What does acks=all get from this leader?
| - it waits until the third is back: The answer comes at once: the leader counts the ISR before it appends.
| + an error: The leader counts the ISR before it appends, and refuses.

moment   refused
when     BatchRefused
say      {code}: broker {at} refuses the batch before it appends. Its log still ends at offset {leo fewer.at t-0}.
focus    row:{fewer.at} promises
| NOT_ENOUGH_REPLICAS: broker 1 refuses the batch before it appends. Its log still ends at offset 0.

moment   given_up
when     RecordsFailed
say      The producer has tried as often as it may, and gives up {count record}. It knows: not stored. No promise was made that
         a crash could break.
focus    client:{client} promises
| The producer has tried as often as it may, and gives up 1 record. It knows: not stored. No promise was made that a crash could break.
