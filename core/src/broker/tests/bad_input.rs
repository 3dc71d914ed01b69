//! What others get wrong: words of a controller that is none any more, nodes that nobody can read.

use super::client::*;
use crate::coordination::Multi;
use crate::error::ErrorCode;
use crate::metadata::nodes;
use crate::protocol::control::{
    LeaderAndIsrPartition, LeaderAndIsrRequest, LeaderAndIsrTopic, StopReplicaPartition, StopReplicaRequest,
    StopReplicaTopic, UpdateMetadataRequest,
};
use crate::protocol::messages::incremental_alter_configs_request::{AlterConfigsResource, AlterableConfig};
use crate::protocol::messages::{
    DescribeConfigsRequest, IncrementalAlterConfigsRequest,
    describe_configs_request::DescribeConfigsResource, message,
};
use crate::protocol::{RequestBody, ResponseBody};
use crate::sim::Host;
use crate::types::Millis;

const TOPIC: i8 = 2;

fn said(host: &mut Host, version: i16, word: &RequestBody) -> ErrorCode {
    let conn = host.connect();
    match host.ask(conn, version, word) {
        Some(ResponseBody::LeaderAndIsr(answer)) => answer.error_code,
        Some(ResponseBody::UpdateMetadata(answer)) => answer.error_code,
        Some(ResponseBody::StopReplica(answer)) => answer.error_code,
        other => panic!("{other:?}"),
    }
}

/// The three words of a controller, each of which would change something.
fn words(host: &Host, controller_epoch: i32, broker_epoch: i64) -> [(i16, RequestBody); 3] {
    let topic_id = host.coordination.service().and_then(|service| {
        let topic: nodes::TopicAssignment = nodes::read(service.tree(), "/brokers/topics/t").ok()??;
        Some(topic.topic_id)
    });
    let follow = LeaderAndIsrPartition {
        leader: 2,
        leader_epoch: 5,
        partition_epoch: 5,
        isr: vec![2],
        replicas: vec![2, 1],
        ..LeaderAndIsrPartition::default()
    };
    [
        (
            7,
            RequestBody::LeaderAndIsr(LeaderAndIsrRequest {
                controller_id: 2,
                controller_epoch,
                broker_epoch,
                topics: vec![LeaderAndIsrTopic {
                    name: "t".into(),
                    topic_id: topic_id.unwrap(),
                    partitions: vec![follow],
                }],
                ..LeaderAndIsrRequest::default()
            }),
        ),
        (
            8,
            RequestBody::UpdateMetadata(UpdateMetadataRequest {
                controller_id: 2,
                controller_epoch,
                broker_epoch,
                ..UpdateMetadataRequest::default()
            }),
        ),
        (
            4,
            RequestBody::StopReplica(StopReplicaRequest {
                controller_id: 2,
                controller_epoch,
                broker_epoch,
                topics: vec![StopReplicaTopic {
                    name: "t".into(),
                    partitions: vec![StopReplicaPartition {
                        partition_index: 0,
                        leader_epoch: 5,
                        delete_partition: true,
                    }],
                }],
                ..StopReplicaRequest::default()
            }),
        ),
    ]
}

#[test]
fn words_of_an_older_controller_or_to_an_older_life_change_nothing() {
    let mut host = broker();
    make_topic(&mut host, "t");
    produce(&mut host, "t", &["a"]);
    // The second life: its epoch is greater than that of the first.
    host.crash();
    host.boot();
    for (version, word) in words(&host, 0, -1) {
        assert_eq!(said(&mut host, version, &word), ErrorCode::StaleControllerEpoch);
    }
    for (version, word) in words(&host, 99, 1) {
        assert_eq!(said(&mut host, version, &word), ErrorCode::StaleBrokerEpoch);
    }
    assert_eq!(
        produce(&mut host, "t", &["b"]).error_code,
        ErrorCode::None,
        "it leads on"
    );
    assert_eq!(make_topic(&mut host, "t").brokers.len(), 1);
    assert_eq!(read_all(&mut host, "t"), ["a", "b"]);
    let [(version, word), ..] = words(&host, 99, -1);
    assert_eq!(
        said(&mut host, version, &word),
        ErrorCode::None,
        "a later controller is heard"
    );
    assert_eq!(
        produce(&mut host, "t", &["c"]).error_code,
        ErrorCode::NotLeaderOrFollower
    );
}

