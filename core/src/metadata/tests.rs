//! Decisions, done to a tree, and the image that follows.

use super::*;
use crate::config::BrokerConfig;
use crate::coordination::{MultiError, Tree};
use crate::disk::DiskQueue;
use crate::error::ErrorCode;
use crate::trace::{EventId, Trace};
use crate::types::Rng;
use placement::UsableBroker;
use topics::NewTopic;

/// A tree of its own, changed at once.
pub(crate) struct Decided {
    pub tree: Tree,
    image: Arc<MetadataImage>,
    /// Requests that changed something.
    pub seals: u32,
}

impl Decided {
    pub fn submit(&mut self, _: &mut Cx, multi: &Multi) -> Result<(), MultiError> {
        self.tree.apply(multi, 0)?;
        let bad = Arc::make_mut(&mut self.image).apply(&self.tree, multi);
        assert_eq!(bad, [], "a node of our own making");
        Ok(())
    }
}

impl Decide for Decided {
    fn image(&self) -> &Arc<MetadataImage> {
        &self.image
    }

    fn decide(&mut self, cx: &mut Cx, multi: &Multi) -> Result<(), Refused> {
        self.submit(cx, multi)
            .map_err(|error| Refused::new(ErrorCode::UnknownServerError, error.to_string()))
    }

    fn seal(&mut self, _: &mut Cx) {
        self.seals += 1;
    }
}

/// A cluster of broker 1.
pub(crate) struct World {
    pub metadata: Decided,
    pub rng: Rng,
    disk: DiskQueue,
    trace: Trace,
}

impl World {
    pub fn new() -> Self {
        let mut tree = Tree::default();
        let first = nodes::missing_nodes(|path| tree.exists(path), || "Y2x1c3Rlci1pZC1vZi1pdA".to_owned());
        tree.apply(&first, 0).unwrap();
        let (image, _) = MetadataImage::read(&tree);
        Self {
            metadata: Decided {
                tree,
                image: Arc::new(image),
                seals: 0,
            },
            rng: Rng::new(1),
            disk: DiskQueue::default(),
            trace: Trace::off(),
        }
    }

    pub fn with<R>(&mut self, work: impl FnOnce(&mut Decided, &mut Cx) -> R) -> R {
        let (rng, disk, trace) = (&mut self.rng, &mut self.disk, &mut self.trace);
        let mut cx = Cx {
            now: 0,
            rng,
            disk,
            trace,
            cause: EventId::NONE,
        };
        let result = work(&mut self.metadata, &mut cx);
        self.check_image();
        result
    }

    pub fn image(&self) -> &MetadataImage {
        &self.metadata.image
    }

    pub fn create(&mut self, new: &NewTopic) -> Result<(), Refused> {
        let creation = topics::create(
            &self.metadata.image,
            &BrokerConfig::default(),
            &[UsableBroker::new(1)],
            new,
            &mut self.rng,
        )?;
        self.with(|metadata, cx| metadata.submit(cx, &creation.multi))
            .unwrap();
        Ok(())
    }

    fn check_image(&self) {
        let (afresh, bad) = MetadataImage::read(&self.metadata.tree);
        assert_eq!(bad, []);
        assert_eq!(*self.metadata.image, afresh, "the image follows the tree");
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
fn a_topic_is_found_by_name_and_id_with_its_settings() {
    let mut world = World::new();
    let configs = vec![("retention.ms".to_owned(), Some("5".to_owned()))];
    world
        .create(&NewTopic {
            configs,
            ..topic("a", 2)
        })
        .unwrap();
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
    let (_, multi) = producer_ids::next_block(Some((b"", 0)), 1).unwrap();
    world.with(|metadata, cx| metadata.submit(cx, &multi)).unwrap();
    let tree = &world.metadata.tree;
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
    let mut given = crate::ordered::OrderedSet::new();
    for life in 0..4 {
        let node = world.metadata.tree.get(nodes::PRODUCER_ID_BLOCK).unwrap().clone();
        let seen = Some((&*node.data, node.stat.version));
        let (mut block, multi) = producer_ids::next_block(seen, 1).unwrap();
        let (_, late) = producer_ids::next_block(seen, 2).unwrap();
        world.with(|metadata, cx| metadata.submit(cx, &multi)).unwrap();
        assert!(
            world.with(|metadata, cx| metadata.submit(cx, &late)).is_err(),
            "who read the same is too late"
        );
        for n in 0..700 {
            let id = block.take().unwrap();
            assert!(given.insert(id), "id {id} again: life {life}, draw {n}");
        }
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
fn altered_settings_are_laid_over_those_of_the_file() {
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
    assert_eq!(*world.image().broker_configs(None), settings("3"));
    assert_eq!(*world.image().broker_configs(Some(1)), settings("2"));
    assert_eq!(*world.image().topic("a").unwrap().configs, own);
    let broker = BrokerConfig::load("f", "broker.id=1", &[]).unwrap().config;
    assert_eq!(
        world.image().effective(&broker).value("log.retention.ms"),
        Some("2")
    );
}
