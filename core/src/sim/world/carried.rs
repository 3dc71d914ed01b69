//! What a packet says of partitions, read from its bytes as a sniffer reads them.

use bytes::Bytes;

use super::World;
use super::network::Connection;
use crate::disk::Part;
use crate::protocol::control::LeaderAndIsrRequest;
use crate::protocol::fetch::{FetchPartitionResponse, FetchRequest, FetchResponse};
use crate::protocol::messages::{
    AlterPartitionRequest, OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse,
};
use crate::protocol::produce::{ProduceRequest, ProduceResponse};
use crate::protocol::{ApiKey, RequestBody, ResponseBody, decode_request, decode_response};
use crate::record::Batches;
use crate::trace::Carried;
use crate::types::{BrokerId, PartitionIndex, TopicPartition, Uuid};

/// Bytes of a frame's length.
const LENGTH: usize = 4;

/// Names topics that a packet names by their id.
struct Names<'a> {
    world: &'a World,
    server: BrokerId,
}

impl World {
    /// What the frame says of partitions; nothing for what no picture names.
    pub(super) fn carried(&self, connection: &Connection, to_server: bool, frame: &Bytes) -> Vec<Carried> {
        let body = frame.slice(LENGTH.min(frame.len())..);
        let names = Names {
            world: self,
            server: connection.server,
        };
        if to_server {
            let code = body.first_chunk().map(|code| i16::from_be_bytes(*code));
            if !code.and_then(ApiKey::from_code).is_some_and(is_named) {
                return Vec::new();
            }
            return decode_request(body).map_or(Vec::new(), |request| names.request(request.body));
        }
        let id = body.first_chunk().map(|id| i32::from_be_bytes(*id));
        let awaited = connection.awaited.iter();
        let sent = awaited
            .filter(|awaited| Some(awaited.id as i32) == id)
            .map(|awaited| awaited.sent)
            .find(|sent| is_named(sent.api));
        let answer = sent.and_then(|sent| decode_response(sent.api, sent.version, body).ok());
        answer.map_or(Vec::new(), |answer| names.answer(answer.body))
    }
}

fn is_named(api: ApiKey) -> bool {
    matches!(
        api,
        ApiKey::Produce
            | ApiKey::Fetch
            | ApiKey::LeaderAndIsr
            | ApiKey::AlterPartition
            | ApiKey::OffsetForLeaderEpoch
    )
}

fn records_in(bytes: Bytes) -> u32 {
    let batches = Batches::new(bytes).map_while(Result::ok);
    let counts = batches.map(|batch| batch.header.last_offset() - batch.header.base_offset + 1);
    counts.sum::<i64>() as u32
}

