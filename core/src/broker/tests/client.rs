//! What the tests of this folder say to a broker, in few words.

use crate::coordination::{CoordinationOp, Multi, ServiceInput};
use crate::error::ErrorCode;
use crate::io::ConnId;
use crate::protocol::fetch::{
    FetchPartition, FetchPartitionResponse, FetchRequest, FetchResponse, FetchTopic,
};
use crate::protocol::messages::metadata_request::MetadataRequestTopic;
use crate::protocol::messages::{MetadataRequest, MetadataResponse, message};
use crate::protocol::produce::{
    ProducePartition, ProducePartitionResponse, ProduceRequest, ProduceResponse, ProduceTopic,
};
use crate::protocol::{RequestBody, ResponseBody};
use crate::record::{BatchBuilder, Batches, Codec};
use crate::sim::Host;
use crate::types::{Offset, PartitionIndex};
use bytes::Bytes;

pub const PRODUCE: i16 = 12;
pub const FETCH: i16 = 12;

/// A broker with one directory and small surprises: topics are made when named.
pub fn broker() -> Host {
    Host::start(&["broker.id=1", "log.dirs=/data"])
}

/// One batch of these values.
pub fn batch(host: &Host, values: &[&str]) -> Bytes {
    let mut builder = BatchBuilder::new(Codec::None);
    for value in values {
        builder.append(host.now, None, Some(value.as_bytes()), &[]);
    }
    builder.build()
}

pub fn produce_request(topic: &str, partition: PartitionIndex, acks: i16, records: Bytes) -> RequestBody {
    RequestBody::Produce(ProduceRequest {
        transactional_id: None,
        acks,
        timeout_ms: 1000,
        topics: vec![ProduceTopic {
            name: topic.into(),
            topic_id: Default::default(),
            partitions: vec![ProducePartition {
                index: partition,
                records: Some(records),
            }],
        }],
    })
}

/// Names a topic, which makes it if it is not there.
pub fn name_topic(host: &mut Host, name: &str) -> MetadataResponse {
    let conn = host.connect();
    let body = message(|body: &mut MetadataRequest| {
        body.topics = Some(vec![message(|topic: &mut MetadataRequestTopic| {
            topic.name = Some(name.into());
        })]);
        body.allow_auto_topic_creation = true;
    });
    match host.ask(conn, 12, &RequestBody::Metadata(body)) {
        Some(ResponseBody::Metadata(answer)) => answer,
        other => panic!("{other:?}"),
    }
}

/// Makes the topic by naming it; what is known of it when it is made.
pub fn make_topic(host: &mut Host, name: &str) -> MetadataResponse {
    name_topic(host, name);
    name_topic(host, name)
}

pub fn produced(answer: Option<ResponseBody>) -> ProduceResponse {
    match answer {
        Some(ResponseBody::Produce(answer)) => answer,
        other => panic!("no answer to the produce: {other:?}"),
    }
}

/// Produces values with acks=all; the partition's answer.
pub fn produce(host: &mut Host, topic: &str, values: &[&str]) -> ProducePartitionResponse {
    let conn = host.connect();
    let records = batch(host, values);
    let answer = host.ask(conn, PRODUCE, &produce_request(topic, 0, -1, records));
    produced(answer).topics[0].partitions[0].clone()
}

pub fn fetch_request(topic: &str, offset: Offset, max_wait_ms: i32, min_bytes: i32) -> FetchRequest {
    FetchRequest {
        max_wait_ms,
        min_bytes,
        topics: vec![FetchTopic {
            name: topic.into(),
            topic_id: Default::default(),
            partitions: vec![FetchPartition {
                fetch_offset: offset,
                max_bytes: 1 << 20,
                ..FetchPartition::default()
            }],
        }],
        ..FetchRequest::default()
    }
}

pub fn fetched(answer: Option<ResponseBody>) -> FetchResponse {
    match answer {
        Some(ResponseBody::Fetch(answer)) => answer,
        other => panic!("no answer to the fetch: {other:?}"),
    }
}

/// Fetches from the offset without waiting.
pub fn fetch(host: &mut Host, topic: &str, offset: Offset) -> FetchPartitionResponse {
    let conn = host.connect();
    fetch_on(host, conn, topic, offset)
}

pub fn fetch_on(host: &mut Host, conn: ConnId, topic: &str, offset: Offset) -> FetchPartitionResponse {
    let answer = host.ask(
        conn,
        FETCH,
        &RequestBody::Fetch(fetch_request(topic, offset, 0, 1)),
    );
    fetched(answer).topics[0].partitions[0].clone()
}

/// The offsets and values that an answer carries.
pub fn values(answer: &FetchPartitionResponse) -> Vec<(Offset, String)> {
    use crate::io::Part;
    let mut all = Vec::new();
    for part in answer.records.iter().flatten() {
        let Part::Bytes(bytes) = part else {
            panic!("a decoded answer holds bytes");
        };
        for batch in Batches::new(bytes.clone()) {
            let Ok(batch) = batch else { break };
            let records = batch
                .records(&crate::record::compression::PureRust, 1 << 20)
                .unwrap();
            all.extend(records.map(|record| {
                let record = record.unwrap();
                let value = record.value.unwrap_or_default();
                (record.offset, String::from_utf8_lossy(&value).into_owned())
            }));
        }
    }
    all
}

