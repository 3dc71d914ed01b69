//! Topics of a broker in memory: made, and read back.

use crate::io::Part;
use crate::protocol::fetch::{FetchPartition, FetchRequest, FetchTopic};
use crate::protocol::messages::create_topics_request::{CreatableTopic, CreatableTopicConfig};
use crate::protocol::messages::{CreateTopicsRequest, message};
use crate::protocol::{RequestBody, ResponseBody};
use crate::record::compression::PURE_RUST;
use crate::record::{Batches, Record};
use crate::sim::Host;
use crate::types::PartitionIndex;

const CREATE_TOPICS: i16 = 7;
/// The last version that names topics.
const FETCH: i16 = 12;
const MOST_BYTES: i32 = 1 << 24;

pub(crate) fn create_topic(host: &mut Host, topic: &str, count: i32, configs: &[(&str, &str)]) {
    let config = |(key, value): &(&str, &str)| {
        message(|config: &mut CreatableTopicConfig| {
            config.name = (*key).into();
            config.value = Some((*value).into());
        })
    };
    let body = message(|body: &mut CreateTopicsRequest| {
        body.topics = vec![message(|row: &mut CreatableTopic| {
            row.name = topic.into();
            row.num_partitions = count;
            row.replication_factor = 1;
            row.configs = configs.iter().map(config).collect();
        })];
    });
    let conn = host.connect();
    match host.ask(conn, CREATE_TOPICS, &RequestBody::CreateTopics(body)) {
        Some(ResponseBody::CreateTopics(answer)) => assert_eq!(answer.topics[0].error_code, 0),
        other => panic!("{other:?}"),
    }
}

/// The records of a partition from its first on.
pub(crate) fn read_partition(host: &mut Host, topic: &str, index: PartitionIndex) -> Vec<Record> {
    let mut records: Vec<Record> = Vec::new();
    loop {
        let offset = records.last().map_or(0, |last| last.offset + 1);
        let partition = FetchPartition {
            partition: index,
            fetch_offset: offset,
            max_bytes: MOST_BYTES,
            ..FetchPartition::default()
        };
        let body = FetchRequest {
            min_bytes: 1,
            max_bytes: MOST_BYTES,
            topics: vec![FetchTopic {
                name: topic.into(),
                topic_id: Default::default(),
                partitions: vec![partition],
            }],
            ..FetchRequest::default()
        };
        let conn = host.connect();
        let answer = match host.ask(conn, FETCH, &RequestBody::Fetch(body)) {
            Some(ResponseBody::Fetch(answer)) => answer.topics[0].partitions[0].clone(),
            other => panic!("{other:?}"),
        };
        let before = records.len();
        for part in answer.records.iter().flatten() {
            let Part::Bytes(bytes) = part else {
                panic!("a decoded answer holds bytes");
            };
            for batch in Batches::new(bytes.clone()).map_while(Result::ok) {
                let all = batch.records(&PURE_RUST, 1 << 24).unwrap();
                records.extend(all.map(Result::unwrap).filter(|record| record.offset >= offset));
            }
        }
        if records.len() == before {
            return records;
        }
    }
}
