//! Groups that are told in a line, and what every assignor promises of every group.

use super::*;

/// `topic:partitions` with blanks between them.
fn topics(text: &str) -> TopicsForAssignment {
    let topic = |word: &str| {
        let (name, count) = word.split_once(':').unwrap();
        (name.into(), vec![Racks::new(); count.parse().unwrap()])
    };
    text.split_whitespace().map(topic).collect()
}

/// `member:topic,topic` with blanks between them; a `member@instance` is a static one.
fn members(text: &str) -> Members {
    let member = |word: &str| {
        let (id, topics) = word.split_once(':').unwrap();
        let (id, instance) = id
            .split_once('@')
            .map_or((id, None), |(id, instance)| (id, Some(instance)));
        let member = MemberSubscription {
            instance_id: instance.map(Arc::from),
            subscription: Subscription {
                topics: topics
                    .split(',')
                    .filter(|topic| !topic.is_empty())
                    .map(Arc::from)
                    .collect(),
                ..Subscription::default()
            },
        };
        (id.into(), member)
    };
    text.split_whitespace().map(member).collect()
}

/// Shares in the same manner: `member=topic-0,topic-1`.
fn told(shares: &Shares) -> String {
    let share = |(id, share): (&Arc<str>, &Vec<TopicPartition>)| {
        let share: Vec<_> = share.iter().map(TopicPartition::to_string).collect();
        format!("{id}={}", share.join(","))
    };
    shares.iter().map(share).collect::<Vec<_>>().join(" ")
}

fn sizes(shares: &Shares) -> Vec<usize> {
    shares.values().map(Vec::len).collect()
}

mod range {
    use super::*;

    fn assign(known: &str, group: &str) -> String {
        told(&RangeAssignor.assign(&topics(known), &members(group)))
    }

    #[test]
    fn the_first_members_get_one_more_of_each_topic() {
        assert_eq!(
            assign("a:3 b:3", "m1:a,b m2:a,b"),
            "m1=a-0,a-1,b-0,b-1 m2=a-2,b-2"
        );
    }

    #[test]
    fn fifteen_partitions_of_five_topics_fall_ten_and_five() {
        let known = topics("a:3 b:3 c:3 d:3 e:3");
        let group = members("m1:a,b,c,d,e m2:a,b,c,d,e");
        assert_eq!(sizes(&RangeAssignor.assign(&known, &group)), [10, 5]);
    }

    #[test]
    fn only_who_subscribes_gets_any() {
        assert_eq!(assign("a:2 b:2", "m1:a m2:a,b m3:c"), "m1=a-0 m2=a-1,b-0,b-1 m3=");
        assert_eq!(assign("a:1", "m1:a m2:a"), "m1=a-0 m2=");
        assert_eq!(assign("", "m1:a"), "m1=");
    }

    #[test]
    fn static_members_come_first_by_their_instances() {
        assert_eq!(assign("a:3", "m1:a m2@z:a m3@y:a"), "m1=a-2 m2=a-1 m3=a-0");
    }

    fn in_racks(known: &mut TopicsForAssignment, group: &mut Members, racks: &[&str]) {
        for partitions in known.values_mut() {
            for (partition, rack) in partitions.iter_mut().zip(racks) {
                partition.insert((*rack).into());
            }
        }
        for (member, rack) in group.values_mut().zip(["r0", "r1", "r2"]) {
            member.subscription.rack = Some(rack.into());
        }
    }

    #[test]
    fn members_take_what_is_in_their_rack_within_their_quota() {
        let (mut known, mut group) = (topics("a:4"), members("m1:a m2:a"));
        in_racks(&mut known, &mut group, &["r1", "r0", "r0", "r0"]);
        let shares = RangeAssignor.assign(&known, &group);
        assert_eq!(told(&shares), "m1=a-1,a-2 m2=a-0,a-3");
    }

    #[test]
    fn topics_that_are_alike_stay_together_in_a_rack() {
        let (mut known, mut group) = (topics("a:3 b:3"), members("m1:a,b m2:a,b m3:a,b"));
        in_racks(&mut known, &mut group, &["r2", "r0", "r1"]);
        let shares = RangeAssignor.assign(&known, &group);
        assert_eq!(told(&shares), "m1=a-1,b-1 m2=a-2,b-2 m3=a-0,b-0");
    }

