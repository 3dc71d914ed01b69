//! The frames of Kafka 3.9 as values. That they come back as the same bytes is tested with all other
//! frames, in `wire_samples`.

use super::*;
use crate::error::ErrorCode;
use crate::protocol::wire_samples::{Sample, between_brokers};
use crate::protocol::{ApiKey, RequestBody, ResponseBody, decode_request, decode_response};
use crate::types::{LeaderRecoveryState, TopicPartition, Uuid};

fn requests(sample: &Sample) -> Vec<RequestBody> {
    let body = |frame: &bytes::Bytes| decode_request(frame.clone()).unwrap().body;
    sample.requests.iter().map(body).collect()
}

fn responses(api: ApiKey, sample: &Sample) -> Vec<ResponseBody> {
    let body = |frame: &bytes::Bytes| decode_response(api, sample.version, frame.clone()).unwrap();
    sample.responses.iter().map(|frame| body(frame).body).collect()
}

/// The id of 16 bytes that count up from `first`, once the version has ids.
fn id(first: u8, there: bool) -> Uuid {
    match there {
        true => Uuid(std::array::from_fn(|i| first + i as u8)),
        false => Uuid::ZERO,
    }
}

fn when<T: Default>(there: bool, value: T) -> T {
    if there { value } else { T::default() }
}

fn epoch(there: bool) -> i64 {
    if there { 99 } else { -1 }
}

fn assert_versions(api: ApiKey, count: usize) {
    assert_eq!(between_brokers(api).count(), count);
    let served = api.served().unwrap();
    assert_eq!((served.max - served.min) as usize + 1, count);
}

fn leader_and_isr(version: i16) -> LeaderAndIsrRequest {
    let first = LeaderAndIsrPartition {
        partition_index: 0,
        controller_epoch: 5,
        leader: 1,
        leader_epoch: 9,
        isr: vec![1, 2],
        partition_epoch: 14,
        replicas: vec![1, 2, 3],
        adding_replicas: when(version >= 3, vec![3]),
        removing_replicas: when(version >= 3, vec![2]),
        is_new: version >= 1,
        leader_recovery_state: when(version >= 6, LeaderRecoveryState::Recovering),
    };
    let second = LeaderAndIsrPartition {
        partition_index: 1,
        controller_epoch: 4,
        leader: -1,
        leader_epoch: 3,
        isr: vec![2],
        partition_epoch: 7,
        replicas: vec![2, 3],
        ..LeaderAndIsrPartition::default()
    };
    let third = LeaderAndIsrPartition {
        controller_epoch: 5,
        leader: 2,
        isr: vec![2],
        replicas: vec![2],
        ..LeaderAndIsrPartition::default()
    };
    LeaderAndIsrRequest {
        controller_id: 1,
        is_kraft_controller: false,
        controller_epoch: 5,
        broker_epoch: epoch(version >= 2),
        kind: when(version >= 5, ControlRequestKind::Full),
        topics: vec![
            LeaderAndIsrTopic {
                name: "alpha".into(),
                topic_id: id(1, version >= 5),
                partitions: vec![first, second],
            },
            LeaderAndIsrTopic {
                name: "beta".into(),
                topic_id: id(17, version >= 5),
                partitions: vec![third],
            },
        ],
        live_leaders: vec![LiveLeader {
            broker_id: 1,
            host: "host-1".into(),
            port: 9092,
        }],
    }
}

fn leader_and_isr_answer(version: i16) -> LeaderAndIsrResponse {
    let partition = |partition_index, error_code| LeaderAndIsrPartitionError {
        partition_index,
        error_code,
    };
    let topic = |name: &str, first, partitions| LeaderAndIsrTopicError {
        name: when(version < 5, name.into()),
        topic_id: id(first, version >= 5),
        partitions,
    };
    let storage = ErrorCode::KafkaStorageError;
    LeaderAndIsrResponse {
        error_code: ErrorCode::None,
        topics: vec![
            topic(
                "alpha",
                1,
                vec![partition(0, ErrorCode::None), partition(1, storage)],
            ),
            topic("beta", 17, vec![partition(0, ErrorCode::None)]),
        ],
    }
}

#[test]
fn leader_and_isr_reads_as_what_kafka_wrote_in_every_version() {
    let api = ApiKey::LeaderAndIsr;
    assert_versions(api, 8);
    for sample in between_brokers(api) {
        let version = sample.version;
        let wanted = [RequestBody::LeaderAndIsr(leader_and_isr(version))];
        assert_eq!(requests(&sample), wanted, "v{version}");
        let stale = LeaderAndIsrResponse {
            error_code: ErrorCode::StaleControllerEpoch,
            topics: vec![],
        };
        let wanted = [leader_and_isr_answer(version).into(), stale.into()];
        assert_eq!(responses(api, &sample), wanted, "v{version}");
    }
}

fn stop_replica(version: i16) -> StopReplicaRequest {
    let partition = |partition_index, leader_epoch, delete_partition| StopReplicaPartition {
        partition_index,
        leader_epoch: if version >= 3 { leader_epoch } else { -1 },
        delete_partition: delete_partition || version < 3,
    };
    let topic = |name: &str, partitions| StopReplicaTopic {
        name: name.into(),
        partitions,
    };
    StopReplicaRequest {
        controller_id: 1,
        is_kraft_controller: false,
        controller_epoch: 5,
        broker_epoch: epoch(version >= 1),
        topics: vec![
            topic("alpha", vec![partition(0, 9, true), partition(1, -1, false)]),
            topic("beta", vec![partition(0, EPOCH_DURING_DELETE, true)]),
        ],
    }
}

