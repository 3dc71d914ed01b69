//! A client's host in tests: time that stands still, and a cluster whose answers a test writes.

use bytes::Bytes;

use super::{ClientConfig, ClientCx, ClientInput, ClientKeys, ClientOutput, ClientSettings, Node};
use crate::config::Settings;
use crate::disk::Part;
use crate::protocol::api::SERVED;
use crate::protocol::messages::api_versions_response::ApiVersion;
use crate::protocol::messages::metadata_response::{
    MetadataResponseBroker, MetadataResponsePartition, MetadataResponseTopic,
};
use crate::protocol::messages::{ApiVersionsResponse, MetadataResponse, message};
use crate::protocol::{ApiKey, RequestBody, ResponseBody, SendId, SentAs, decode_request, encode_response};
use crate::trace::{EventId, Fact, Trace};
use crate::types::{BrokerId, LeaderEpoch, Millis, Rng, Uuid};

/// What every turn of a client needs, and what came of it.
pub(crate) struct Bench {
    pub now: Millis,
    rng: Rng,
    trace: Trace,
    pub out: Vec<ClientOutput>,
}

/// A request as a node hears it.
#[derive(Clone, Debug)]
pub(crate) struct Heard {
    pub to: Node,
    pub id: SendId,
    pub sent: SentAs,
    pub answered: bool,
    pub body: RequestBody,
}

impl Bench {
    pub fn new() -> Self {
        Self::seeded(1)
    }

    pub fn seeded(seed: u64) -> Self {
        Self {
            now: 1_000_000,
            rng: Rng::new(seed),
            trace: Trace::recording(100),
            out: Vec::new(),
        }
    }

    pub fn cx(&mut self) -> ClientCx<'_> {
        ClientCx {
            now: self.now,
            rng: &mut self.rng,
            trace: &mut self.trace,
            cause: EventId::NONE,
            out: &mut self.out,
        }
    }

    /// The requests since the last call, decoded. Whatever else came out stays.
    pub fn heard(&mut self) -> Vec<Heard> {
        let mut heard = Vec::new();
        self.out.retain(|output| match output {
            ClientOutput::Send {
                to,
                id,
                sent,
                answered,
                frame,
            } => {
                let request = decode_request(frame.slice(4..)).unwrap();
                assert_eq!(
                    (request.header.api, request.header.version),
                    (sent.api, sent.version)
                );
                assert_eq!(request.header.correlation_id, *id as i32);
                heard.push(Heard {
                    to: to.clone(),
                    id: *id,
                    sent: *sent,
                    answered: *answered,
                    body: request.body,
                });
                false
            }
            ClientOutput::Disconnect { .. } => true,
        });
        heard
    }

    /// The one request since the last call.
    pub fn heard_one(&mut self) -> Heard {
        let mut heard = self.heard();
        assert_eq!(heard.len(), 1, "{heard:?}");
        heard.remove(0)
    }

    /// The facts since the last call.
    pub fn facts(&mut self) -> Vec<Fact> {
        self.trace.take().into_iter().map(|event| event.fact).collect()
    }
}

impl Heard {
    /// The input that its answer makes.
    pub fn answer(&self, body: impl Into<ResponseBody>) -> ClientInput {
        ClientInput::Response {
            id: self.id,
            frame: frame(self.id as i32, self.sent.version, &body.into()),
        }
    }

    /// The input that says that it cannot be answered.
    pub fn fail(&self, why: &str) -> ClientInput {
        ClientInput::SendFailed {
            id: self.id,
            why: why.to_owned(),
        }
    }

    pub fn api(&self) -> ApiKey {
        self.sent.api
    }
}

/// An answer's frame without its length.
pub(crate) fn frame(correlation_id: i32, version: i16, body: &ResponseBody) -> Bytes {
    let parts = encode_response(correlation_id, version, body).unwrap();
    let bytes: Vec<u8> = parts
        .iter()
        .flat_map(|part| match part {
            Part::Bytes(bytes) => bytes.to_vec(),
            Part::File { .. } => panic!("a client's tests have no files"),
        })
        .collect();
    Bytes::from(bytes).slice(4..)
}

