//! What assignors promise of any group: owners, balance and stickiness, as Java's own tests of its
//! assignors state them, for groups drawn by chance.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

/// Rounds after which a group that changes no more must have come to rest: one in which partitions are
/// given up, and one in which they are given.
const ROUNDS: usize = 2;

/// Topics with their partitions, and members with what they subscribe to.
type Group = (TopicsForAssignment, Members);

const SHARED_OUT_EVENLY: [&dyn Assignor; 3] =
    [&RoundRobinAssignor, &StickyAssignor, &CooperativeStickyAssignor];
const STICKY: [&dyn Assignor; 2] = [&StickyAssignor, &CooperativeStickyAssignor];

fn topic(number: usize) -> Arc<str> {
    format!("t{number}").into()
}

fn group(partitions: &[usize], subscriptions: &[u8]) -> Group {
    let topics = partitions.iter().enumerate();
    let topics = topics.map(|(number, &count)| (topic(number), vec![Racks::new(); count]));
    let members = subscriptions.iter().enumerate().map(|(number, chosen)| {
        let names = (0..partitions.len()).filter(|at| chosen & (1 << at) != 0);
        let subscription = Subscription {
            topics: names.map(topic).collect(),
            ..Subscription::default()
        };
        let member = MemberSubscription {
            instance_id: None,
            subscription,
        };
        (format!("m{number}").into(), member)
    });
    (topics.collect(), members.collect())
}

/// Members that subscribe to what they like.
fn any_group() -> impl Strategy<Value = Group> {
    (vec(1..7usize, 1..6), vec(any::<u8>(), 1..8)).prop_map(|(counts, chosen)| group(&counts, &chosen))
}

/// Members that all subscribe to everything.
fn group_of_equals() -> impl Strategy<Value = Group> {
    (vec(1..7usize, 1..6), 1..8usize).prop_map(|(counts, members)| group(&counts, &vec![u8::MAX; members]))
}

/// Each member says what it had in that generation.
fn having(assignor: &dyn Assignor, members: &Members, had: &Shares, generation: i32) -> Members {
    let mut members = members.clone();
    for (id, member) in &mut members {
        let Some(partitions) = had.get(id).cloned() else {
            continue;
        };
        let last = LastAssignment {
            generation,
            partitions,
        };
        let subscription = &mut member.subscription;
        subscription.user_data = assignor.user_data(Some(&last));
        subscription.owned_partitions = last.partitions;
        subscription.generation = Some(generation);
    }
    members
}

/// The shares when nobody has to join again any more, and in how many rounds they were reached.
fn settled(assignor: &dyn Assignor, topics: &TopicsForAssignment, members: &Members) -> (Shares, usize) {
    let mut members = members.clone();
    let mut before: Option<Shares> = None;
    for round in 0.. {
        assert!(round < 10, "{} never comes to rest", assignor.name());
        let shares = assignor.assign(topics, &members);
        if before.as_ref() == Some(&shares) {
            return (shares, round);
        }
        members = having(assignor, &members, &shares, 10 + round as i32);
        before = Some(shares);
    }
    unreachable!()
}

fn sets(shares: &Shares) -> OrderedMap<&Arc<str>, OrderedSet<&TopicPartition>> {
    let entries = shares.iter();
    entries.map(|(id, share)| (id, share.iter().collect())).collect()
}

fn assert_owned_by_who_may(topics: &TopicsForAssignment, members: &Members, shares: &Shares) {
    let mut owned = OrderedSet::new();
    for (id, share) in shares {
        for partition in share {
            assert!(members[id].subscription.topics.contains(&partition.topic));
            assert!(owned.insert(partition.clone()), "{partition} has two owners");
        }
    }
    let wanted = members.values().flat_map(|member| &member.subscription.topics);
    let wanted: OrderedSet<&Arc<str>> = wanted.collect();
    let all = wanted.into_iter().flat_map(|name| {
        let count = topics.get(name).map_or(0, Vec::len) as i32;
        (0..count).map(|index| TopicPartition::new(name.clone(), index))
    });
    assert_eq!(owned, all.collect(), "each has an owner");
    assert_eq!(shares.len(), members.len());
}

fn spread(sizes: impl Iterator<Item = usize>) -> usize {
    let sizes: Vec<usize> = sizes.collect();
    let (least, most) = (sizes.iter().min(), sizes.iter().max());
    most.unwrap_or(&0) - least.unwrap_or(&0)
}

/// Java's `verifyValidityAndBalance`: who has two more than another has nothing that the other could take.
fn assert_balanced(members: &Members, shares: &Shares) {
    for (rich, share) in shares {
        for (poor, other) in shares {
            if share.len() < other.len() + 2 {
                continue;
            }
            let topics = &members[poor].subscription.topics;
            let movable = share.iter().find(|partition| topics.contains(&partition.topic));
            assert_eq!(
                movable,
                None,
                "{rich} has {}, {poor} {}",
                share.len(),
                other.len()
            );
        }
    }
}

