//! Decisions, done to a tree, and the image that follows.

use super::*;
use crate::config::BrokerConfig;
use crate::coordination::recover;
use crate::disk::{DiskOp, DiskQueue};
use crate::trace::{EventId, Trace};
use crate::types::Rng;
use placement::UsableBroker;
use topics::NewTopic;

/// Metadata of broker 1 on files in memory.
pub(crate) struct World {
    pub metadata: Metadata,
    pub rng: Rng,
    disk: DiskQueue,
    trace: Trace,
    snapshot: Vec<u8>,
    log: Vec<u8>,
}

impl World {
    pub fn new() -> Self {
        Self::on(Vec::new(), Vec::new(), 1)
    }

    fn on(snapshot: Vec<u8>, log: Vec<u8>, seed: u64) -> Self {
        let (mut rng, mut disk, mut trace) = (Rng::new(seed), DiskQueue::default(), Trace::off());
        let mut cx = Cx {
            now: 0,
            rng: &mut rng,
            disk: &mut disk,
            trace: &mut trace,
            cause: EventId::NONE,
        };
        let recovered = recover(&snapshot, &log).unwrap();
        let (metadata, _) = Metadata::open(&mut cx, 0, recovered, None).unwrap();
        let mut world = Self {
            metadata,
            rng,
            disk,
            trace,
            snapshot,
            log,
        };
        world.write();
        world
    }

    pub fn with<R>(&mut self, work: impl FnOnce(&mut Metadata, &mut Cx) -> R) -> R {
        let (rng, disk, trace) = (&mut self.rng, &mut self.disk, &mut self.trace);
        let mut cx = Cx {
            now: 0,
            rng,
            disk,
            trace,
            cause: EventId::NONE,
        };
        let result = work(&mut self.metadata, &mut cx);
        self.write();
        self.check_image();
        result
    }

    pub fn image(&self) -> &MetadataImage {
        self.metadata.image()
    }

    pub fn create(&mut self, new: &NewTopic) -> Result<(), Refused> {
        let creation = topics::create(
            self.metadata.image(),
            &BrokerConfig::default(),
            &[UsableBroker::new(1)],
            new,
            &mut self.rng,
        )?;
        self.with(|metadata, cx| metadata.submit(cx, &creation.multi))
            .unwrap();
        Ok(())
    }

    /// kill -9, and the next life.
    pub fn restart(&mut self) {
        *self = Self::on(self.snapshot.clone(), self.log.clone(), 2);
    }

    fn write(&mut self) {
        for queued in self.disk.take() {
            match queued.op {
                DiskOp::Append { bufs, .. } => self.log.extend_from_slice(&bufs.concat()),
                DiskOp::Truncate { len, .. } => self.log.truncate(len as usize),
                DiskOp::Replace { bytes, .. } => self.snapshot = bytes.to_vec(),
                _ => {}
            }
            self.metadata.disk_done(queued.ticket);
        }
    }

    fn check_image(&self) {
        let (afresh, bad) = MetadataImage::read(self.metadata.coordination.tree());
        assert_eq!(bad, []);
        assert_eq!(**self.metadata.image(), afresh, "the image follows the tree");
    }
}

pub(crate) fn topic(name: &str, partitions: i32) -> NewTopic {
    NewTopic {
        name: name.to_owned(),
        num_partitions: partitions,
        replication_factor: 1,
        ..NewTopic::default()
    }
}

#[test]
fn a_topic_lives_through_a_kill_with_its_id_and_settings() {
    let mut world = World::new();
    let configs = vec![("retention.ms".to_owned(), Some("5".to_owned()))];
    world
        .create(&NewTopic {
            configs,
            ..topic("a", 2)
        })
        .unwrap();
    let before = world.image().clone();
    world.restart();
    assert_eq!(*world.image(), before, "nothing is lost and no id changes");
    let found = world.image().topic("a").unwrap().clone();
    assert_eq!(found.partitions.len(), 2);
    assert_eq!(found.configs.get("retention.ms").unwrap(), "5");
    assert_eq!(world.image().topic_by_id(found.id).unwrap().name, found.name);
    assert_eq!(found.partition(1).unwrap().leader, 1);
    assert_eq!(found.partition(2), None);
    assert_eq!(found.partition(-1), None);
}

