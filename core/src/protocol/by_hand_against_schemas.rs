//! Produce and Fetch are coded by hand; here every version of them is held against the codec that
//! is generated from Kafka's schemas: it must read what ours wrote, and write it back to the same
//! bytes, which ours then reads as the same value.

use bytes::{Bytes, BytesMut};
use kafka_wire_core::{ApiVersion, DecodeLimits, KafkaDecode, KafkaEncode};
use smallvec::smallvec;

use super::fetch::*;
use super::leadership::{LeaderIdAndEpoch, NodeEndpoint};
use super::primitives::{Reader, Writer};
use super::produce::*;
use super::*;
use crate::disk::Part;
use crate::error::{ErrorCode, Malformed};
use crate::types::Uuid;

fn topic_id() -> Uuid {
    Uuid(std::array::from_fn(|i| i as u8 + 1))
}

/// What `write` writes in the spelling of `version`.
fn written(api: ApiKey, version: i16, write: impl FnOnce(&mut Writer)) -> Bytes {
    let mut writer = Writer::frame(api.is_flexible(version));
    write(&mut writer);
    let mut all = BytesMut::new();
    for part in writer.finish_frame().unwrap() {
        match part {
            Part::Bytes(bytes) => all.extend_from_slice(&bytes),
            Part::File { .. } => panic!("a file range"),
        }
    }
    all.freeze().slice(4..)
}

/// The generated codec's reading of `bytes`, written again.
fn by_schema<T: KafkaDecode + KafkaEncode>(bytes: &Bytes, version: i16) -> Bytes {
    let version = ApiVersion::new(version);
    let message = T::decode_from_bytes(bytes.clone(), version, DecodeLimits::default()).unwrap();
    message.encode_to_bytes(version).unwrap()
}

fn read<T>(
    api: ApiKey,
    version: i16,
    bytes: Bytes,
    decode: impl FnOnce(&mut Reader, i16) -> Result<T, Malformed>,
) -> T {
    let mut reader = Reader::new(bytes, api.is_flexible(version));
    let value = decode(&mut reader, version).unwrap();
    reader.finish("message").unwrap();
    value
}

/// A topic's name and id as `version` carries them.
fn named(version: i16) -> (StrBytes, Uuid) {
    if version >= 13 {
        (StrBytes::default(), topic_id())
    } else {
        ("topic".into(), Uuid::ZERO)
    }
}

fn node() -> NodeEndpoint {
    NodeEndpoint {
        node_id: 2,
        host: "host".into(),
        port: 9092,
        rack: None,
    }
}

const LEADER: LeaderIdAndEpoch = LeaderIdAndEpoch {
    leader_id: 2,
    leader_epoch: 7,
};

fn produce_request(version: i16) -> ProduceRequest {
    let (name, topic_id) = named(version);
    let partition = |index, records: Option<&'static [u8]>| ProducePartition {
        index,
        records: records.map(Bytes::from_static),
    };
    let partitions = vec![
        partition(0, Some(b"records")),
        partition(1, Some(b"")),
        partition(2, None),
    ];
    ProduceRequest {
        transactional_id: (version % 2 == 0).then(|| "transactional".into()),
        acks: -1,
        timeout_ms: 30_000,
        topics: vec![ProduceTopic {
            name,
            topic_id,
            partitions,
        }],
    }
}

fn produce_response(version: i16) -> ProduceResponse {
    let (name, topic_id) = named(version);
    let good = ProducePartitionResponse {
        index: 0,
        base_offset: 17,
        log_start_offset: if version >= 5 { 3 } else { -1 },
        ..ProducePartitionResponse::default()
    };
    let mut bad = ProducePartitionResponse {
        index: 1,
        error_code: ErrorCode::NotLeaderOrFollower,
        ..ProducePartitionResponse::default()
    };
    if version >= 8 {
        bad.record_errors = vec![RecordError {
            batch_index: 1,
            message: None,
        }];
        bad.error_message = Some("why".into());
    }
    if version >= 10 {
        bad.current_leader = LEADER;
    }
    ProduceResponse {
        topics: vec![ProduceTopicResponse {
            name,
            topic_id,
            partitions: vec![good, bad],
        }],
        throttle_time_ms: 5,
        node_endpoints: if version >= 10 { vec![node()] } else { vec![] },
    }
}

