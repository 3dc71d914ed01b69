//! Several consumers, one group, one real coordinator.

use super::cluster::*;
use crate::consumer::{ConsumerError, ConsumerEvent, LeaveBy, Rebalance, RebalanceListener, TopicPattern};
use crate::error::ErrorCode;
use crate::ordered::OrderedMap;
use crate::trace::ConsumerFact;

/// A topic `t` of four partitions.
fn four_partitions() -> Cluster {
    let mut cluster = Cluster::new();
    cluster.create("t", 4, &[]);
    cluster
}

fn t(indexes: &[i32]) -> crate::ordered::OrderedSet<crate::types::TopicPartition> {
    indexes.iter().map(|index| partition("t", *index)).collect()
}

#[test]
fn two_members_share_and_the_one_that_stays_gets_what_the_other_leaves() {
    let mut cluster = four_partitions();
    let first = cluster.join(&[], &["t"]);
    cluster.advance(5_000);
    assert_eq!(cluster.owners(), OrderedMap::from([(first, t(&[0, 1, 2, 3]))]));
    let second = cluster.join(&[], &["t"]);
    cluster.advance(5_000);
    let sizes: Vec<usize> = cluster.owners().values().map(|owned| owned.len()).collect();
    assert_eq!(sizes, [2, 2]);
    for index in 0..4 {
        cluster.produce("t", index, &["x"]);
    }
    cluster.advance(1_000);
    assert_eq!(cluster.member(first).records.len(), 2);
    assert_eq!(cluster.member(second).records.len(), 2);

    let left = cluster.close(first);
    assert!(matches!(left.events.last(), Some(ConsumerEvent::Closed)));
    cluster.advance(5_000);
    assert_eq!(cluster.owners(), OrderedMap::from([(second, t(&[0, 1, 2, 3]))]));
    assert_eq!(
        cluster.member(second).records.len(),
        2,
        "what the other had read was committed when it closed"
    );
}

#[test]
fn a_dead_member_is_out_when_its_session_is_over() {
    let mut cluster = four_partitions();
    let first = cluster.join(&[("session.timeout.ms", "10000")], &["t"]);
    let second = cluster.join(&[("session.timeout.ms", "10000")], &["t"]);
    cluster.advance(5_000);
    assert_eq!(cluster.owners()[&second].len(), 2);
    cluster.kill(first);
    cluster.advance(6_000);
    assert_eq!(cluster.owners()[&second].len(), 2, "nobody knows yet");
    cluster.advance(8_000);
    assert_eq!(cluster.owners(), OrderedMap::from([(second, t(&[0, 1, 2, 3]))]));
}

#[test]
fn a_static_member_that_comes_back_in_time_disturbs_nobody() {
    let mut cluster = four_partitions();
    let first = cluster.join(&[("group.instance.id", "one")], &["t"]);
    let second = cluster.join(&[("group.instance.id", "two")], &["t"]);
    cluster.advance(5_000);
    let before = cluster.owners();
    let generation = cluster.member(second).consumer.membership().1;
    cluster.member_mut(second).rebalances();

    let bounced = cluster.close(first);
    assert!(
        !bounced
            .facts
            .iter()
            .any(|fact| matches!(fact, ConsumerFact::LeaveSent { .. })),
        "a static member does not leave"
    );
    cluster.advance(5_000);
    let back = cluster.join(&[("group.instance.id", "one")], &["t"]);
    cluster.advance(5_000);
    assert_eq!(cluster.owners()[&back], before[&first]);
    assert_eq!(cluster.owners()[&second], before[&second]);
    assert_eq!(cluster.member(second).consumer.membership().1, generation);
    assert_eq!(cluster.member_mut(second).rebalances(), []);
}

#[test]
fn a_static_member_may_leave_for_good() {
    let mut cluster = four_partitions();
    let first = cluster.join(&[("group.instance.id", "one")], &["t"]);
    let second = cluster.join(&[("group.instance.id", "two")], &["t"]);
    cluster.advance(5_000);
    cluster.call(first, |consumer, cx| consumer.close(cx, 30_000, LeaveBy::Leaving));
    cluster.advance(5_000);
    assert!(cluster.member(first).consumer.is_closed());
    assert_eq!(cluster.owners()[&second], t(&[0, 1, 2, 3]));
}