/// What a node of Kafka 4.4 answers to ApiVersions.
pub(crate) fn versions() -> ApiVersionsResponse {
    versions_but(&[])
}

/// The same with other highest versions for some APIs.
pub(crate) fn versions_but(others: &[(ApiKey, i16)]) -> ApiVersionsResponse {
    message(|answer: &mut ApiVersionsResponse| {
        let row = |api: ApiKey, min: i16, max: i16| {
            let max = others
                .iter()
                .find(|(other, _)| *other == api)
                .map_or(max, |(_, max)| *max);
            message(|row: &mut ApiVersion| {
                (row.api_key, row.min_version, row.max_version) = (api.code(), min, max);
            })
        };
        answer.api_keys = SERVED.iter().map(|s| row(s.api, s.listed_min, s.max)).collect();
    })
}

/// A topic in metadata: name, and leader and epoch of each partition (leader -1: nobody).
pub(crate) type Told<'a> = (&'a str, &'a [(BrokerId, LeaderEpoch)]);

/// Metadata of brokers `broker-N:9000+N` and topics.
pub(crate) fn metadata(brokers: &[BrokerId], topics: &[Told]) -> MetadataResponse {
    message(|answer: &mut MetadataResponse| {
        answer.cluster_id = Some("cluster".into());
        answer.controller_id = brokers.first().copied().unwrap_or(-1);
        answer.brokers = brokers.iter().map(|id| broker(*id)).collect();
        answer.topics = topics.iter().map(|told| topic(*told)).collect();
    })
}

fn broker(id: BrokerId) -> MetadataResponseBroker {
    message(|broker: &mut MetadataResponseBroker| {
        broker.node_id = id;
        broker.host = format!("broker-{id}").as_str().into();
        broker.port = 9000 + id;
    })
}

/// The id that [`metadata`] gives to a topic.
pub(crate) fn topic_id(name: &str) -> Uuid {
    let mut bytes = [7; 16];
    bytes
        .iter_mut()
        .zip(name.bytes())
        .for_each(|(byte, letter)| *byte = letter);
    Uuid(bytes)
}

fn topic((name, partitions): Told) -> MetadataResponseTopic {
    message(|topic: &mut MetadataResponseTopic| {
        topic.name = Some(name.into());
        topic.topic_id = topic_id(name).into();
        topic.partitions = (0..)
            .zip(partitions)
            .map(|(index, (leader, epoch))| {
                message(|partition: &mut MetadataResponsePartition| {
                    partition.error_code = if *leader < 0 { 5 } else { 0 };
                    partition.partition_index = index;
                    partition.leader_id = *leader;
                    partition.leader_epoch = *epoch;
                    partition.replica_nodes = vec![*leader];
                    partition.isr_nodes = vec![*leader];
                })
            })
            .collect();
    })
}

/// A topic of which only an error is told.
pub(crate) fn failed_topic(name: &str, code: crate::error::ErrorCode) -> MetadataResponseTopic {
    message(|topic: &mut MetadataResponseTopic| {
        topic.name = Some(name.into());
        topic.error_code = code.code();
    })
}

/// Settings as a test writes them.
pub(crate) fn settings(pairs: &[(&str, &str)]) -> Settings {
    let owned = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
    pairs.iter().map(owned).collect()
}

/// The common settings with two bootstrap addresses.
pub(crate) fn client_config(pairs: &[(&str, &str)]) -> ClientConfig {
    const KEYS: ClientKeys = &[super::config::COMMON_KEYS];
    let mut all = settings(&[("bootstrap.servers", "first:9092,second:9092")]);
    all.extend(settings(pairs));
    ClientConfig::resolve(&ClientSettings::read(KEYS, &all).unwrap()).unwrap()
}
