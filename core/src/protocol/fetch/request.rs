//! What a consumer or a follower asks for.

use kafka_wire_core::StrBytes;

use super::*;
use crate::protocol::primitives::tagged_field;
use crate::types::{BrokerId, LeaderEpoch, NO_EPOCH, Offset, PartitionIndex};

const LEAST_PARTITION_BYTES: usize = 16;
const INDEX_BYTES: usize = 4;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchRequest {
    /// Only if known; from version 12 on.
    pub cluster_id: Option<StrBytes>,
    /// The follower that asks, -1 for a consumer.
    pub replica_id: BrokerId,
    /// The follower's broker epoch, -1 when not known (KIP-903); from version 15 on.
    pub replica_epoch: i64,
    /// How long the answer may be put off while fewer than `min_bytes` are there.
    pub max_wait_ms: i32,
    pub min_bytes: i32,
    /// Soft: the first batch is answered whole even if it is larger.
    pub max_bytes: i32,
    /// 0 is READ_UNCOMMITTED, 1 is READ_COMMITTED.
    pub isolation_level: i8,
    /// 0 when there is no session yet; from version 7 on.
    pub session_id: i32,
    /// -1 for a fetch without session, 0 to open one; from version 7 on.
    pub session_epoch: i32,
    /// In a session: what is new or changed.
    pub topics: Vec<FetchTopic>,
    /// In a session: what is no longer wanted.
    pub forgotten_topics: Vec<ForgottenTopic>,
    /// Where the consumer is (`client.rack`), empty when it does not say; from version 11 on.
    pub rack_id: StrBytes,
}

