//! Our assignors beside Java's: the same groups, the same bytes for each member.
//!
//! `tests/clients/java/…/Assign.java` hands groups to the classes of kafka-clients 4.4. What a member
//! subscribes to and what it is given goes over in the consumer protocol, so its codec is compared, too.
//! Needs Java and Kafka's jars: `cargo xtask test` runs it with the clients.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;
use highwater_core::consumer::assignor::{
    ASSIGNORS, Assignor, LastAssignment, MemberSubscription, Members, Racks, Shares, Subscription,
    TopicsForAssignment,
};
use highwater_core::protocol::consumer_protocol::Assignment;
use highwater_core::types::{Rng, TopicPartition};
use highwater_tests::java;

/// Groups for each assignor.
const GROUPS: u64 = 2000;

#[test]
fn each_assignor_answers_what_javas_answers() {
    for assignor in ASSIGNORS {
        let groups: Vec<Group> = (0..GROUPS).map(|seed| Group::drawn(assignor, seed)).collect();
        let answers = javas(assignor, &groups);
        assert_eq!(answers.len(), groups.len());
        let mut others = 0;
        for (seed, (group, theirs)) in groups.iter().zip(answers).enumerate() {
            let ours = assignor.assign(&group.topics, &group.members);
            let name = assignor.name();
            assert_eq!(offence(group, &ours), None, "ours: {name}, group {seed}");
            if theirs.as_ref() == Some(&in_bytes(&ours)) {
                continue;
            }
            // A member that has come late and subscribes to less than before: Java tries to give it back
            // what it had and does not want any more. See the page of differences.
            assert!(
                wants_less(group),
                "{name}, group {seed}: {}\nours: {ours:?}\nJava's: {:?}",
                group.line(assignor),
                theirs.as_ref().map(read)
            );
            others += 1;
        }
        println!(
            "{}: {GROUPS} groups, {others} answered otherwise",
            assignor.name()
        );
        assert!(
            others * 50 < GROUPS,
            "too many groups are answered otherwise: {others}"
        );
    }
}

/// Each member's assignment as bytes.
type Answer = BTreeMap<String, Bytes>;

fn in_bytes(shares: &Shares) -> Answer {
    let bytes = |partitions: &Vec<TopicPartition>| {
        let partitions = partitions.clone();
        let assignment = Assignment {
            partitions,
            user_data: None,
        };
        assignment.encode().expect("names are short")
    };
    shares
        .iter()
        .map(|(id, share)| (id.to_string(), bytes(share)))
        .collect()
}

fn read(answer: &Answer) -> Shares {
    let partitions = |bytes| Assignment::decode(bytes).expect("an assignment").partitions;
    answer
        .iter()
        .map(|(id, bytes)| (Arc::from(id.as_str()), partitions(bytes)))
        .collect()
}

/// The first owner that may not be one: twice the same partition, or not subscribed.
fn offence(group: &Group, shares: &Shares) -> Option<String> {
    let mut seen = BTreeSet::new();
    for (id, share) in shares {
        for partition in share {
            let subscribed = group.members[id].subscription.topics.contains(&partition.topic);
            let exists = group
                .topics
                .get(&partition.topic)
                .is_some_and(|racks| racks.len() > partition.partition as usize);
            if !subscribed || !exists || !seen.insert(partition) {
                return Some(format!("{id} has {partition}"));
            }
        }
    }
    None
}

/// Whether a member had a topic's partitions, by its own account, that it does not subscribe to.
fn wants_less(group: &Group) -> bool {
    group.members.values().any(|member| {
        let owned = member.subscription.owned_partitions.iter();
        let unwanted = |one: &TopicPartition| !member.subscription.topics.contains(&one.topic);
        owned.into_iter().any(unwanted)
    })
}

/// What Java answers; `None`: it fails.
fn javas(assignor: &dyn Assignor, groups: &[Group]) -> Vec<Option<Answer>> {
    let lines = groups.iter().map(|group| group.line(assignor) + "\n").collect();
    let said = java::ask("Assign", lines);
    let answer = |line: &str| {
        let member = |member: &str| {
            let (id, hex) = member.split_once('=').expect("a member's share");
            (id.to_owned(), java::from_hex(hex).into())
        };
        (!line.starts_with("failed")).then(|| line.split(';').map(member).collect())
    };
    said.lines().map(answer).collect()
}

struct Group {
    topics: TopicsForAssignment,
    members: Members,
}

impl Group {
    fn line(&self, assignor: &dyn Assignor) -> String {
        let racks = |racks: &Racks| racks.iter().map(|rack| &**rack).collect::<Vec<_>>().join("+");
        let topic = |(name, partitions): (&Arc<str>, &Vec<Racks>)| {
            let partitions: Vec<_> = partitions.iter().map(racks).collect();
            format!("{name}:{}", partitions.join("|"))
        };
        let member = |(id, member): (&Arc<str>, &MemberSubscription)| {
            let bytes = member.subscription.encode().expect("names are short");
            let instance = member.instance_id.as_deref().unwrap_or_default();
            format!("{id},{instance},{}", java::to_hex(&bytes))
        };
        let topics: Vec<_> = self.topics.iter().map(topic).collect();
        let members: Vec<_> = self.members.iter().map(member).collect();
        format!(
            "{}\t{}\t{}",
            assignor.class(),
            topics.join(";"),
            members.join(";")
        )
    }

