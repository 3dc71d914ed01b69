//! Requests in, answers out; what an answer says of the tree is looked up there.

use super::*;
use crate::metadata::Decide;
use crate::metadata::tests::World;
use crate::metadata::topics as decide;
use crate::protocol::messages::create_partitions_request::CreatePartitionsTopic;
use crate::protocol::messages::create_topics_request::CreatableTopic;
use crate::protocol::messages::delete_topics_request::DeleteTopicState;
use crate::protocol::messages::describe_configs_request::DescribeConfigsResource;
use crate::protocol::messages::describe_topic_partitions_request::{Cursor, TopicRequest};
use crate::protocol::messages::incremental_alter_configs_request::{AlterConfigsResource, AlterableConfig};
use crate::protocol::messages::metadata_request::MetadataRequestTopic;
use crate::protocol::messages::*;
use crate::types::Uuid;

fn nodes() -> Vec<Node> {
    vec![Node {
        id: 1,
        host: "localhost".into(),
        port: 9092,
        rack: None,
    }]
}

fn config() -> BrokerConfig {
    BrokerConfig::load("f", "broker.id=1\nnum.partitions=3", &[])
        .unwrap()
        .config
}

fn ask<R>(world: &World, answer: impl FnOnce(&Cluster) -> R) -> R {
    let (nodes, config) = (nodes(), world.image().effective(&config()));
    answer(&Cluster {
        image: world.image(),
        config: &config,
        nodes: &nodes,
        controller_id: 1,
    })
}

fn create(world: &mut World, names: &[&str], validate_only: bool) -> Outcome<CreateTopicsResponse> {
    let request = message(|request: &mut CreateTopicsRequest| {
        request.validate_only = validate_only;
        request.topics = names
            .iter()
            .map(|name| {
                message(|topic: &mut CreatableTopic| {
                    topic.name = (*name).into();
                    topic.num_partitions = -1;
                    topic.replication_factor = -1;
                })
            })
            .collect();
    });
    world.with(|metadata, cx| create_topics(metadata, cx, &config(), &nodes(), &request))
}

fn by_name(names: &[&str]) -> MetadataRequest {
    message(|request: &mut MetadataRequest| {
        let topic = |name: &&str| message(|t: &mut MetadataRequestTopic| t.name = Some((*name).into()));
        request.topics = Some(names.iter().map(topic).collect());
    })
}

#[test]
fn topics_are_created_one_after_the_other_and_synced_once() {
    let mut world = World::new();
    let outcome = create(&mut world, &["a.b", "a_b", "twice", "twice", "c"], false);
    let codes: Vec<_> = outcome
        .response
        .topics
        .iter()
        .map(|t| (t.name.to_string(), t.error_code))
        .collect();
    let expected = [("twice", 42), ("a.b", 0), ("a_b", 17), ("c", 0)];
    assert_eq!(
        codes,
        expected.map(|(name, code)| (name.to_owned(), code)),
        "a_b collides with one just created"
    );
    assert_eq!(outcome.topics.len(), 2);
    assert_eq!(world.metadata.seals, 1);
    let done = &outcome.response.topics[1];
    assert_eq!((done.num_partitions, done.replication_factor), (3, 1));
    assert_eq!(done.configs.as_ref().unwrap().len(), 37);
    assert_eq!(Uuid::from(done.topic_id), world.image().topic("a.b").unwrap().id);
}

#[test]
fn validate_only_changes_nothing() {
    let mut world = World::new();
    let outcome = create(&mut world, &["a"], true);
    assert_eq!(
        (outcome.response.topics[0].error_code, world.metadata.seals),
        (0, 0)
    );
    assert!(world.image().topic("a").is_none());
}

#[test]
fn metadata_tells_null_from_empty() {
    let mut world = World::new();
    create(&mut world, &["a", "b"], false);
    let names = |request: &MetadataRequest, version| {
        let answer = ask(&world, |cluster| metadata(cluster, request, version));
        answer
            .topics
            .iter()
            .filter_map(|t| t.name.as_ref().map(ToString::to_string))
            .collect::<Vec<_>>()
    };
    let all = message(|request: &mut MetadataRequest| request.topics = None);
    assert_eq!(names(&all, 12), ["a", "b"]);
    assert_eq!(names(&by_name(&[]), 12), Vec::<String>::new());
    assert_eq!(
        names(&by_name(&[]), 0),
        ["a", "b"],
        "in version 0 an empty list means all"
    );
    assert_eq!(names(&by_name(&["b", "b"]), 12), ["b"]);
}