    #[test]
    fn racks_that_all_partitions_share_change_nothing() {
        let (mut known, mut group) = (topics("a:2"), members("m1:a m2:a"));
        in_racks(&mut known, &mut group, &["r1", "r1"]);
        assert_eq!(told(&RangeAssignor.assign(&known, &group)), "m1=a-0 m2=a-1");
    }
}

mod round_robin {
    use super::*;

    fn assign(known: &str, group: &str) -> String {
        told(&RoundRobinAssignor.assign(&topics(known), &members(group)))
    }

    #[test]
    fn partitions_are_dealt_out_one_by_one() {
        assert_eq!(assign("a:3 b:2", "m1:a,b m2:a,b"), "m1=a-0,a-2,b-1 m2=a-1,b-0");
    }

    #[test]
    fn fifteen_partitions_of_five_topics_fall_eight_and_seven() {
        let known = topics("a:3 b:3 c:3 d:3 e:3");
        let group = members("m1:a,b,c,d,e m2:a,b,c,d,e");
        assert_eq!(sizes(&RoundRobinAssignor.assign(&known, &group)), [8, 7]);
    }

    #[test]
    fn who_does_not_subscribe_is_passed_over() {
        assert_eq!(
            assign("a:1 b:2 c:3", "m1:a m2:a,b m3:a,b,c"),
            "m1=a-0 m2=b-0 m3=b-1,c-0,c-1,c-2"
        );
    }
}

mod sticky {
    use super::*;

    fn had(group: &mut Members, id: &str, generation: i32, partitions: &[(&str, i32)]) {
        let partitions = partitions
            .iter()
            .map(|(topic, index)| TopicPartition::new(*topic, *index));
        let last = LastAssignment {
            generation,
            partitions: partitions.collect(),
        };
        let subscription = &mut group.get_mut(id).unwrap().subscription;
        subscription.user_data = StickyAssignor.user_data(Some(&last));
        subscription.owned_partitions = last.partitions;
        subscription.generation = Some(generation);
    }

    #[test]
    fn members_keep_what_they_had_within_the_quotas() {
        let mut group = members("m1:a m2:a m3:a");
        had(&mut group, "m1", 1, &[("a", 0), ("a", 1), ("a", 2)]);
        had(&mut group, "m2", 1, &[("a", 3), ("a", 4), ("a", 5)]);
        let shares = StickyAssignor.assign(&topics("a:6"), &group);
        assert_eq!(told(&shares), "m1=a-0,a-1 m2=a-3,a-4 m3=a-2,a-5");
    }

    #[test]
    fn cooperative_members_first_give_up_what_others_are_to_get() {
        let mut group = members("m1:a m2:a");
        had(&mut group, "m1", 1, &[("a", 0), ("a", 1)]);
        let shares = CooperativeStickyAssignor.assign(&topics("a:2"), &group);
        assert_eq!(told(&shares), "m1=a-0 m2=");
        had(&mut group, "m1", 2, &[("a", 0)]);
        let shares = CooperativeStickyAssignor.assign(&topics("a:2"), &group);
        assert_eq!(told(&shares), "m1=a-0 m2=a-1");
    }

    #[test]
    fn the_newer_generation_has_what_two_claim() {
        let mut group = members("m1:a m2:a");
        had(&mut group, "m1", 1, &[("a", 0)]);
        had(&mut group, "m2", 2, &[("a", 0)]);
        let shares = StickyAssignor.assign(&topics("a:2"), &group);
        assert_eq!(told(&shares), "m1=a-1 m2=a-0");
    }

    #[test]
    fn odd_claims_give_nobody_what_it_may_not_have() {
        for assignor in ASSIGNORS {
            let mut group = members("m0: m1:a m2:a,b");
            had(&mut group, "m1", 1, &[("b", 0), ("b", 1), ("a", 9)]);
            had(&mut group, "m2", 2, &[("a", 0), ("a", 1)]);
            let shares = assignor.assign(&topics("a:2 b:2"), &group);
            let mut all: Vec<_> = shares.values().flatten().map(TopicPartition::to_string).collect();
            all.sort();
            assert_eq!(all.iter().filter(|one| one.contains("-9")).count(), 0);
            assert!(shares["m0"].is_empty(), "{}", assignor.name());
            assert!(
                shares["m1"].iter().all(|one| &*one.topic == "a"),
                "{}",
                assignor.name()
            );
            all.dedup();
            assert_eq!(all.len(), shares.values().map(Vec::len).sum::<usize>());
        }
    }
}