#[test]
fn two_consumers_of_one_instance_id_fence_each_other() {
    let mut cluster = four_partitions();
    let first = cluster.join(&[("group.instance.id", "one")], &["t"]);
    cluster.advance(5_000);
    let second = cluster.join(&[("group.instance.id", "one")], &["t"]);
    cluster.advance(5_000);
    assert!(cluster.member(first).errors().iter().any(|error| {
        matches!(
            error,
            ConsumerError::Group {
                code: ErrorCode::FencedInstanceId,
                ..
            }
        )
    }));
    assert_eq!(cluster.member(second).consumer.assignment(), t(&[0, 1, 2, 3]));
}

#[test]
fn nothing_is_given_up_before_the_application_confirmed() {
    let mut cluster = four_partitions();
    let first = cluster.join(&[], &["t"]);
    cluster.advance(5_000);
    cluster.produce("t", 0, &["a", "b"]);
    cluster.advance(1_000);
    cluster.member_mut(first).confirms = false;
    cluster.member_mut(first).rebalances();
    let second = cluster.join(&[], &["t"]);
    cluster.advance(5_000);
    let told = cluster.member_mut(first).rebalances();
    assert_eq!(told, [Rebalance::Revoked(t(&[0, 1, 2, 3]))]);
    assert_eq!(cluster.member(first).consumer.assignment(), t(&[0, 1, 2, 3]));
    assert!(cluster.member(second).consumer.assignment().is_empty());
    // The last thing that can be done with them.
    cluster.call(first, |consumer, cx| consumer.commit_sync(cx, None).unwrap());
    cluster.advance(10);
    assert!(cluster.member(first).events.iter().any(|event| {
        matches!(event, ConsumerEvent::Committed { result: Ok(()), offsets, .. }
            if offsets[&partition("t", 0)].offset == 2)
    }));
    cluster.member_mut(first).confirms = true;
    cluster.call(first, |consumer, cx| consumer.confirm_rebalance(cx));
    cluster.advance(5_000);
    let sizes: Vec<usize> = cluster.owners().values().map(|owned| owned.len()).collect();
    assert_eq!(sizes, [2, 2]);
}

#[test]
fn without_a_listener_partitions_just_change() {
    let mut cluster = four_partitions();
    let mut ids = Vec::new();
    for _ in 0..2 {
        let id = cluster.consumer(&[("group.id", "g")]);
        cluster.member_mut(id).confirms = false;
        cluster.call(id, |consumer, cx| {
            let listener = RebalanceListener::Absent;
            consumer.subscribe(cx, names(&["t"]), listener).unwrap();
        });
        ids.push(id);
        cluster.advance(5_000);
    }
    assert_eq!(cluster.owners()[&ids[0]].len(), 2);
    assert_eq!(cluster.owners()[&ids[1]].len(), 2);
}

#[test]
fn who_does_not_poll_for_too_long_leaves_and_joins_again_when_it_polls() {
    let mut cluster = four_partitions();
    let slow = cluster.join(&[("max.poll.interval.ms", "20000")], &["t"]);
    let other = cluster.join(&[("max.poll.interval.ms", "20000")], &["t"]);
    cluster.advance(5_000);
    cluster.member_mut(slow).polls = false;
    for index in 0..4 {
        cluster.produce("t", index, &["x"]);
    }
    // It works on what it was given.
    let given = cluster.call(slow, |consumer, cx| consumer.poll(cx));
    assert!(!given.is_empty());
    cluster.advance(15_000);
    assert_eq!(cluster.owners()[&other].len(), 2, "it is still a member");
    cluster.advance(15_000);
    assert_eq!(cluster.member(other).consumer.assignment(), t(&[0, 1, 2, 3]));
    assert!(
        cluster
            .member(slow)
            .facts
            .iter()
            .any(|fact| matches!(fact, ConsumerFact::PollOverdue { .. }))
    );
    // Its last work is not committed any more.
    cluster.call(slow, |consumer, cx| consumer.commit_sync(cx, None).unwrap());
    assert!(cluster.member(slow).events.iter().any(|event| {
        matches!(
            event,
            ConsumerEvent::Committed {
                result: Err(ConsumerError::CommitFailed),
                ..
            }
        )
    }));
    cluster.member_mut(slow).rebalances();
    cluster.member_mut(slow).polls = true;
    cluster.call(slow, |consumer, cx| _ = consumer.poll(cx));
    cluster.advance(10_000);
    let told = cluster.member_mut(slow).rebalances();
    assert!(matches!(told[0], Rebalance::Lost(_)), "{told:?}");
    let sizes: Vec<usize> = cluster.owners().values().map(|owned| owned.len()).collect();
    assert_eq!(sizes, [2, 2]);
}

