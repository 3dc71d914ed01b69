//! What tests ask a broker for, in few words: topics, records, ids.
//!
//! Each function asks one request of the highest version that names topics by name, and waits.

use std::collections::BTreeMap;

use bytes::Bytes;
use highwater_core::disk::Part;
use highwater_core::error::ErrorCode;
use highwater_core::protocol::fetch::{FetchPartition, FetchPartitionResponse, FetchRequest, FetchTopic};
use highwater_core::protocol::messages::create_topics_request::{CreatableTopic, CreatableTopicConfig};
use highwater_core::protocol::messages::delete_records_request::{
    DeleteRecordsPartition, DeleteRecordsTopic,
};
use highwater_core::protocol::messages::delete_topics_request::DeleteTopicState;
use highwater_core::protocol::messages::describe_configs_request::DescribeConfigsResource;
use highwater_core::protocol::messages::incremental_alter_configs_request::{
    AlterConfigsResource, AlterableConfig,
};
use highwater_core::protocol::messages::metadata_request::MetadataRequestTopic;
use highwater_core::protocol::messages::metadata_response::MetadataResponseTopic;
use highwater_core::protocol::messages::{
    CreateTopicsRequest, DeleteRecordsRequest, DeleteTopicsRequest, DescribeConfigsRequest,
    DescribeLogDirsRequest, DescribeLogDirsResponse, IncrementalAlterConfigsRequest, InitProducerIdRequest,
    MetadataRequest, MetadataResponse, message,
};
use highwater_core::protocol::produce::{ProducePartition, ProduceRequest, ProduceTopic};
use highwater_core::protocol::{RequestBody, ResponseBody};
use highwater_core::record::{Batch, Batches};
use highwater_core::types::{Offset, PartitionIndex, ProducerEpoch, ProducerId, Uuid};

use crate::cluster::Seen;
use crate::wire::WireClient;

/// The last versions that name topics by name.
pub const PRODUCE: i16 = 12;
pub const FETCH: i16 = 12;
const METADATA: i16 = 12;
pub const CREATE_TOPICS: i16 = 7;
pub const DELETE_TOPICS: i16 = 6;
const DELETE_RECORDS: i16 = 2;
const DESCRIBE_LOG_DIRS: i16 = 4;
pub const INIT_PRODUCER_ID: i16 = 4;
/// How long the broker may wait for replicas.
const TIMEOUT_MS: i32 = 30_000;

macro_rules! expect_answer {
    ($answer:expr, $api:ident) => {
        match $answer {
            ResponseBody::$api(answer) => answer,
            other => panic!("another API's answer: {other:?}"),
        }
    };
}

fn code(number: i16) -> ErrorCode {
    ErrorCode::from_code(number).unwrap_or(ErrorCode::UnknownServerError)
}

/// What a CreateTopics of one topic says.
pub fn create_topic_request(name: &str, partitions: i32, configs: &[(&str, &str)]) -> RequestBody {
    let config = |(key, value): &(&str, &str)| {
        message(|config: &mut CreatableTopicConfig| {
            config.name = (*key).into();
            config.value = Some((*value).into());
        })
    };
    RequestBody::CreateTopics(message(|request: &mut CreateTopicsRequest| {
        request.timeout_ms = TIMEOUT_MS;
        request.topics = vec![message(|topic: &mut CreatableTopic| {
            topic.name = name.into();
            topic.num_partitions = partitions;
            topic.replication_factor = 1;
            topic.configs = configs.iter().map(config).collect();
        })];
    }))
}

/// The same with so many replicas of each partition.
pub fn create_replicated_request(name: &str, partitions: i32, replicas: i16) -> RequestBody {
    let RequestBody::CreateTopics(mut request) = create_topic_request(name, partitions, &[]) else {
        unreachable!("a CreateTopics is a CreateTopics");
    };
    for topic in &mut request.topics {
        topic.replication_factor = replicas;
    }
    RequestBody::CreateTopics(request)
}

/// Creates a topic; its id.
pub fn create_topic(
    client: &mut WireClient,
    name: &str,
    partitions: i32,
    configs: &[(&str, &str)],
) -> Result<Uuid, ErrorCode> {
    created(client.ask(CREATE_TOPICS, &create_topic_request(name, partitions, configs)))
}