fn alter(host: &mut Host, key: &str, value: &str) {
    let change = message(|change: &mut AlterableConfig| {
        change.name = key.into();
        change.value = Some(value.into());
    });
    let body = message(|body: &mut IncrementalAlterConfigsRequest| {
        body.resources = vec![message(|resource: &mut AlterConfigsResource| {
            (resource.resource_type, resource.resource_name) = (TOPIC, "t".into());
            resource.configs = vec![change];
        })];
    });
    let conn = host.connect();
    match host.ask(conn, 1, &RequestBody::IncrementalAlterConfigs(body)) {
        Some(ResponseBody::IncrementalAlterConfigs(answer)) => assert_eq!(answer.responses[0].error_code, 0),
        other => panic!("{other:?}"),
    }
}

fn setting(host: &mut Host, key: &str) -> String {
    let body = message(|body: &mut DescribeConfigsRequest| {
        body.resources = vec![message(|resource: &mut DescribeConfigsResource| {
            (resource.resource_type, resource.resource_name) = (TOPIC, "t".into());
            resource.configuration_keys = Some(vec![key.into()]);
        })];
    });
    let conn = host.connect();
    match host.ask(conn, 4, &RequestBody::DescribeConfigs(body)) {
        Some(ResponseBody::DescribeConfigs(answer)) => answer.results[0].configs[0]
            .value
            .as_deref()
            .unwrap_or_default()
            .to_owned(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn nodes_that_cannot_be_read_are_said_and_change_nothing() {
    let mut host = broker();
    make_topic(&mut host, "t");
    alter(&mut host, "retention.ms", "12345");
    let bad = Multi::new()
        .set("/config/topics/t", "{", None)
        .create_sequential(
            "/config/changes/config_change_",
            r#"{"version":2,"entity_path":"topics/t"}"#,
        )
        .create_sequential("/config/changes/config_change_", "nonsense");
    somebody_writes(&mut host, bad);
    assert_eq!(
        setting(&mut host, "retention.ms"),
        "12345",
        "what was set before holds on"
    );
    for words in ["/config/topics/t cannot be read", "config_change_"] {
        let lines = &host.said;
        assert!(
            lines.iter().any(|(_, line)| line.contains(words)),
            "{words}: {lines:?}"
        );
    }
    produce(&mut host, "t", &["a"]);
    assert_eq!(read_all(&mut host, "t"), ["a"]);
}

#[test]
fn a_controllers_node_that_cannot_be_read_is_waited_for() {
    let mut host = Host::new(Default::default(), &["broker.id=1", "log.dirs=/data"]);
    host.boot();
    host.shut_down();
    host.coordination.boot(host.now, &mut host.trace);
    somebody_writes(
        &mut host,
        Multi::new()
            .create("/controller", "{")
            .set("/controller_epoch", "many", None),
    );
    host.coordination.crash();
    host.said.clear();
    host.boot();
    assert!(!host.ready);
    assert!(
        host.said
            .iter()
            .any(|(_, line)| line.contains("/controller cannot be read")),
        "{:?}",
        host.said
    );
    somebody_writes(&mut host, Multi::new().delete("/controller", None));
    assert!(host.ready, "{:?}", host.said);
    make_topic(&mut host, "t");
    produce(&mut host, "t", &["a"]);
}

#[test]
fn announcements_of_settings_go_when_everybody_must_have_seen_them() {
    const MINUTE_MS: Millis = 60_000;
    let mut host = broker();
    make_topic(&mut host, "t");
    let announced = |host: &Host| {
        let tree = host.coordination.service().unwrap().tree();
        tree.children("/config/changes").count()
    };
    for value in 1..=150 {
        alter(&mut host, "retention.ms", &value.to_string());
    }
    host.advance(15 * MINUTE_MS);
    alter(&mut host, "retention.ms", "200");
    assert_eq!(announced(&host), 151, "not before their time");
    host.advance(MINUTE_MS);
    alter(&mut host, "retention.ms", "300");
    assert_eq!(announced(&host), 2, "more than go at one look");
    assert_eq!(setting(&mut host, "retention.ms"), "300");
    assert_eq!(
        node(&host, "/config/topics/t").as_deref(),
        Some(r#"{"version":1,"config":{"retention.ms":"300"}}"#)
    );
    // The next life counts from its own start.
    host.crash();
    host.boot();
    host.advance(16 * MINUTE_MS);
    alter(&mut host, "retention.ms", "400");
    assert_eq!(announced(&host), 1);
}

#[test]
fn a_topic_without_settings_has_their_node_all_the_same() {
    let mut host = broker();
    make_topic(&mut host, "t");
    assert_eq!(
        node(&host, "/config/topics/t").as_deref(),
        Some(r#"{"version":1,"config":{}}"#)
    );
    delete_topic(&mut host, "t");
    assert_eq!(node(&host, "/config/topics/t"), None);
}