#[test]
fn who_always_finds_an_event_joins_again_all_the_same() {
    let mut cluster = four_partitions();
    let busy = cluster.join(&[("max.poll.interval.ms", "20000")], &["t"]);
    cluster.advance(5_000);
    cluster.member_mut(busy).polls = false;
    cluster.produce("t", 0, &["x"]);
    let given = cluster.call(busy, |consumer, cx| consumer.poll(cx));
    assert_eq!(given.len(), 1);
    cluster.advance(30_000);
    let mut facts = cluster.member(busy).facts.iter();
    assert!(facts.any(|fact| matches!(fact, ConsumerFact::PollOverdue { .. })));
    cluster.member_mut(busy).rebalances();
    // A commit at each event, and each is refused at once, which is the next event.
    cluster.call(busy, |consumer, cx| {
        consumer.commit_async(cx, None).unwrap();
        let event = consumer.next_event();
        assert!(matches!(
            event,
            Some(ConsumerEvent::Committed { result: Err(_), .. })
        ));
        consumer.keep_polling(cx);
        consumer.commit_async(cx, None).unwrap();
    });
    cluster.advance(5_000);
    let told = cluster.member_mut(busy).rebalances();
    assert!(
        matches!(&told[..], [Rebalance::Lost(_), Rebalance::Assigned(_)]),
        "{told:?}"
    );
    assert_eq!(cluster.owners(), OrderedMap::from([(busy, t(&[0, 1, 2, 3]))]));
}

#[test]
fn commit_before_processing_loses_and_after_it_repeats() {
    for (commits_first, after_the_crash) in [(true, vec![]), (false, vec!["a", "b"])] {
        let mut cluster = Cluster::new();
        cluster.create("t", 1, &[]);
        cluster.produce("t", 0, &["a", "b"]);
        let settings = [("enable.auto.commit", "false"), ("session.timeout.ms", "10000")];
        let first = cluster.join(&settings, &["t"]);
        cluster.advance(5_000);
        assert_eq!(cluster.member(first).values(), ["a", "b"]);
        if commits_first {
            cluster.call(first, |consumer, cx| consumer.commit_sync(cx, None).unwrap());
            cluster.advance(10);
        }
        // It dies before it has done anything with them.
        cluster.kill(first);
        let second = cluster.join(&settings, &["t"]);
        cluster.advance(30_000);
        assert_eq!(cluster.member(second).values(), after_the_crash);
    }
}

