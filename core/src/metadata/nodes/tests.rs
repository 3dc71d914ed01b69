//! Nodes as Apache Kafka 3.9.1 wrote them: each is read, and written again to the same bytes.

use super::*;
use crate::ordered::OrderedSet;

const FIXTURE: &[u8] = include_bytes!("../../../../tests/fixtures/znodes-3.9.json");

#[derive(Deserialize)]
struct Fixture {
    /// What stood in ZooKeeper at the end.
    standing: OrderedMap<String, Option<String>>,
    /// What was there for a moment.
    passing: Vec<Passing>,
    /// What Kafka's own code writes for nodes that a tool of older days makes.
    encoded: Vec<Passing>,
}

#[derive(Deserialize)]
struct Passing {
    path: String,
    data: Option<String>,
}

fn fixture() -> Fixture {
    serde_json::from_slice(FIXTURE).unwrap()
}

/// Every node that holds something.
fn written() -> Vec<(String, String)> {
    let Fixture {
        standing,
        passing,
        encoded,
    } = fixture();
    let passing = passing.into_iter().chain(encoded);
    let all = standing
        .into_iter()
        .chain(passing.map(|node| (node.path, node.data)));
    all.filter_map(|(path, data)| Some((path, data?))).collect()
}

/// The node read as what stands at its path, and written again.
fn again(path: &str, data: &[u8]) -> Result<Bytes, BadNode> {
    fn of<T: DeserializeOwned + Serialize>(path: &str, data: &[u8]) -> Result<Bytes, BadNode> {
        parse::<T>(path, data).map(|value| write(&value))
    }
    let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
    let read = match parts[..] {
        ["brokers", "ids", _] => of::<Broker>,
        ["brokers", "topics", _] => of::<TopicAssignment>,
        ["brokers", "topics", _, "partitions", _, "state"] => of::<PartitionState>,
        ["config", "changes", _] => of::<ConfigChange>,
        ["config", ..] => of::<EntityConfig>,
        ["controller"] => of::<Controller>,
        ["controller_epoch"] => of::<i32>,
        ["cluster", "id"] => of::<ClusterId>,
        ["feature"] => of::<Feature>,
        ["latest_producer_id_block"] => of::<ProducerIdBlock>,
        ["admin", "reassign_partitions"] => of::<Reassignments>,
        ["admin", "preferred_replica_election"] | ["isr_change_notification", _] => of::<NamedPartitions>,
        ["log_dir_event_notification", _] => of::<LogDirEvent>,
        _ => panic!("nobody reads {path}"),
    };
    read(path, data)
}

#[test]
fn every_node_of_kafka_is_read_and_written_again_byte_for_byte() {
    let written = written();
    assert!(written.len() > 40, "{}", written.len());
    for (path, data) in written {
        let again = again(&path, data.as_bytes()).unwrap();
        assert_eq!(std::str::from_utf8(&again).unwrap(), data, "{path}");
    }
}

#[test]
fn what_is_finalized_and_what_recovers_is_written_as_kafka_does() {
    let data = br#"{"features":{"metadata.version":{"max_version_level":7}},"version":2,"status":1}"#;
    assert_eq!(again(FEATURE, data).unwrap(), data[..]);
    let data = br#"{"controller_epoch":5,"leader":1,"version":1,"leader_recovery_state":1,"leader_epoch":3,"isr":[1,2]}"#;
    assert_eq!(again(&partition_state("t", 0), data).unwrap(), data[..]);
}

#[test]
fn the_nodes_that_are_always_there_are_kafkas() {
    let ours: OrderedSet<&str> = PERSISTENT.into_iter().collect();
    let mut held: OrderedSet<String> = OrderedSet::new();
    for path in fixture().standing.into_keys() {
        let of_one = ["/brokers/topics/", "/brokers/ids/", "/config/changes/"];
        let settings = path.starts_with("/config/") && path.matches('/').count() > 2;
        if !settings && !of_one.iter().any(|parent| path.starts_with(parent)) {
            held.insert(path);
        }
    }
    for made_later in ["/", CLUSTER_ID, CONTROLLER, CONTROLLER_EPOCH, FEATURE] {
        assert!(held.remove(made_later), "{made_later}");
    }
    assert_eq!(held, ours.into_iter().map(str::to_owned).collect());
    for (index, path) in PERSISTENT.iter().enumerate() {
        let parent = path.rsplit_once('/').unwrap().0;
        assert!(
            parent.is_empty() || PERSISTENT[..index].contains(&parent),
            "{path} comes after its parent"
        );
    }
}

#[test]
fn our_own_values_have_kafkas_form() {
    let fixture = fixture();
    let standing = |path: &str| fixture.standing[path].clone().unwrap();
    let text = |value: Bytes| String::from_utf8(value.to_vec()).unwrap();
    let id: ClusterId = parse(CLUSTER_ID, standing(CLUSTER_ID).as_bytes()).unwrap();
    assert_eq!(text(write(&ClusterId::new(id.id))), standing(CLUSTER_ID));
    let controller: Controller = parse(CONTROLLER, standing(CONTROLLER).as_bytes()).unwrap();
    assert_eq!(
        text(write(&Controller::new(controller.brokerid, controller.timestamp))),
        standing(CONTROLLER)
    );
    let path = broker(1);
    let registered: Broker = parse(&path, standing(&path).as_bytes()).unwrap();
    let ours = Broker::new(
        &registered.endpoints(),
        registered.rack.as_deref(),
        registered.timestamp,
    );
    assert_eq!(text(write(&ours)), standing(&path));
    let path = topic("many");
    let many: TopicAssignment = parse(&path, standing(&path).as_bytes()).unwrap();
    let replicas: Vec<_> = many.partitions.into_values().collect();
    assert_eq!(
        text(write(&TopicAssignment::new(many.topic_id, &replicas))),
        standing(&path)
    );
    assert_eq!(text(write(&Feature::none())), standing(FEATURE));
    assert_eq!(
        text(write(&EntityConfig::new(Settings::new()))),
        standing(&topic_config("many"))
    );
    assert_eq!(
        text(write(&LogDirEvent::failure(2))),
        fixture.encoded[2].data.clone().unwrap()
    );
}

#[test]
fn a_malformed_node_is_named_with_its_fault() {
    for (path, data) in written() {
        if path == CONTROLLER_EPOCH {
            continue;
        }
        for broken in [
            &data[..data.len() - 1],
            "{}",
            "[]",
            "null",
            "{\"version\":\"x\"}",
            "\u{0}",
        ] {
            let bad = again(&path, broken.as_bytes()).unwrap_err();
            assert!(bad.to_string().contains(&path), "{bad}");
        }
    }
    assert!(again(CONTROLLER_EPOCH, b"one").is_err());
}