/// What a CreateTopics of one topic was answered: its id, or why not.
pub fn created(answer: ResponseBody) -> Result<Uuid, ErrorCode> {
    let answer = expect_answer!(answer, CreateTopics);
    let topic = answer.topics.first().expect("an answer for the topic");
    match code(topic.error_code) {
        ErrorCode::None => Ok(topic.topic_id.into()),
        error => Err(error),
    }
}

/// What a DeleteTopics of one topic says.
pub fn delete_topic_request(name: &str) -> RequestBody {
    RequestBody::DeleteTopics(message(|request: &mut DeleteTopicsRequest| {
        request.timeout_ms = TIMEOUT_MS;
        request.topics = vec![message(|topic: &mut DeleteTopicState| {
            topic.name = Some(name.into());
        })];
    }))
}

/// Deletes a topic.
pub fn delete_topic(client: &mut WireClient, name: &str) -> ErrorCode {
    deleted(client.ask(DELETE_TOPICS, &delete_topic_request(name)))
}

/// What a DeleteTopics of one topic was answered.
pub fn deleted(answer: ResponseBody) -> ErrorCode {
    let answer = expect_answer!(answer, DeleteTopics);
    code(
        answer
            .responses
            .first()
            .expect("an answer for the topic")
            .error_code,
    )
}

/// What lies in the broker's log directories.
pub fn log_directories(client: &mut WireClient) -> DescribeLogDirsResponse {
    let all = message(|request: &mut DescribeLogDirsRequest| request.topics = None);
    let answer = client.ask(DESCRIBE_LOG_DIRS, &RequestBody::DescribeLogDirs(all));
    expect_answer!(answer, DescribeLogDirs)
}

/// What the broker knows of one topic, which it may make if it does so on demand.
pub fn metadata(client: &mut WireClient, name: &str, may_create: bool) -> MetadataResponse {
    let body = RequestBody::Metadata(message(|request: &mut MetadataRequest| {
        let topic = message(|topic: &mut MetadataRequestTopic| topic.name = Some(name.into()));
        request.topics = Some(vec![topic]);
        request.allow_auto_topic_creation = may_create;
    }));
    expect_answer!(client.ask(METADATA, &body), Metadata)
}

fn metadata_of_all(client: &mut WireClient) -> MetadataResponse {
    let body = RequestBody::Metadata(message(|request: &mut MetadataRequest| request.topics = None));
    expect_answer!(client.ask(METADATA, &body), Metadata)
}

/// All partitions that the broker has heard of, with who leads them and their replicas.
pub fn all_partitions(client: &mut WireClient) -> BTreeMap<(String, i32), (Seen, Vec<i32>)> {
    let answer = metadata_of_all(client);
    let of_topic = |topic: MetadataResponseTopic| {
        let name = topic.name.as_deref().unwrap_or_default().to_owned();
        topic.partitions.into_iter().map(move |partition| {
            let seen = Seen::of(&partition);
            (
                (name.clone(), partition.partition_index),
                (seen, partition.replica_nodes),
            )
        })
    };
    answer.topics.into_iter().flat_map(of_topic).collect()
}

/// All topics that the broker has, with their ids.
pub fn topics(client: &mut WireClient) -> Vec<(String, Uuid)> {
    let answer = metadata_of_all(client);
    let topic = |topic: &MetadataResponseTopic| {
        let name = topic.name.as_deref().unwrap_or_default().to_owned();
        (name, topic.topic_id.into())
    };
    answer.topics.iter().map(topic).collect()
}

/// The id of a topic, if there is such a topic.
pub fn topic_id(client: &mut WireClient, name: &str) -> Option<Uuid> {
    let answer = metadata(client, name, false);
    let topic = answer.topics.first().expect("an answer for the topic");
    match code(topic.error_code) {
        ErrorCode::None => Some(topic.topic_id.into()),
        ErrorCode::UnknownTopicOrPartition => None,
        other => panic!("Metadata of {name}: {other}"),
    }
}

/// A new id for an idempotent producer.
pub fn new_producer_id(client: &mut WireClient) -> (ProducerId, ProducerEpoch) {
    given_producer_id(client.ask(INIT_PRODUCER_ID, &init_producer_id_request()))
}