#[test]
fn metadata_by_name_and_by_id() {
    let mut world = World::new();
    create(&mut world, &["a"], false);
    let id = world.image().topic("a").unwrap().id;
    let request = message(|request: &mut MetadataRequest| {
        let by_id = |id: Uuid| {
            message(|t: &mut MetadataRequestTopic| {
                t.topic_id = id.into();
                t.name = None;
            })
        };
        let named = by_name(&["no.such", "a b"]).topics.unwrap_or_default();
        request.topics = Some([vec![by_id(id), by_id(Uuid([7; 16]))], named].concat());
        request.include_topic_authorized_operations = true;
    });
    let answer = ask(&world, |cluster| metadata(cluster, &request, 12));
    let codes: Vec<_> = answer.topics.iter().map(|t| t.error_code).collect();
    assert_eq!(codes, [0, ErrorCode::UnknownTopicId.code(), 3, 17]);
    assert_eq!(answer.topics[0].name.as_deref(), Some("a"));
    assert_eq!(
        answer.topics[0].topic_authorized_operations, 3576,
        "as Kafka 4.4 answers"
    );
    assert_eq!(answer.topics[1].name, None);
    let partition = &answer.topics[0].partitions[2];
    assert_eq!(
        (
            partition.leader_id,
            partition.leader_epoch,
            &partition.isr_nodes[..]
        ),
        (1, 0, &[1][..])
    );
    assert_eq!(answer.cluster_id.as_deref(), Some(&**world.image().cluster_id()));
    assert_eq!((&*answer.brokers[0].host, answer.controller_id), ("localhost", 1));
}

#[test]
fn metadata_creates_what_it_may() {
    let mut world = World::new();
    create(&mut world, &["here"], false);
    let mut request = by_name(&["here", "new", "a b"]);
    assert_eq!(
        ask(&world, |cluster| topics_to_create(cluster, &request)),
        ["new"]
    );
    request.allow_auto_topic_creation = false;
    assert!(ask(&world, |cluster| topics_to_create(cluster, &request)).is_empty());
    let names = ["new".to_owned()];
    world.with(|m, cx| create_topics_on_demand(m, cx, &config(), &nodes(), &names));
    assert_eq!(world.image().topic("new").unwrap().partitions.len(), 3);
}

#[test]
fn a_deleted_topic_is_gone_for_clients_and_its_name_comes_back() {
    let mut world = World::new();
    create(&mut world, &["a", "b"], false);
    let id = world.image().topic("b").unwrap().id;
    let request = message(|request: &mut DeleteTopicsRequest| {
        let name = |name: &str| message(|t: &mut DeleteTopicState| t.name = Some(name.into()));
        let by_id = |id: Uuid| {
            message(|t: &mut DeleteTopicState| {
                t.name = None;
                t.topic_id = id.into();
            })
        };
        request.topics = vec![name("a"), by_id(id), name("no"), by_id(Uuid([7; 16]))];
    });
    let outcome = world.with(|m, cx| delete_topics(m, cx, &config(), &request, 6));
    let codes: Vec<_> = outcome.response.responses.iter().map(|r| r.error_code).collect();
    assert_eq!(codes, [0, 0, 3, ErrorCode::UnknownTopicId.code()]);
    assert_eq!(outcome.response.responses[1].name.as_deref(), Some("b"));
    assert_eq!(world.image().topics().count(), 0);
    for topic in world.image().deleting().cloned().collect::<Vec<_>>() {
        world.with(|m, cx| m.submit(cx, &decide::remove(&topic))).unwrap();
    }
    let again = create(&mut world, &["a"], false);
    assert_eq!(again.response.topics[0].error_code, 0);
}

#[test]
fn partitions_are_added_unless_only_asked() {
    let mut world = World::new();
    create(&mut world, &["a"], false);
    let mut request = message(|request: &mut CreatePartitionsRequest| {
        let grow = |name: &str, count| {
            message(|t: &mut CreatePartitionsTopic| {
                t.name = name.into();
                t.count = count;
                t.assignments = None;
            })
        };
        request.topics = vec![grow("a", 5), grow("no", 2)];
        request.validate_only = true;
    });
    for (validate_only, partitions) in [(true, 3), (false, 5)] {
        request.validate_only = validate_only;
        let before = world.metadata.seals;
        let outcome = world.with(|m, cx| create_partitions(m, cx, &nodes(), &request));
        let codes: Vec<_> = outcome.response.results.iter().map(|r| r.error_code).collect();
        assert_eq!(
            (codes, world.metadata.seals == before),
            (vec![0, 3], validate_only)
        );
        assert_eq!(world.image().topic("a").unwrap().partitions.len(), partitions);
    }
}

fn alter(world: &mut World, kind: i8, name: &str, key: &str, value: &str) -> (i16, Option<String>) {
    let request = message(|request: &mut IncrementalAlterConfigsRequest| {
        request.resources = vec![message(|resource: &mut AlterConfigsResource| {
            resource.resource_type = kind;
            resource.resource_name = name.into();
            resource.configs = vec![message(|change: &mut AlterableConfig| {
                change.name = key.into();
                change.value = Some(value.into());
            })];
        })];
    });
    let outcome = world.with(|m, cx| {
        let config = m.image().effective(&config());
        incremental_alter_configs(m, cx, &config, &request)
    });
    let answer = &outcome.response.responses[0];
    (
        answer.error_code,
        answer.error_message.as_ref().map(ToString::to_string),
    )
}