    /// A group in the middle of its life: some members are new, some were away for a generation, and what
    /// they had is what the assignor once gave them, or what they made up.
    fn drawn(assignor: &dyn Assignor, seed: u64) -> Self {
        let mut draw = Draw(Rng::new(seed));
        let topics = draw.topics();
        let names: Vec<Arc<str>> = topics.keys().cloned().collect();
        let mut members = draw.members(&names);
        if draw.one_in(4) {
            return Self { topics, members };
        }
        for generation in 1..=draw.up_to(3) as i32 {
            let given = match draw.one_in(6) {
                true => draw.made_up(&topics, &members),
                false => assignor.assign(&topics, &members),
            };
            for (id, member) in &mut members {
                if draw.one_in(10) {
                    continue; // Was away, and still has what it had before.
                }
                let last = LastAssignment {
                    generation,
                    partitions: given[id].clone(),
                };
                let subscription = &mut member.subscription;
                subscription.user_data = assignor.user_data(Some(&last));
                subscription.owned_partitions = last.partitions;
                subscription.generation = (!draw.one_in(12)).then_some(generation);
            }
            draw.change(&names, &mut members);
        }
        // As the leader hears it: the wire sorts what is owned.
        for member in members.values_mut() {
            let bytes = member.subscription.encode().expect("names are short");
            member.subscription = Subscription::decode(&bytes).expect("what was written");
        }
        Self { topics, members }
    }
}

struct Draw(Rng);

impl Draw {
    fn up_to(&mut self, most: u64) -> u64 {
        1 + self.0.below(most)
    }

    fn one_in(&mut self, many: u64) -> bool {
        self.0.below(many) == 0
    }

    fn rack(&mut self) -> Arc<str> {
        format!("rack-{}", self.0.below(3)).into()
    }

    fn topics(&mut self) -> TopicsForAssignment {
        let (racks, most) = (self.one_in(2), [4, 12, 30][self.0.below(3) as usize]);
        let alike = self.one_in(3).then(|| self.up_to(most));
        let count = self.up_to(6);
        let partition = |draw: &mut Self| {
            let replicas = if racks { draw.0.below(4) } else { 0 };
            (0..replicas).map(|_| draw.rack()).collect()
        };
        let mut topics = TopicsForAssignment::new();
        for topic in 0..count {
            let partitions = alike.unwrap_or_else(|| self.up_to(most));
            let partitions = (0..partitions).map(|_| partition(self)).collect();
            topics.insert(format!("topic-{topic}").into(), partitions);
        }
        topics
    }

    fn members(&mut self, topics: &[Arc<str>]) -> Members {
        let (racks, alike) = (self.one_in(2), self.one_in(2));
        let mut members = Members::new();
        for number in 0..self.up_to(14) {
            let mut member = self.member(topics);
            if alike {
                member.subscription.topics = topics.to_vec();
            }
            member.subscription.rack = (racks && !self.one_in(5)).then(|| self.rack());
            members.insert(format!("consumer-{number}-{}", self.0.uuid()).into(), member);
        }
        members
    }

    fn member(&mut self, topics: &[Arc<str>]) -> MemberSubscription {
        let mut chosen: Vec<Arc<str>> = topics.iter().filter(|_| self.one_in(2)).cloned().collect();
        if chosen.is_empty() {
            chosen.push(topics[self.0.below(topics.len() as u64) as usize].clone());
        }
        if self.one_in(12) {
            chosen.push("unknown".into());
        }
        let subscription = Subscription {
            topics: chosen,
            ..Subscription::default()
        };
        let instance_id = self
            .one_in(4)
            .then(|| format!("instance-{}", self.0.next_u64()).into());
        MemberSubscription {
            instance_id,
            subscription,
        }
    }

    /// Members come, go and change their minds.
    fn change(&mut self, topics: &[Arc<str>], members: &mut Members) {
        let ids: Vec<_> = members.keys().cloned().collect();
        for id in ids {
            if self.one_in(6) && members.len() > 1 {
                members.remove(&id);
            }
        }
        for _ in 0..self.0.below(3) {
            let mut member = self.member(topics);
            if self.one_in(2) {
                let any = members.values().next();
                member.subscription.topics =
                    any.map_or(topics.to_vec(), |any| any.subscription.topics.clone());
            }
            members.insert(format!("late-{}", self.0.uuid()).into(), member);
        }
        if self.one_in(8) {
            for member in members.values_mut() {
                member.subscription.topics = self.member(topics).subscription.topics;
            }
        }
    }

    /// Claims that contradict each other.
    fn made_up(&mut self, topics: &TopicsForAssignment, members: &Members) -> Shares {
        let all = topics.iter().flat_map(|(topic, partitions)| {
            (0..partitions.len() as i32).map(move |partition| TopicPartition::new(topic.clone(), partition))
        });
        let all: Vec<_> = all.collect();
        let share = |draw: &mut Self| all.iter().filter(|_| draw.one_in(4)).cloned().collect();
        members.keys().map(|id| (id.clone(), share(self))).collect()
    }
}