#[test]
fn stop_replica_reads_as_what_kafka_wrote_in_every_version() {
    let api = ApiKey::StopReplica;
    assert_versions(api, 5);
    for sample in between_brokers(api) {
        let version = sample.version;
        assert_eq!(
            requests(&sample),
            [RequestBody::StopReplica(stop_replica(version))],
            "v{version}"
        );
        let partition = |topic, error_code| StopReplicaPartitionError {
            partition: TopicPartition::new(topic, 0),
            error_code,
        };
        let answer = StopReplicaResponse {
            error_code: ErrorCode::None,
            partitions: vec![
                partition("alpha", ErrorCode::None),
                partition("beta", ErrorCode::FencedLeaderEpoch),
            ],
        };
        let stale = StopReplicaResponse {
            error_code: ErrorCode::StaleBrokerEpoch,
            partitions: vec![],
        };
        assert_eq!(
            responses(api, &sample),
            [answer.into(), stale.into()],
            "v{version}"
        );
    }
}

#[test]
fn an_old_stop_replica_cannot_delete_some_and_keep_others() {
    let request = stop_replica(3);
    for version in 0..3 {
        let mut writer = Writer::frame(version >= 2);
        request.encode(&mut writer, version);
        assert!(matches!(
            writer.finish_frame(),
            Err(Malformed::OutOfRange { value: 2, .. })
        ));
    }
}

fn update_metadata(version: i16) -> UpdateMetadataRequest {
    let first = UpdateMetadataPartition {
        partition_index: 0,
        controller_epoch: 5,
        leader: 1,
        leader_epoch: 9,
        isr: vec![1, 2],
        partition_epoch: 14,
        replicas: vec![1, 2, 3],
        offline_replicas: when(version >= 4, vec![3]),
    };
    let second = UpdateMetadataPartition {
        controller_epoch: 5,
        leader: LEADER_DURING_DELETE,
        isr: vec![2],
        replicas: vec![2],
        ..UpdateMetadataPartition::default()
    };
    let topic = |name: &str, first, partition| UpdateMetadataTopic {
        name: name.into(),
        topic_id: id(first, version >= 7),
        partitions: vec![partition],
    };
    UpdateMetadataRequest {
        controller_id: 1,
        controller_epoch: 5,
        broker_epoch: epoch(version >= 5),
        topics: vec![topic("alpha", 1, first), topic("beta", 17, second)],
        live_brokers: live_brokers(version),
        ..UpdateMetadataRequest::default()
    }
}

fn live_brokers(version: i16) -> Vec<UpdateMetadataBroker> {
    let endpoint = |host: &str, port, listener: &str, security_protocol| UpdateMetadataEndpoint {
        port,
        host: host.into(),
        listener: match (version, security_protocol) {
            (3.., _) => listener.into(),
            (_, 0) => "PLAINTEXT".into(),
            _ => "SSL".into(),
        },
        security_protocol,
    };
    let mut endpoints = vec![endpoint("host-1", 9092, "INSIDE", 0)];
    if version >= 1 {
        endpoints.push(endpoint("public-1", 9093, "OUTSIDE", 1));
    }
    vec![
        UpdateMetadataBroker {
            id: 1,
            endpoints,
            rack: (version >= 2).then(|| "rack".into()),
        },
        UpdateMetadataBroker {
            id: 2,
            endpoints: vec![endpoint("host-2", 9092, "INSIDE", 0)],
            rack: None,
        },
    ]
}

#[test]
fn update_metadata_reads_as_what_kafka_wrote_in_every_version() {
    let api = ApiKey::UpdateMetadata;
    assert_versions(api, 9);
    for sample in between_brokers(api) {
        let version = sample.version;
        let mut wanted = vec![RequestBody::UpdateMetadata(update_metadata(version))];
        if version >= 8 {
            wanted.push(RequestBody::UpdateMetadata(UpdateMetadataRequest {
                controller_id: 3000,
                is_kraft_controller: true,
                kind: ControlRequestKind::Full,
                controller_epoch: 6,
                broker_epoch: 99,
                ..UpdateMetadataRequest::default()
            }));
        }
        assert_eq!(requests(&sample), wanted, "v{version}");
        let answer = |error_code| UpdateMetadataResponse { error_code }.into();
        assert_eq!(
            responses(api, &sample),
            [answer(ErrorCode::None), answer(ErrorCode::StaleControllerEpoch)],
            "v{version}"
        );
    }
}

#[test]
fn controlled_shutdown_reads_as_what_kafka_wrote_in_every_version() {
    let api = ApiKey::ControlledShutdown;
    assert_versions(api, 4);
    for sample in between_brokers(api) {
        let version = sample.version;
        let wanted = RequestBody::ControlledShutdown(ControlledShutdownRequest {
            broker_id: 2,
            broker_epoch: epoch(version >= 2),
        });
        assert_eq!(requests(&sample), [wanted], "v{version}");
        let partitions = vec![TopicPartition::new("alpha", 0), TopicPartition::new("beta", 3)];
        let answer = |error_code, remaining_partitions| ControlledShutdownResponse {
            error_code,
            remaining_partitions,
        };
        assert_eq!(
            responses(api, &sample),
            [
                answer(ErrorCode::None, partitions).into(),
                answer(ErrorCode::StaleBrokerEpoch, vec![]).into()
            ],
            "v{version}"
        );
    }
}