impl Default for FetchRequest {
    fn default() -> Self {
        Self {
            cluster_id: None,
            replica_id: -1,
            replica_epoch: -1,
            max_wait_ms: 0,
            min_bytes: 0,
            max_bytes: i32::MAX,
            isolation_level: 0,
            session_id: 0,
            session_epoch: -1,
            topics: Vec::new(),
            forgotten_topics: Vec::new(),
            rack_id: StrBytes::default(),
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FetchTopic {
    /// Empty from version 13 on.
    pub name: StrBytes,
    /// Zero before version 13.
    pub topic_id: Uuid,
    pub partitions: Vec<FetchPartition>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchPartition {
    pub partition: PartitionIndex,
    /// The leader epoch that the reader knows, -1 when it knows none; from version 9 on.
    pub current_leader_epoch: LeaderEpoch,
    pub fetch_offset: Offset,
    /// Epoch of the last record that the reader has, -1 when not known; from version 12 on.
    pub last_fetched_epoch: LeaderEpoch,
    /// The follower's log start offset, -1 for a consumer; from version 5 on.
    pub log_start_offset: Offset,
    pub max_bytes: i32,
    /// The follower's log directory, zero when not known; from version 17 on.
    pub replica_directory_id: Uuid,
    /// The follower's high watermark, `i64::MAX` when not said; from version 18 on.
    pub high_watermark: Offset,
}

impl Default for FetchPartition {
    fn default() -> Self {
        Self {
            partition: 0,
            current_leader_epoch: NO_EPOCH,
            fetch_offset: 0,
            last_fetched_epoch: NO_EPOCH,
            log_start_offset: -1,
            max_bytes: 0,
            replica_directory_id: Uuid::ZERO,
            high_watermark: Offset::MAX,
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ForgottenTopic {
    /// Empty from version 13 on.
    pub name: StrBytes,
    /// Zero before version 13.
    pub topic_id: Uuid,
    pub partitions: Vec<PartitionIndex>,
}

impl FetchRequest {
    pub fn decode(reader: &mut Reader, version: i16) -> Result<Self, Malformed> {
        let mut request = Self::default();
        if version < FIRST_WITH_REPLICA_STATE {
            request.replica_id = reader.i32("replica id")?;
        }
        request.max_wait_ms = reader.i32("max wait")?;
        request.min_bytes = reader.i32("min bytes")?;
        request.max_bytes = reader.i32("max bytes")?;
        request.isolation_level = reader.i8("isolation level")?;
        if version >= FIRST_WITH_SESSION {
            request.session_id = reader.i32("session id")?;
            request.session_epoch = reader.i32("session epoch")?;
        }
        request.topics = reader.array("topics", LEAST_TOPIC_BYTES, |reader| {
            FetchTopic::decode(reader, version)
        })?;
        if version >= FIRST_WITH_SESSION {
            request.forgotten_topics = reader.array("forgotten topics", LEAST_TOPIC_BYTES, |reader| {
                ForgottenTopic::decode(reader, version)
            })?;
        }
        if version >= FIRST_WITH_RACK {
            request.rack_id = reader.string("rack id")?;
        }
        reader.tagged_fields(|tag, field| request.decode_tagged(tag, field, version))?;
        Ok(request)
    }

    fn decode_tagged(&mut self, tag: u32, field: &mut Reader, version: i16) -> Result<bool, Malformed> {
        match tag {
            0 => self.cluster_id = field.nullable_string("cluster id")?,
            1 if version >= FIRST_WITH_REPLICA_STATE => {
                self.replica_id = field.i32("replica id")?;
                self.replica_epoch = field.i64("replica epoch")?;
                field.skip_tagged_fields()?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    pub fn encode(&self, writer: &mut Writer, version: i16) {
        if version < FIRST_WITH_REPLICA_STATE {
            writer.i32(self.replica_id);
        }
        writer.i32(self.max_wait_ms);
        writer.i32(self.min_bytes);
        writer.i32(self.max_bytes);
        writer.i8(self.isolation_level);
        if version >= FIRST_WITH_SESSION {
            writer.i32(self.session_id);
            writer.i32(self.session_epoch);
        }
        writer.array("topics", &self.topics, |writer, topic| {
            encode_topic(writer, version, &topic.name, topic.topic_id);
            writer.array("partitions", &topic.partitions, |writer, partition| {
                partition.encode(writer, version);
            });
            writer.tagged_fields(&[]);
        });
        if version >= FIRST_WITH_SESSION {
            writer.array("forgotten topics", &self.forgotten_topics, |writer, topic| {
                encode_topic(writer, version, &topic.name, topic.topic_id);
                writer.array("partitions", &topic.partitions, |writer, index| {
                    writer.i32(*index);
                });
                writer.tagged_fields(&[]);
            });
        }
        if version >= FIRST_WITH_RACK {
            writer.string("rack id", &self.rack_id);
        }
        writer.tagged_fields(&self.tagged(version));
    }

    fn tagged(&self, version: i16) -> Vec<(u32, bytes::Bytes)> {
        let mut tags = Vec::new();
        if let Some(cluster_id) = &self.cluster_id {
            tags.push((0, tagged_field(|writer| writer.string("cluster id", cluster_id))));
        }
        let is_replica = (self.replica_id, self.replica_epoch) != (-1, -1);
        if version >= FIRST_WITH_REPLICA_STATE && is_replica {
            let state = tagged_field(|writer| {
                writer.i32(self.replica_id);
                writer.i64(self.replica_epoch);
                writer.tagged_fields(&[]);
            });
            tags.push((1, state));
        }
        tags
    }
}

impl FetchTopic {
    fn decode(reader: &mut Reader, version: i16) -> Result<Self, Malformed> {
        let (name, topic_id) = decode_topic(reader, version)?;
        let partitions = reader.array("partitions", LEAST_PARTITION_BYTES, |reader| {
            FetchPartition::decode(reader, version)
        })?;
        reader.skip_tagged_fields()?;
        Ok(Self {
            name,
            topic_id,
            partitions,
        })
    }
}

impl ForgottenTopic {
    fn decode(reader: &mut Reader, version: i16) -> Result<Self, Malformed> {
        let (name, topic_id) = decode_topic(reader, version)?;
        let partitions = reader.array("partitions", INDEX_BYTES, |reader| reader.i32("partition"))?;
        reader.skip_tagged_fields()?;
        Ok(Self {
            name,
            topic_id,
            partitions,
        })
    }
}

impl FetchPartition {
    fn decode(reader: &mut Reader, version: i16) -> Result<Self, Malformed> {
        let mut partition = Self {
            partition: reader.i32("partition")?,
            ..Self::default()
        };
        if version >= FIRST_WITH_LEADER_EPOCH {
            partition.current_leader_epoch = reader.i32("current leader epoch")?;
        }
        partition.fetch_offset = reader.i64("fetch offset")?;
        if version >= FIRST_WITH_LAST_FETCHED_EPOCH {
            partition.last_fetched_epoch = reader.i32("last fetched epoch")?;
        }
        if version >= FIRST_WITH_LOG_START {
            partition.log_start_offset = reader.i64("log start offset")?;
        }
        partition.max_bytes = reader.i32("partition max bytes")?;
        reader.tagged_fields(|tag, field| {
            match tag {
                0 if version >= FIRST_WITH_DIRECTORY_ID => {
                    partition.replica_directory_id = field.uuid("replica directory id")?;
                }
                1 if version >= FIRST_WITH_HIGH_WATERMARK => {
                    partition.high_watermark = field.i64("high watermark")?;
                }
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        Ok(partition)
    }

    fn encode(&self, writer: &mut Writer, version: i16) {
        writer.i32(self.partition);
        if version >= FIRST_WITH_LEADER_EPOCH {
            writer.i32(self.current_leader_epoch);
        }
        writer.i64(self.fetch_offset);
        if version >= FIRST_WITH_LAST_FETCHED_EPOCH {
            writer.i32(self.last_fetched_epoch);
        }
        if version >= FIRST_WITH_LOG_START {
            writer.i64(self.log_start_offset);
        }
        writer.i32(self.max_bytes);
        let mut tags = Vec::new();
        if version >= FIRST_WITH_DIRECTORY_ID && !self.replica_directory_id.is_zero() {
            tags.push((0, tagged_field(|writer| writer.uuid(self.replica_directory_id))));
        }
        if version >= FIRST_WITH_HIGH_WATERMARK && self.high_watermark != Offset::MAX {
            tags.push((1, tagged_field(|writer| writer.i64(self.high_watermark))));
        }
        writer.tagged_fields(&tags);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::wire_samples::between_brokers;
    use crate::protocol::{ApiKey, RequestBody, decode_request};

    #[test]
    fn a_followers_fetch_says_who_asks_as_kafkas_does() {
        let mut versions = Vec::new();
        for sample in between_brokers(ApiKey::Fetch) {
            let version = sample.version;
            let request = decode_request(sample.requests[0].clone()).unwrap();
            let RequestBody::Fetch(request) = request.body else {
                panic!("another request")
            };
            let epoch = if version >= FIRST_WITH_REPLICA_STATE {
                99
            } else {
                -1
            };
            assert_eq!(
                (request.replica_id, request.replica_epoch),
                (2, epoch),
                "v{version}"
            );
            assert_eq!((request.session_id, request.session_epoch), (123, 4));
            let wanted: Vec<_> = request
                .topics
                .iter()
                .flat_map(|topic| &topic.partitions)
                .collect();
            assert_eq!((wanted[0].fetch_offset, wanted[0].log_start_offset), (1000, 12));
            assert_eq!(
                (wanted[0].current_leader_epoch, wanted[0].last_fetched_epoch),
                (9, 8)
            );
            assert_eq!(wanted[1].last_fetched_epoch, NO_EPOCH);
            assert_eq!(request.forgotten_topics[0].partitions, [2]);
            versions.push(version);
        }
        assert_eq!(versions, [12, 13, 14, 15, 16, 17]);
    }
}