#[test]
fn positions_are_committed_by_themselves_and_only_what_was_returned() {
    let mut cluster = Cluster::new();
    cluster.create("t", 1, &[]);
    cluster.produce("t", 0, &["a", "b", "c"]);
    let id = cluster.join(
        &[("max.poll.records", "2"), ("session.timeout.ms", "10000")],
        &["t"],
    );
    cluster.member_mut(id).polls = false;
    cluster.call(id, |consumer, cx| _ = consumer.poll(cx));
    cluster.advance(5_000);
    let given = cluster.call(id, |consumer, cx| consumer.poll(cx));
    assert_eq!(given.len(), 2);
    cluster.advance(20_000);
    let committed = |cluster: &mut Cluster| {
        let asked = partitions(&[("t", 0)]);
        cluster.call(id, |consumer, cx| consumer.committed(cx, asked).unwrap());
        match cluster.member_mut(id).events.pop() {
            Some(ConsumerEvent::CommittedOffsets { result, .. }) => {
                let found = result.unwrap();
                found[&partition("t", 0)]
                    .as_ref()
                    .map(|committed| committed.offset)
            }
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(committed(&mut cluster), None, "it has not polled since");
    let given = cluster.call(id, |consumer, cx| consumer.poll(cx));
    assert_eq!(given.len(), 1);
    cluster.advance(100);
    assert_eq!(committed(&mut cluster), Some(2));
}

#[test]
fn commits_end_in_the_order_in_which_they_were_asked_for() {
    let mut cluster = Cluster::new();
    cluster.create("t", 1, &[]);
    let id = cluster.consumer(&[("group.id", "g"), ("enable.auto.commit", "false")]);
    let ids = cluster.call(id, |consumer, cx| {
        consumer.assign(cx, partitions(&[("t", 0)])).unwrap();
        let offset = |offset: i64| Some(OrderedMap::from([(partition("t", 0), offset.into())]));
        let mut ids = Vec::new();
        for at in 1..4 {
            ids.push(consumer.commit_async(cx, offset(at)).unwrap());
        }
        ids.push(consumer.commit_sync(cx, offset(9)).unwrap());
        ids.push(consumer.commit_async(cx, Some(OrderedMap::new())).unwrap());
        ids
    });
    cluster.advance(2_000);
    let ended: Vec<u64> = cluster
        .member(id)
        .events
        .iter()
        .filter_map(|event| match event {
            ConsumerEvent::Committed { id, result, .. } => {
                assert_eq!(*result, Ok(()));
                Some(*id)
            }
            _ => None,
        })
        .collect();
    assert_eq!(ended, ids);
}

#[test]
fn a_group_goes_on_after_its_coordinator_died() {
    let mut cluster = four_partitions();
    let first = cluster.join(&[], &["t"]);
    let second = cluster.join(&[], &["t"]);
    cluster.advance(5_000);
    let before = cluster.owners();
    let generation = cluster.member(first).consumer.membership().1;
    cluster.restart_broker();
    for index in 0..4 {
        cluster.produce("t", index, &["x"]);
    }
    cluster.advance(20_000);
    assert_eq!(cluster.owners(), before);
    assert_eq!(
        cluster.member(first).consumer.membership().1,
        generation,
        "nobody joined again"
    );
    let read = cluster.member(first).records.len() + cluster.member(second).records.len();
    assert_eq!(read, 4);
}

#[test]
fn a_pattern_takes_new_topics_in() {
    let mut cluster = Cluster::new();
    cluster.create("pay-1", 1, &[]);
    cluster.create("other", 1, &[]);
    let id = cluster.consumer(&[("group.id", "g"), ("metadata.max.age.ms", "2000")]);
    cluster.call(id, |consumer, cx| {
        let pattern = TopicPattern::new("pay-.*").unwrap();
        consumer
            .subscribe_pattern(cx, pattern, RebalanceListener::Present)
            .unwrap();
    });
    cluster.advance(5_000);
    assert_eq!(
        cluster.member(id).consumer.assignment(),
        partitions(&[("pay-1", 0)])
    );
    cluster.create("pay-2", 2, &[]);
    cluster.advance(10_000);
    assert_eq!(
        cluster.member(id).consumer.assignment(),
        partitions(&[("pay-1", 0), ("pay-2", 0), ("pay-2", 1)])
    );
}

#[test]
fn a_leader_sees_that_a_topic_of_the_group_changed() {
    let mut cluster = Cluster::new();
    cluster.create("t", 1, &[]);
    let settings = [
        ("metadata.max.age.ms", "2000"),
        ("allow.auto.create.topics", "false"),
    ];
    let first = cluster.join(&settings, &["t"]);
    let second = cluster.join(&settings, &["u"]);
    cluster.advance(5_000);
    assert!(cluster.owners()[&second].is_empty());
    cluster.create("u", 2, &[]);
    cluster.advance(15_000);
    assert_eq!(cluster.owners()[&first], t(&[0]));
    assert_eq!(cluster.owners()[&second], partitions(&[("u", 0), ("u", 1)]));
}

#[test]
fn an_unsubscribed_consumer_may_subscribe_to_something_else() {
    let mut cluster = four_partitions();
    cluster.create("u", 1, &[]);
    let id = cluster.join(&[], &["t"]);
    cluster.advance(5_000);
    cluster.member_mut(id).polls = false;
    cluster.call(id, |consumer, cx| consumer.unsubscribe(cx).unwrap());
    cluster.advance(100);
    assert!(cluster.member(id).consumer.assignment().is_empty());
    let listener = RebalanceListener::Present;
    cluster.call(id, |consumer, cx| {
        consumer.subscribe(cx, names(&["u"]), listener).unwrap();
    });
    cluster.member_mut(id).polls = true;
    cluster.call(id, |consumer, cx| _ = consumer.poll(cx));
    cluster.advance(5_000);
    assert_eq!(cluster.member(id).consumer.assignment(), partitions(&[("u", 0)]));
}

#[test]
fn members_without_a_common_assignor_are_told() {
    let mut cluster = four_partitions();
    cluster.join(&[], &["t"]);
    cluster.advance(5_000);
    let other = cluster.join(&[("partition.assignment.strategy", "roundrobin")], &["t"]);
    cluster.advance(5_000);
    let errors = cluster.member(other).errors();
    assert!(matches!(
        &errors[0],
        ConsumerError::Group {
            code: ErrorCode::InconsistentGroupProtocol,
            ..
        }
    ));
    assert!(!errors[0].to_string().contains('\n'));
}