/// Everything in the partition from the offset on.
pub fn read_all(host: &mut Host, topic: &str) -> Vec<String> {
    let (mut all, mut at) = (Vec::new(), 0);
    loop {
        let answer = fetch(host, topic, at);
        assert_eq!(answer.error_code, ErrorCode::None);
        let found = values(&answer);
        let Some((last, _)) = found.last() else {
            return all;
        };
        at = last + 1;
        all.extend(found.into_iter().map(|(_, value)| value));
    }
}

/// A broker whose topic `t` rolls every few hundred bytes.
pub fn small_segments() -> Host {
    let mut host = broker();
    create_topic(
        &mut host,
        "t",
        &[
            ("internal.segment.bytes", "600"),
            ("segment.index.bytes", "64"),
            ("index.interval.bytes", "100"),
        ],
    );
    host
}

/// Creates a topic of one partition with these settings.
pub fn create_topic(host: &mut Host, name: &str, configs: &[(&str, &str)]) {
    use crate::protocol::messages::CreateTopicsRequest;
    use crate::protocol::messages::create_topics_request::{CreatableTopic, CreatableTopicConfig};
    let body = message(|body: &mut CreateTopicsRequest| {
        body.topics = vec![message(|topic: &mut CreatableTopic| {
            topic.name = name.into();
            topic.num_partitions = 1;
            topic.replication_factor = 1;
            topic.configs = configs
                .iter()
                .map(|(key, value)| {
                    message(|config: &mut CreatableTopicConfig| {
                        config.name = (*key).into();
                        config.value = Some((*value).into());
                    })
                })
                .collect();
        })];
    });
    let conn = host.connect();
    match host.ask(conn, 7, &RequestBody::CreateTopics(body)) {
        Some(ResponseBody::CreateTopics(answer)) => {
            assert_eq!(
                answer.topics[0].error_code, 0,
                "{:?}",
                answer.topics[0].error_message
            );
        }
        other => panic!("{other:?}"),
    }
}

pub fn delete_topic(host: &mut Host, name: &str) {
    use crate::protocol::messages::DeleteTopicsRequest;
    let body = message(|body: &mut DeleteTopicsRequest| body.topic_names = vec![name.into()]);
    let conn = host.connect();
    match host.ask(conn, 5, &RequestBody::DeleteTopics(body)) {
        Some(ResponseBody::DeleteTopics(answer)) => assert_eq!(answer.responses[0].error_code, 0),
        other => panic!("{other:?}"),
    }
}

/// Asks to delete the records of partition 0 below the offset.
pub fn delete_records_request(topic: &str, offset: Offset, timeout_ms: i32) -> RequestBody {
    use crate::protocol::messages::DeleteRecordsRequest;
    use crate::protocol::messages::delete_records_request::{DeleteRecordsPartition, DeleteRecordsTopic};
    RequestBody::DeleteRecords(message(|body: &mut DeleteRecordsRequest| {
        body.timeout_ms = timeout_ms;
        body.topics = vec![message(|row: &mut DeleteRecordsTopic| {
            row.name = topic.into();
            row.partitions = vec![message(|row: &mut DeleteRecordsPartition| row.offset = offset)];
        })];
    }))
}

/// The error and the low watermark that an answer to DeleteRecords tells.
pub fn records_deleted(answer: Option<ResponseBody>) -> (ErrorCode, Offset) {
    match answer {
        Some(ResponseBody::DeleteRecords(answer)) => {
            let row = &answer.topics[0].partitions[0];
            (ErrorCode::from_code(row.error_code).unwrap(), row.low_watermark)
        }
        other => panic!("no answer to the deletion: {other:?}"),
    }
}

/// A session with the coordination service that is not the broker's.
const SOMEBODY: u64 = 99;

/// Somebody else writes into the tree.
pub fn somebody_writes(host: &mut Host, multi: Multi) {
    let connect = ServiceInput::Connect {
        client: SOMEBODY,
        timeout_ms: 1000,
        resume: None,
    };
    let ask = ServiceInput::Ask {
        client: SOMEBODY,
        id: 1,
        op: CoordinationOp::Multi(multi),
    };
    for input in [connect, ask] {
        host.coordination.handle(host.now, input, &mut host.trace);
        host.hold_coordination(false);
    }
}

/// Their session ends, and with it their ephemeral nodes.
pub fn somebody_leaves(host: &mut Host) {
    let close = ServiceInput::Close { client: SOMEBODY };
    host.coordination.handle(host.now, close, &mut host.trace);
    host.hold_coordination(false);
}

/// The bytes of a node, as text.
pub fn node(host: &Host, path: &str) -> Option<String> {
    let tree = host.coordination.service()?.tree();
    let node = tree.get(path)?;
    Some(String::from_utf8_lossy(&node.data).into_owned())
}