/// What an InitProducerId without a transaction says.
pub fn init_producer_id_request() -> RequestBody {
    RequestBody::InitProducerId(message(|request: &mut InitProducerIdRequest| {
        request.transactional_id = None;
        request.producer_id = -1;
        request.producer_epoch = -1;
    }))
}

/// What an InitProducerId was answered.
pub fn given_producer_id(answer: ResponseBody) -> (ProducerId, ProducerEpoch) {
    let answer = expect_answer!(answer, InitProducerId);
    assert_eq!(answer.error_code, 0, "a producer id");
    (answer.producer_id, answer.producer_epoch)
}

/// What a Produce of one batch says.
pub fn produce_request(topic: &str, partition: PartitionIndex, acks: i16, records: Bytes) -> RequestBody {
    RequestBody::Produce(ProduceRequest {
        transactional_id: None,
        acks,
        timeout_ms: TIMEOUT_MS,
        topics: vec![ProduceTopic {
            name: topic.into(),
            topic_id: Uuid::ZERO,
            partitions: vec![ProducePartition {
                index: partition,
                records: Some(records),
            }],
        }],
    })
}

/// What a Produce of one batch was answered: where it lies, or why not.
pub fn produced(answer: ResponseBody) -> Result<Offset, ErrorCode> {
    let answer = expect_answer!(answer, Produce);
    let partition = &answer.topics[0].partitions[0];
    match partition.error_code {
        ErrorCode::None => Ok(partition.base_offset),
        error => Err(error),
    }
}

/// Produces one batch with acks=all.
pub fn produce(
    client: &mut WireClient,
    topic: &str,
    partition: PartitionIndex,
    records: Bytes,
) -> Result<Offset, ErrorCode> {
    produced(client.ask(PRODUCE, &produce_request(topic, partition, -1, records)))
}

/// What a Fetch of one partition says; it does not wait for data.
pub fn fetch_request(topic: &str, partition: PartitionIndex, offset: Offset, max_bytes: i32) -> RequestBody {
    RequestBody::Fetch(FetchRequest {
        max_bytes,
        topics: vec![FetchTopic {
            name: topic.into(),
            topic_id: Uuid::ZERO,
            partitions: vec![FetchPartition {
                partition,
                fetch_offset: offset,
                max_bytes,
                ..FetchPartition::default()
            }],
        }],
        ..FetchRequest::default()
    })
}

/// What a Fetch of one partition was answered.
pub fn fetched(answer: ResponseBody) -> FetchPartitionResponse {
    let answer = expect_answer!(answer, Fetch);
    assert_eq!(answer.error_code, ErrorCode::None);
    answer.topics[0].partitions[0].clone()
}

/// Fetches once, without waiting.
pub fn fetch(
    client: &mut WireClient,
    topic: &str,
    partition: PartitionIndex,
    offset: Offset,
) -> FetchPartitionResponse {
    fetched(client.ask(FETCH, &fetch_request(topic, partition, offset, 4 << 20)))
}

/// Fetches what is there, and waits for it: right after a start a log's files may not be open yet.
fn fetch_patiently(
    client: &mut WireClient,
    topic: &str,
    partition: PartitionIndex,
    offset: Offset,
) -> FetchPartitionResponse {
    let RequestBody::Fetch(mut request) = fetch_request(topic, partition, offset, 4 << 20) else {
        unreachable!("a fetch request is one");
    };
    request.min_bytes = 1;
    request.max_wait_ms = TIMEOUT_MS;
    fetched(client.ask(FETCH, &RequestBody::Fetch(request)))
}

/// The whole batches that an answer carries, each with its checksum checked.
pub fn batches(answer: &FetchPartitionResponse) -> Vec<Batch> {
    let mut all = Vec::new();
    for part in answer.records.iter().flatten() {
        let Part::Bytes(bytes) = part else {
            panic!("a decoded answer holds bytes");
        };
        // The last may be cut short.
        for batch in Batches::new(bytes.clone()).map_while(Result::ok) {
            batch.check_crc().expect("bytes as they were written");
            all.push(batch);
        }
    }
    all
}