#[test]
fn the_nodes_hold_kafkas_json() {
    let mut world = World::new();
    world.create(&topic("a", 1)).unwrap();
    let id = world.image().topic("a").unwrap().id;
    world
        .with(|metadata, cx| metadata.next_producer_id(cx, 1))
        .unwrap();
    let tree = world.metadata.coordination.tree();
    let data = |path: &str| String::from_utf8(tree.get(path).unwrap().data.to_vec()).unwrap();
    assert_eq!(
        data("/brokers/topics/a"),
        format!(
            r#"{{"partitions":{{"0":[1]}},"topic_id":"{id}","adding_replicas":{{}},"removing_replicas":{{}},"version":3}}"#
        )
    );
    assert_eq!(
        data("/brokers/topics/a/partitions/0/state"),
        r#"{"controller_epoch":0,"leader":1,"version":1,"leader_epoch":0,"isr":[1]}"#
    );
    let cluster = world.image().cluster_id().to_string();
    assert_eq!(
        data("/cluster/id"),
        format!(r#"{{"version":"1","id":"{cluster}"}}"#)
    );
    assert_eq!(
        data("/latest_producer_id_block"),
        r#"{"version":1,"broker":1,"block_start":"0","block_end":"999"}"#
    );
}

#[test]
fn no_producer_id_is_given_twice() {
    let mut world = World::new();
    let mut given = std::collections::BTreeSet::new();
    for life in 0..4 {
        for n in 0..700 {
            let (id, ticket) = world
                .with(|metadata, cx| metadata.next_producer_id(cx, 1))
                .unwrap();
            assert!(world.metadata.is_durable(ticket));
            assert!(given.insert(id), "id {id} again: life {life}, draw {n}");
        }
        world.restart();
    }
    assert_eq!(given.last(), Some(&(3000 + 699)));
}

#[test]
fn deletion_marks_then_removes() {
    let mut world = World::new();
    world
        .create(&NewTopic {
            configs: vec![("retention.ms".into(), Some("5".into()))],
            ..topic("a", 3)
        })
        .unwrap();
    let found = world.image().topic("a").unwrap().clone();
    let mark = topics::mark_deleted(&BrokerConfig::default(), &found).unwrap();
    world.with(|metadata, cx| metadata.submit(cx, &mark)).unwrap();
    world.restart();
    assert!(world.image().topic("a").is_none() && world.image().topic_by_id(found.id).is_none());
    let message = world.create(&topic("a", 1)).unwrap_err().to_string();
    assert_eq!(
        message, "TOPIC_ALREADY_EXISTS: Topic 'a' already exists.",
        "its files are still there"
    );
    let left: Vec<_> = world.image().deleting().cloned().collect();
    let multi = topics::remove(&left[0]);
    world.with(|metadata, cx| metadata.submit(cx, &multi)).unwrap();
    world.create(&topic("a", 1)).unwrap();
    let again = world.image().topic("a").unwrap();
    assert_ne!(again.id, found.id, "another topic of the same name");
    assert!(again.configs.is_empty());
}

#[test]
fn creations_are_refused_with_kafkas_words() {
    let mut world = World::new();
    world.create(&topic("ok.one", 1)).unwrap();
    let assigned = |assignments: &[(i32, &[i32])]| NewTopic {
        num_partitions: -1,
        replication_factor: -1,
        assignments: assignments
            .iter()
            .map(|(index, replicas)| (*index, replicas.to_vec()))
            .collect(),
        ..topic("a", -1)
    };
    let with_config = |key: &str, value: Option<&str>| NewTopic {
        configs: vec![(key.to_owned(), value.map(str::to_owned))],
        ..topic("a", 1)
    };
    let cases = [
        (
            topic("ok_one", 1),
            "INVALID_TOPIC_EXCEPTION: Topic 'ok_one' collides with existing topic: ok.one",
        ),
        (
            topic("ok.one", 1),
            "TOPIC_ALREADY_EXISTS: Topic 'ok.one' already exists.",
        ),
        (
            topic("__cluster_metadata", 1),
            "INVALID_REQUEST: Creation of internal topic __cluster_metadata is prohibited.",
        ),
        (
            topic("a", 0),
            "INVALID_PARTITIONS: Number of partitions was set to an invalid non-positive value.",
        ),
        (
            topic("a", 20_000),
            "POLICY_VIOLATION: Excessively large number of partitions per request.",
        ),
        (
            NewTopic {
                replication_factor: 0,
                ..topic("a", 1)
            },
            "INVALID_REPLICATION_FACTOR: Replication factor must be larger than 0, or -1 to use the default value.",
        ),
        (
            NewTopic {
                replication_factor: 2,
                ..topic("a", 1)
            },
            "INVALID_REPLICATION_FACTOR: Unable to replicate the partition 2 time(s): The target replication factor of 2 \
             cannot be reached because only 1 broker(s) are registered or some brokers have all their log directories \
             cordoned.",
        ),
        (
            assigned(&[(0, &[1]), (2, &[1])]),
            "INVALID_REPLICA_ASSIGNMENT: partitions should be a consecutive 0-based integer sequence",
        ),
        (
            assigned(&[(0, &[])]),
            "INVALID_REPLICA_ASSIGNMENT: The manual partition assignment includes an empty replica list.",
        ),
        (
            assigned(&[(0, &[1, 1])]),
            "INVALID_REPLICA_ASSIGNMENT: The manual partition assignment includes the broker 1 more than once.",
        ),
        (
            assigned(&[(0, &[77])]),
            "INVALID_REPLICA_ASSIGNMENT: The manual partition assignment includes broker 77, but no such broker is \
             registered.",
        ),
        (
            with_config("no.such", Some("1")),
            "INVALID_CONFIG: Unknown topic config name: no.such",
        ),
        (
            with_config("retention.ms", None),
            "INVALID_CONFIG: Null value not supported for topic configs: retention.ms",
        ),
    ];
    for (new, expected) in cases {
        assert_eq!(world.create(&new).unwrap_err().to_string(), expected);
    }
    world.create(&assigned(&[(1, &[1]), (0, &[1])])).unwrap();
    assert_eq!(world.image().topic("a").unwrap().partitions.len(), 2);
}

#[test]
fn a_topic_grows_and_never_shrinks() {
    let mut world = World::new();
    world.create(&topic("a", 2)).unwrap();
    let grow = |world: &mut World, count, assignments: Option<&[Vec<i32>]>| {
        let found = world.image().topic("a").unwrap().clone();
        let multi = topics::create_partitions(
            &[UsableBroker::new(1)],
            &found,
            0,
            count,
            assignments,
            &mut world.rng,
        )
        .map_err(|refused| refused.to_string())?;
        world.with(|metadata, cx| metadata.submit(cx, &multi)).unwrap();
        Ok::<_, String>(world.image().topic("a").unwrap().partitions.len())
    };
    assert_eq!(
        grow(&mut world, 2, None).unwrap_err(),
        "INVALID_PARTITIONS: Topic already has 2 partition(s)."
    );
    assert_eq!(
        grow(&mut world, -1, None).unwrap_err(),
        "INVALID_PARTITIONS: The topic a currently has 2 partition(s); -1 would not be an increase."
    );
    assert_eq!(
        grow(&mut world, 4, Some(&[vec![1]])).unwrap_err(),
        "INVALID_REPLICA_ASSIGNMENT: Attempted to add 2 additional partition(s), but only 1 assignment(s) were specified."
    );
    assert_eq!(grow(&mut world, 4, Some(&[vec![1], vec![1]])), Ok(4));
    assert_eq!(grow(&mut world, 5, None), Ok(5));
    world.restart();
    assert_eq!(world.image().topic("a").unwrap().partitions.len(), 5);
}

#[test]
fn a_decision_from_an_old_image_is_refused_by_the_tree() {
    let mut world = World::new();
    world.create(&topic("a", 1)).unwrap();
    let old = world.image().topic("a").unwrap().clone();
    let first = topics::create_partitions(&[UsableBroker::new(1)], &old, 0, 2, None, &mut world.rng).unwrap();
    let second =
        topics::create_partitions(&[UsableBroker::new(1)], &old, 0, 3, None, &mut world.rng).unwrap();
    world.with(|metadata, cx| metadata.submit(cx, &first)).unwrap();
    assert!(world.with(|metadata, cx| metadata.submit(cx, &second)).is_err());
    assert_eq!(world.image().topic("a").unwrap().partitions.len(), 2);
}

#[test]
fn altered_settings_come_back_after_a_kill() {
    let mut world = World::new();
    world.create(&topic("a", 1)).unwrap();
    let settings =
        |value: &str| crate::config::Settings::from([("log.retention.ms".to_owned(), value.to_owned())]);
    for (broker, value) in [(None, "1"), (Some(1), "2"), (None, "3")] {
        let version = world.image().broker_config_version(broker);
        let multi = configs::set_broker_at(broker, version, settings(value));
        world.with(|metadata, cx| metadata.submit(cx, &multi)).unwrap();
    }
    let found = world.image().topic("a").unwrap().clone();
    let own = crate::config::Settings::from([("cleanup.policy".to_owned(), "compact".to_owned())]);
    world
        .with(|metadata, cx| metadata.submit(cx, &configs::set_topic(&found, own.clone())))
        .unwrap();
    world.restart();
    assert_eq!(*world.image().broker_configs(None), settings("3"));
    assert_eq!(*world.image().broker_configs(Some(1)), settings("2"));
    assert_eq!(*world.image().topic("a").unwrap().configs, own);
    let broker = BrokerConfig::load("f", "broker.id=1", &[]).unwrap().config;
    assert_eq!(
        world.image().effective(&broker).value("log.retention.ms"),
        Some("2")
    );
}