#[test]
fn produce_is_what_the_schema_says_in_every_version() {
    for version in 3..=13 {
        let request = produce_request(version);
        let bytes = written(ApiKey::Produce, version, |w| request.encode(w, version));
        assert_eq!(
            by_schema::<kafka_wire::ProduceRequest>(&bytes, version),
            bytes,
            "v{version}"
        );
        assert_eq!(
            read(ApiKey::Produce, version, bytes, ProduceRequest::decode),
            request
        );

        for response in [produce_response(version), ProduceResponse::default()] {
            let bytes = written(ApiKey::Produce, version, |w| response.encode(w, version));
            assert_eq!(
                by_schema::<kafka_wire::ProduceResponse>(&bytes, version),
                bytes,
                "v{version}"
            );
            assert_eq!(
                read(ApiKey::Produce, version, bytes, ProduceResponse::decode),
                response
            );
        }
    }
}

fn fetch_request(version: i16) -> FetchRequest {
    let since = |first: i16, value: i64, before: i64| if version >= first { value } else { before };
    let (name, topic_id) = named(version);
    let partition = FetchPartition {
        partition: 4,
        current_leader_epoch: since(9, 6, -1) as i32,
        fetch_offset: 1000,
        last_fetched_epoch: since(12, 5, -1) as i32,
        log_start_offset: since(5, 12, -1),
        max_bytes: 1 << 20,
        replica_directory_id: if version >= 17 { Uuid([9; 16]) } else { Uuid::ZERO },
        high_watermark: since(18, 999, i64::MAX),
    };
    let forgotten = ForgottenTopic {
        name: name.clone(),
        topic_id,
        partitions: vec![1, 2],
    };
    FetchRequest {
        cluster_id: (version >= 12).then(|| "cluster".into()),
        replica_id: 3,
        replica_epoch: since(15, 77, -1),
        max_wait_ms: 500,
        min_bytes: 1,
        max_bytes: 50 << 20,
        isolation_level: 1,
        session_id: since(7, 123, 0) as i32,
        session_epoch: since(7, 9, -1) as i32,
        topics: vec![FetchTopic {
            name,
            topic_id,
            partitions: vec![partition],
        }],
        forgotten_topics: if version >= 7 { vec![forgotten] } else { vec![] },
        rack_id: if version >= 11 {
            "rack".into()
        } else {
            StrBytes::default()
        },
    }
}

fn fetch_response(version: i16) -> FetchResponse {
    let (name, topic_id) = named(version);
    let good = FetchPartitionResponse {
        partition: 0,
        high_watermark: 10,
        last_stable_offset: 8,
        log_start_offset: if version >= 5 { 2 } else { -1 },
        aborted_transactions: Some(vec![AbortedTransaction {
            producer_id: 4,
            first_offset: 5,
        }]),
        preferred_read_replica: if version >= 11 { 3 } else { -1 },
        records: Some(smallvec![Part::Bytes(Bytes::from_static(b"batches"))]),
        ..FetchPartitionResponse::default()
    };
    let mut bad = FetchPartitionResponse {
        partition: 1,
        error_code: ErrorCode::FencedLeaderEpoch,
        records: None,
        ..FetchPartitionResponse::default()
    };
    if version >= 12 {
        bad.current_leader = LEADER;
        bad.diverging_epoch = EpochEndOffset {
            epoch: 3,
            end_offset: 40,
        };
        bad.snapshot_id = SnapshotId {
            end_offset: 30,
            epoch: 2,
        };
    }
    FetchResponse {
        throttle_time_ms: 1,
        session_id: if version >= 7 { 123 } else { 0 },
        topics: vec![FetchTopicResponse {
            name,
            topic_id,
            partitions: vec![good, bad, FetchPartitionResponse::default()],
        }],
        node_endpoints: if version >= 16 { vec![node()] } else { vec![] },
        ..FetchResponse::default()
    }
}

#[test]
fn fetch_is_what_the_schema_says_in_every_version() {
    for version in 4..=18 {
        for request in [fetch_request(version), FetchRequest::default()] {
            let bytes = written(ApiKey::Fetch, version, |w| request.encode(w, version));
            assert_eq!(
                by_schema::<kafka_wire::FetchRequest>(&bytes, version),
                bytes,
                "v{version}"
            );
            assert_eq!(read(ApiKey::Fetch, version, bytes, FetchRequest::decode), request);
        }
        for response in [fetch_response(version), FetchResponse::default()] {
            let bytes = written(ApiKey::Fetch, version, |w| response.encode(w, version));
            assert_eq!(
                by_schema::<kafka_wire::FetchResponse>(&bytes, version),
                bytes,
                "v{version}"
            );
            assert_eq!(
                read(ApiKey::Fetch, version, bytes, FetchResponse::decode),
                response
            );
        }
    }
}