/// Every batch of a partition from the offset on, up to the high watermark.
pub fn read_log(client: &mut WireClient, topic: &str, partition: PartitionIndex, from: Offset) -> Vec<Batch> {
    let (mut all, mut at) = (Vec::new(), from);
    loop {
        let answer = fetch(client, topic, partition, at);
        assert_eq!(answer.error_code, ErrorCode::None, "{topic}-{partition} at {at}");
        if at >= answer.high_watermark {
            return all;
        }
        let mut found = batches(&answer);
        if found.is_empty() {
            found = batches(&fetch_patiently(client, topic, partition, at));
        }
        at = found
            .last()
            .unwrap_or_else(|| panic!("no batch at {at}, below the high watermark"))
            .header
            .next_offset();
        all.extend(found);
    }
}

/// Deletes the records of a partition below an offset (-1: all); its new log start offset.
pub fn delete_records(
    client: &mut WireClient,
    topic: &str,
    partition: PartitionIndex,
    before: Offset,
) -> Result<Offset, ErrorCode> {
    let body = RequestBody::DeleteRecords(message(|request: &mut DeleteRecordsRequest| {
        request.timeout_ms = TIMEOUT_MS;
        request.topics = vec![message(|of: &mut DeleteRecordsTopic| {
            of.name = topic.into();
            of.partitions = vec![message(|of: &mut DeleteRecordsPartition| {
                of.partition_index = partition;
                of.offset = before;
            })];
        })];
    }));
    let answer = expect_answer!(client.ask(DELETE_RECORDS, &body), DeleteRecords);
    let partition = &answer.topics[0].partitions[0];
    match code(partition.error_code) {
        ErrorCode::None => Ok(partition.low_watermark),
        error => Err(error),
    }
}

/// Whose settings: Kafka's `ConfigResource.Type`, and the name.
pub type Owner<'a> = (i8, &'a str);

pub fn of_topic(name: &str) -> Owner<'_> {
    (2, name)
}

/// Empty: all brokers.
pub fn of_broker(id: &str) -> Owner<'_> {
    (4, id)
}

/// Sets one key.
pub fn alter_config(client: &mut WireClient, owner: Owner, key: &str, value: &str) -> Result<(), ErrorCode> {
    const INCREMENTAL_ALTER_CONFIGS: i16 = 1;
    const SET: i8 = 0;
    let change = message(|change: &mut AlterableConfig| {
        change.name = key.into();
        change.config_operation = SET;
        change.value = Some(value.into());
    });
    let body =
        RequestBody::IncrementalAlterConfigs(message(|request: &mut IncrementalAlterConfigsRequest| {
            request.resources = vec![message(|resource: &mut AlterConfigsResource| {
                (resource.resource_type, resource.resource_name) = (owner.0, owner.1.into());
                resource.configs = vec![change];
            })];
        }));
    let answer = expect_answer!(
        client.ask(INCREMENTAL_ALTER_CONFIGS, &body),
        IncrementalAlterConfigs
    );
    match code(answer.responses[0].error_code) {
        ErrorCode::None => Ok(()),
        error => Err(error),
    }
}

/// Sets one key of a topic.
pub fn alter_topic_config(client: &mut WireClient, topic: &str, key: &str, value: &str) {
    assert_eq!(
        alter_config(client, of_topic(topic), key, value),
        Ok(()),
        "{key}={value}"
    );
}

/// The value of a key, as the broker tells it.
pub fn config(client: &mut WireClient, owner: Owner, key: &str) -> Option<String> {
    const DESCRIBE_CONFIGS: i16 = 4;
    let body = RequestBody::DescribeConfigs(message(|request: &mut DescribeConfigsRequest| {
        request.resources = vec![message(|resource: &mut DescribeConfigsResource| {
            (resource.resource_type, resource.resource_name) = (owner.0, owner.1.into());
            resource.configuration_keys = Some(vec![key.into()]);
        })];
    }));
    let answer = expect_answer!(client.ask(DESCRIBE_CONFIGS, &body), DescribeConfigs);
    let entry = answer.results.first()?.configs.first()?;
    entry.value.as_deref().map(str::to_owned)
}

/// What a Fetch says that waits for more than there will be.
pub fn patient_fetch_request(topic: &str, partition: PartitionIndex, offset: Offset) -> RequestBody {
    let RequestBody::Fetch(request) = fetch_request(topic, partition, offset, 1 << 20) else {
        unreachable!("a Fetch is a Fetch");
    };
    RequestBody::Fetch(FetchRequest {
        max_wait_ms: TIMEOUT_MS,
        min_bytes: 1 << 20,
        ..request
    })
}