proptest! {
    #[test]
    fn every_partition_has_one_owner_who_subscribes_to_it((topics, members) in any_group()) {
        for assignor in ASSIGNORS {
            let (shares, rounds) = settled(assignor, &topics, &members);
            assert_owned_by_who_may(&topics, &members, &shares);
            prop_assert!(rounds <= ROUNDS, "{} needs {rounds} rounds", assignor.name());
        }
    }

    #[test]
    fn range_splits_each_topic_evenly_among_its_readers((topics, members) in any_group()) {
        let shares = RangeAssignor.assign(&topics, &members);
        for name in topics.keys() {
            let readers = members.iter().filter(|(_, member)| member.subscription.topics.contains(name));
            let sizes = readers.map(|(id, _)| shares[id].iter().filter(|one| one.topic == *name).count());
            prop_assert!(spread(sizes) <= 1);
        }
    }

    #[test]
    fn equals_differ_by_one_at_most((topics, members) in group_of_equals()) {
        for assignor in SHARED_OUT_EVENLY {
            let (shares, _) = settled(assignor, &topics, &members);
            prop_assert!(spread(shares.values().map(Vec::len)) <= 1, "{}: {shares:?}", assignor.name());
        }
    }

    #[test]
    fn who_has_two_more_than_another_has_nothing_that_the_other_could_take((topics, members) in any_group()) {
        for assignor in STICKY {
            let (shares, _) = settled(assignor, &topics, &members);
            assert_balanced(&members, &shares);
        }
    }

    #[test]
    fn nothing_moves_when_nothing_has_changed((topics, members) in any_group()) {
        for assignor in STICKY {
            let (shares, _) = settled(assignor, &topics, &members);
            let again = assignor.assign(&topics, &having(assignor, &members, &shares, 20));
            prop_assert_eq!(sets(&again), sets(&shares));
        }
    }

    #[test]
    fn when_an_equal_leaves_the_others_keep_all_they_had((topics, members) in group_of_equals(), who in any::<prop::sample::Index>()) {
        for assignor in STICKY {
            let (had, _) = settled(assignor, &topics, &members);
            let gone = who.get(&members.keys().cloned().collect::<Vec<_>>()).clone();
            let mut left = having(assignor, &members, &had, 20);
            left.remove(&gone);
            // What the one who left had is free at once, so that one round is enough.
            let shares = assignor.assign(&topics, &left);
            for (id, share) in sets(&shares) {
                prop_assert!(had[id].iter().all(|partition| share.contains(partition)));
            }
            if !left.is_empty() {
                assert_owned_by_who_may(&topics, &left, &shares);
                prop_assert!(spread(shares.values().map(Vec::len)) <= 1);
            }
        }
    }

    #[test]
    fn when_an_equal_joins_the_others_are_given_nothing((topics, members) in group_of_equals()) {
        for assignor in STICKY {
            let (had, _) = settled(assignor, &topics, &members);
            let mut more = having(assignor, &members, &had, 20);
            let (_, new) = group(&vec![1; topics.len()], &[u8::MAX]);
            more.extend(new.into_values().map(|member| (Arc::from("new"), member)));
            let (shares, _) = settled(assignor, &topics, &more);
            for (id, share) in &shares {
                if let Some(had) = had.get(id) {
                    prop_assert!(share.iter().all(|partition| had.contains(partition)));
                }
            }
            prop_assert!(spread(shares.values().map(Vec::len)) <= 1);
        }
    }

    #[test]
    fn cooperative_gives_nobody_what_another_still_has(
        (topics, members) in any_group(),
        others in vec(any::<u8>(), 1..8),
    ) {
        let assignor = &CooperativeStickyAssignor;
        let (had, _) = settled(assignor, &topics, &members);
        // The same topics, and other readers: some are gone, some are new, some want something else.
        let counts: Vec<usize> = topics.values().map(Vec::len).collect();
        let (_, now) = group(&counts, &others);
        let now = having(assignor, &now, &had, 20);
        let shares = assignor.assign(&topics, &now);
        for (id, share) in &shares {
            let others = now.iter().filter(|(other, _)| *other != id);
            let held: OrderedSet<_> = others.flat_map(|(_, member)| &member.subscription.owned_partitions).collect();
            prop_assert!(share.iter().all(|partition| !held.contains(partition)));
        }
        let (shares, rounds) = settled(assignor, &topics, &now);
        assert_owned_by_who_may(&topics, &now, &shares);
        prop_assert!(rounds <= ROUNDS + 1);
    }
}