fn told(world: &World, kind: i8, name: &str, key: &str) -> (i16, Option<String>, i8) {
    let request = message(|request: &mut DescribeConfigsRequest| {
        request.resources = vec![message(|resource: &mut DescribeConfigsResource| {
            resource.resource_type = kind;
            resource.resource_name = name.into();
            resource.configuration_keys = Some(vec![key.into()]);
        })];
    });
    let answer = ask(world, |cluster| describe_configs(cluster, &request));
    let result = &answer.results[0];
    let entry = result.configs.first();
    let value = entry.and_then(|entry| entry.value.as_ref().map(ToString::to_string));
    (
        result.error_code,
        value,
        entry.map_or(0, |entry| entry.config_source),
    )
}

#[test]
fn what_is_altered_is_described() {
    let mut world = World::new();
    create(&mut world, &["a"], false);
    assert_eq!(
        told(&world, 2, "a", "retention.ms"),
        (0, Some("604800000".into()), 5)
    );
    assert_eq!(alter(&mut world, 4, "", "log.retention.ms", "9"), (0, None));
    assert_eq!(told(&world, 2, "a", "retention.ms"), (0, Some("9".into()), 3));
    assert_eq!(alter(&mut world, 4, "1", "log.retention.ms", "8"), (0, None));
    assert_eq!(told(&world, 4, "1", "log.retention.ms"), (0, Some("8".into()), 2));
    assert_eq!(alter(&mut world, 2, "a", "retention.ms", "7"), (0, None));
    assert_eq!(told(&world, 2, "a", "retention.ms"), (0, Some("7".into()), 1));
}

#[test]
fn alterations_are_refused_with_kafkas_words() {
    let mut world = World::new();
    create(&mut world, &["a"], false);
    let cases = [
        (
            (2, "nope", "retention.ms", "5"),
            (3, "The topic 'nope' does not exist."),
        ),
        (
            (2, "", "retention.ms", "5"),
            (42, "Default topic resources are not allowed."),
        ),
        (
            (4, "1", "log.dirs", "/x"),
            (42, "Cannot update these configs dynamically: [log.dirs]"),
        ),
        ((0, "g", "x", "1"), (42, "Unknown resource type 0")),
    ];
    for ((kind, name, key, value), (code, why)) in cases {
        assert_eq!(
            alter(&mut world, kind, name, key, value),
            (code, Some(why.to_owned()))
        );
    }
    assert_eq!(told(&world, 2, "nope", "retention.ms").0, 3);
    assert_eq!(told(&world, 4, "99", "log.dirs").0, 42);
}

#[test]
fn partitions_are_described_in_pages() {
    let mut world = World::new();
    create(&mut world, &["a", "b"], false);
    let mut request = message(|request: &mut DescribeTopicPartitionsRequest| {
        let topic = |name: &str| message(|t: &mut TopicRequest| t.name = name.into());
        request.topics = vec![topic("b"), topic("a"), topic("no")];
        request.response_partition_limit = 2;
    });
    let mut pages = Vec::new();
    loop {
        let answer = ask(&world, |cluster| describe_topic_partitions(cluster, &request));
        let page = answer.topics.iter().map(|topic| {
            let partitions: Vec<_> = topic.partitions.iter().map(|p| p.partition_index).collect();
            format!(
                "{} {} {partitions:?}",
                topic.name.as_deref().unwrap_or_default(),
                topic.error_code
            )
        });
        pages.push(page.collect::<Vec<_>>().join(", "));
        let Some(next) = answer.next_cursor else { break };
        request.cursor = Some(message(|cursor: &mut Cursor| {
            cursor.topic_name = next.topic_name;
            cursor.partition_index = next.partition_index;
        }));
    }
    assert_eq!(pages, ["a 0 [0, 1]", "a 0 [2], b 0 [0]", "b 0 [1, 2]", "no 3 []"]);
}

#[test]
fn no_answer_has_a_field_that_its_version_lacks() {
    let mut world = World::new();
    let created = create(&mut world, &["a", "a b"], false).response;
    let mut all = by_name(&["a", "no"]);
    all.include_cluster_authorized_operations = true;
    let described = DescribeClusterRequest::default();
    let bodies = |version| {
        ask(&world, |cluster| {
            [
                crate::protocol::ResponseBody::Metadata(metadata(cluster, &all, version)),
                crate::protocol::ResponseBody::DescribeCluster(describe_cluster(cluster, &described)),
                crate::protocol::ResponseBody::CreateTopics(created.clone()),
            ]
        })
    };
    let mut encoded = 0;
    for version in 0..=13 {
        for body in bodies(version) {
            if body.api().serves(version) {
                crate::protocol::encode_response(1, version, &body)
                    .unwrap_or_else(|error| panic!("{body:?}: {error}"));
                encoded += 1;
            }
        }
    }
    assert_eq!(encoded, 14 + 3 + 6);
}