impl Names<'_> {
    fn of(&self, name: &str, id: Uuid, partition: PartitionIndex) -> Option<TopicPartition> {
        if !name.is_empty() {
            return Some(TopicPartition::new(name, partition));
        }
        let brokers = self.world.broker(self.server).into_iter();
        let mut brokers = brokers.chain(self.world.brokers());
        let name = brokers.find_map(|node| node.broker.as_ref()?.topic_name(id))?;
        Some(TopicPartition::new(name, partition))
    }

    fn request(&self, body: RequestBody) -> Vec<Carried> {
        match body {
            RequestBody::Produce(body) => self.produce(body),
            RequestBody::Fetch(body) => self.fetch(body),
            RequestBody::LeaderAndIsr(body) => self.leads(body),
            RequestBody::AlterPartition(body) => self.isr(body),
            RequestBody::OffsetForLeaderEpoch(body) => self.epoch_asked(body),
            _ => Vec::new(),
        }
    }

    fn answer(&self, body: ResponseBody) -> Vec<Carried> {
        match body {
            ResponseBody::Produce(body) => self.produced(body),
            ResponseBody::Fetch(body) => self.fetched(body),
            ResponseBody::OffsetForLeaderEpoch(body) => self.epoch_answered(body),
            _ => Vec::new(),
        }
    }

    fn produce(&self, body: ProduceRequest) -> Vec<Carried> {
        let mut all = Vec::new();
        for topic in body.topics {
            for part in topic.partitions {
                if let Some(partition) = self.of(&topic.name, topic.topic_id, part.index) {
                    let count = part.records.map_or(0, records_in);
                    all.push(Carried::Produce { partition, count });
                }
            }
        }
        all
    }

    fn produced(&self, body: ProduceResponse) -> Vec<Carried> {
        let mut all = Vec::new();
        for topic in body.topics {
            for part in topic.partitions {
                if let Some(partition) = self.of(&topic.name, topic.topic_id, part.index) {
                    all.push(Carried::Stored {
                        partition,
                        base_offset: part.base_offset,
                        code: part.error_code,
                    });
                }
            }
        }
        all
    }

    fn fetch(&self, body: FetchRequest) -> Vec<Carried> {
        let mut all = Vec::new();
        for topic in body.topics {
            for part in topic.partitions {
                if let Some(partition) = self.of(&topic.name, topic.topic_id, part.partition) {
                    let offset = part.fetch_offset;
                    all.push(Carried::FetchFrom { partition, offset });
                }
            }
        }
        all
    }

    fn fetched(&self, body: FetchResponse) -> Vec<Carried> {
        let mut all = Vec::new();
        for topic in body.topics {
            for part in topic.partitions {
                if let Some(partition) = self.of(&topic.name, topic.topic_id, part.partition) {
                    all.push(Carried::Records {
                        partition,
                        high_watermark: part.high_watermark,
                        code: part.error_code,
                        count: records_of(part),
                    });
                }
            }
        }
        all
    }

    fn leads(&self, body: LeaderAndIsrRequest) -> Vec<Carried> {
        let mut all = Vec::new();
        for topic in body.topics {
            for told in topic.partitions {
                all.push(Carried::Leads {
                    partition: TopicPartition::new(topic.name.clone(), told.partition_index),
                    leader: told.leader,
                    epoch: told.leader_epoch,
                });
            }
        }
        all
    }

    fn isr(&self, body: AlterPartitionRequest) -> Vec<Carried> {
        let mut all = Vec::new();
        for topic in body.topics {
            let id = Uuid(*topic.topic_id.as_bytes());
            for part in topic.partitions {
                let Some(partition) = self.of("", id, part.partition_index) else {
                    continue;
                };
                let members = part.new_isr_with_epochs.iter().map(|member| member.broker_id);
                let isr = part.new_isr.iter().copied().chain(members).collect();
                all.push(Carried::Isr { partition, isr });
            }
        }
        all
    }

    fn epoch_asked(&self, body: OffsetForLeaderEpochRequest) -> Vec<Carried> {
        let mut all = Vec::new();
        for topic in body.topics {
            for part in topic.partitions {
                all.push(Carried::EpochEndOf {
                    partition: TopicPartition::new(&*topic.topic, part.partition),
                    epoch: part.leader_epoch,
                });
            }
        }
        all
    }

    fn epoch_answered(&self, body: OffsetForLeaderEpochResponse) -> Vec<Carried> {
        let mut all = Vec::new();
        for topic in body.topics {
            for part in topic.partitions {
                all.push(Carried::EpochEnd {
                    partition: TopicPartition::new(&*topic.topic, part.partition),
                    epoch: part.leader_epoch,
                    end_offset: part.end_offset,
                });
            }
        }
        all
    }
}

fn records_of(part: FetchPartitionResponse) -> u32 {
    let parts = part.records.into_iter().flatten();
    let bytes = parts.filter_map(|part| match part {
        Part::Bytes(bytes) => Some(bytes),
        // A decoder never names files.
        Part::File { .. } => None,
    });
    bytes.map(records_in).sum()
}
