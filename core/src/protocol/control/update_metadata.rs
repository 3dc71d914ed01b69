//! UpdateMetadata, versions 0 to 8: what clients shall be told of the cluster.
//!
//! A broker answers Metadata from what these requests told it. Each carries all live brokers and
//! the partitions that changed; what is not named stays as it was.

use std::sync::Arc;

use super::{ControlRequestKind, ControlTopic, name};
use crate::error::{ErrorCode, Malformed};
use crate::protocol::primitives::{Reader, Writer, tagged_field};
use crate::protocol::produce::decode_error_code;
use crate::types::{BrokerId, LeaderEpoch, PartitionIndex};

const FIRST_WITH_ENDPOINTS: i16 = 1;
const FIRST_WITH_RACK: i16 = 2;
const FIRST_WITH_LISTENER: i16 = 3;
const FIRST_WITH_OFFLINE_REPLICAS: i16 = 4;
/// Version 5 brought the broker's epoch too.
const FIRST_BY_TOPIC: i16 = 5;
const FIRST_WITH_TOPIC_ID: i16 = 7;
/// Version 8 brought the kind of the request too.
const FIRST_WITH_KRAFT_FLAG: i16 = 8;

const KIND_TAG: u32 = 0;

/// Least bytes of an array's items on the wire, over all versions.
const LEAST_TOPIC_BYTES: usize = 3;
const LEAST_PARTITION_BYTES: usize = 24;
const LEAST_BROKER_BYTES: usize = 7;
const LEAST_ENDPOINT_BYTES: usize = 8;

/// PLAINTEXT, among Kafka's numbers of security protocols.
const PLAINTEXT: i16 = 0;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpdateMetadataRequest {
    pub controller_id: BrokerId,
    /// Only while a cluster moves to KRaft (KIP-866); from version 8 on.
    pub is_kraft_controller: bool,
    /// Said by KRaft controllers only; from version 8 on.
    pub kind: ControlRequestKind,
    pub controller_epoch: i32,
    /// The life of the broker that is spoken to, -1 when not known; from version 5 on.
    pub broker_epoch: i64,
    pub topics: Vec<UpdateMetadataTopic>,
    /// All of them, each time.
    pub live_brokers: Vec<UpdateMetadataBroker>,
}

impl Default for UpdateMetadataRequest {
    fn default() -> Self {
        Self {
            controller_id: 0,
            is_kraft_controller: false,
            kind: ControlRequestKind::Unknown,
            controller_epoch: 0,
            broker_epoch: -1,
            topics: Vec::new(),
            live_brokers: Vec::new(),
        }
    }
}

/// With its id from version 7 on.
pub type UpdateMetadataTopic = ControlTopic<UpdateMetadataPartition>;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UpdateMetadataPartition {
    pub partition_index: PartitionIndex,
    /// Epoch of the controller that last changed the partition's state.
    pub controller_epoch: i32,
    /// -1: none; [`LEADER_DURING_DELETE`](super::LEADER_DURING_DELETE): forget the partition.
    pub leader: BrokerId,
    pub leader_epoch: LeaderEpoch,
    pub isr: Vec<BrokerId>,
    /// Version of the state node (`ZkVersion`).
    pub partition_epoch: i32,
    /// The preferred leader first.
    pub replicas: Vec<BrokerId>,
    /// Those on dead brokers and in failed log directories; from version 4 on.
    pub offline_replicas: Vec<BrokerId>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpdateMetadataBroker {
    pub id: BrokerId,
    pub endpoints: Vec<UpdateMetadataEndpoint>,
    /// From version 2 on.
    pub rack: Option<Arc<str>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpdateMetadataEndpoint {
    pub port: i32,
    pub host: Arc<str>,
    /// The listener's name; before version 3 that of its security protocol.
    pub listener: Arc<str>,
    /// Kafka's number: 0 PLAINTEXT, 1 SSL, 2 SASL_PLAINTEXT, 3 SASL_SSL.
    pub security_protocol: i16,
}

impl UpdateMetadataRequest {
    pub fn decode(reader: &mut Reader, version: i16) -> Result<Self, Malformed> {
        let mut request = Self {
            controller_id: reader.i32("controller id")?,
            ..Self::default()
        };
        if version >= FIRST_WITH_KRAFT_FLAG {
            request.is_kraft_controller = reader.bool("KRaft flag")?;
        }
        request.controller_epoch = reader.i32("controller epoch")?;
        if version >= FIRST_BY_TOPIC {
            request.broker_epoch = reader.i64("broker epoch")?;
        }
        let partition = |reader: &mut Reader| UpdateMetadataPartition::decode(reader, version);
        request.topics = if version >= FIRST_BY_TOPIC {
            reader.array("topics", LEAST_TOPIC_BYTES, |reader| {
                UpdateMetadataTopic::decode(
                    reader,
                    version >= FIRST_WITH_TOPIC_ID,
                    LEAST_PARTITION_BYTES,
                    partition,
                )
            })?
        } else {
            UpdateMetadataTopic::decode_ungrouped(reader, LEAST_PARTITION_BYTES, partition)?
        };
        request.live_brokers = reader.array("live brokers", LEAST_BROKER_BYTES, |reader| {
            UpdateMetadataBroker::decode(reader, version)
        })?;
        reader.tagged_fields(|tag, field| {
            if tag != KIND_TAG || version < FIRST_WITH_KRAFT_FLAG {
                return Ok(false);
            }
            request.kind = ControlRequestKind::from_code(field.i8("request type")?);
            Ok(true)
        })?;
        Ok(request)
    }

    pub fn encode(&self, writer: &mut Writer, version: i16) {
        let partition =
            |writer: &mut Writer, partition: &UpdateMetadataPartition| partition.encode(writer, version);
        writer.i32(self.controller_id);
        if version >= FIRST_WITH_KRAFT_FLAG {
            writer.bool(self.is_kraft_controller);
        }
        writer.i32(self.controller_epoch);
        if version >= FIRST_BY_TOPIC {
            writer.i64(self.broker_epoch);
            writer.array("topics", &self.topics, |writer, topic| {
                topic.encode(writer, version >= FIRST_WITH_TOPIC_ID, partition);
            });
        } else {
            UpdateMetadataTopic::encode_ungrouped(&self.topics, writer, partition);
        }
        writer.array("live brokers", &self.live_brokers, |writer, broker| {
            broker.encode(writer, version);
        });
        let mut tags = Vec::new();
        if version >= FIRST_WITH_KRAFT_FLAG && self.kind != ControlRequestKind::Unknown {
            tags.push((KIND_TAG, tagged_field(|writer| writer.i8(self.kind.code()))));
        }
        writer.tagged_fields(&tags);
    }
}

impl UpdateMetadataPartition {
    fn decode(reader: &mut Reader, version: i16) -> Result<Self, Malformed> {
        let mut partition = Self {
            partition_index: reader.i32("partition")?,
            controller_epoch: reader.i32("controller epoch")?,
            leader: reader.i32("leader")?,
            leader_epoch: reader.i32("leader epoch")?,
            isr: reader.i32_array("isr")?,
            partition_epoch: reader.i32("partition epoch")?,
            replicas: reader.i32_array("replicas")?,
            offline_replicas: Vec::new(),
        };
        if version >= FIRST_WITH_OFFLINE_REPLICAS {
            partition.offline_replicas = reader.i32_array("offline replicas")?;
        }
        reader.skip_tagged_fields()?;
        Ok(partition)
    }

    fn encode(&self, writer: &mut Writer, version: i16) {
        writer.i32(self.partition_index);
        writer.i32(self.controller_epoch);
        writer.i32(self.leader);
        writer.i32(self.leader_epoch);
        writer.i32_array("isr", &self.isr);
        writer.i32(self.partition_epoch);
        writer.i32_array("replicas", &self.replicas);
        if version >= FIRST_WITH_OFFLINE_REPLICAS {
            writer.i32_array("offline replicas", &self.offline_replicas);
        }
        writer.tagged_fields(&[]);
    }
}

impl UpdateMetadataBroker {
    fn decode(reader: &mut Reader, version: i16) -> Result<Self, Malformed> {
        let id = reader.i32("broker id")?;
        let endpoints = if version >= FIRST_WITH_ENDPOINTS {
            reader.array("endpoints", LEAST_ENDPOINT_BYTES, |reader| {
                UpdateMetadataEndpoint::decode(reader, version)
            })?
        } else {
            vec![UpdateMetadataEndpoint {
                host: name(reader, "host")?,
                port: reader.i32("port")?,
                listener: protocol_name(PLAINTEXT),
                security_protocol: PLAINTEXT,
            }]
        };
        let mut broker = Self {
            id,
            endpoints,
            rack: None,
        };
        if version >= FIRST_WITH_RACK {
            broker.rack = reader.nullable_string("rack")?.map(|rack| Arc::from(&*rack));
        }
        reader.skip_tagged_fields()?;
        Ok(broker)
    }

    fn encode(&self, writer: &mut Writer, version: i16) {
        writer.i32(self.id);
        if version >= FIRST_WITH_ENDPOINTS {
            writer.array("endpoints", &self.endpoints, |writer, endpoint| {
                endpoint.encode(writer, version);
            });
        } else {
            // That version knows one address, and no protocol but PLAINTEXT.
            let plaintext = |endpoint: &&UpdateMetadataEndpoint| endpoint.security_protocol == PLAINTEXT;
            let address = self.endpoints.iter().find(plaintext);
            writer.string("host", address.map_or("", |endpoint| &endpoint.host));
            writer.i32(address.map_or(0, |endpoint| endpoint.port));
        }
        if version >= FIRST_WITH_RACK {
            writer.nullable_string("rack", self.rack.as_deref());
        }
        writer.tagged_fields(&[]);
    }
}

impl UpdateMetadataEndpoint {
    fn decode(reader: &mut Reader, version: i16) -> Result<Self, Malformed> {
        let port = reader.i32("port")?;
        let host = name(reader, "host")?;
        let listener = match version >= FIRST_WITH_LISTENER {
            true => Some(name(reader, "listener")?),
            false => None,
        };
        let security_protocol = reader.i16("security protocol")?;
        reader.skip_tagged_fields()?;
        Ok(Self {
            port,
            host,
            listener: listener.unwrap_or_else(|| protocol_name(security_protocol)),
            security_protocol,
        })
    }

    fn encode(&self, writer: &mut Writer, version: i16) {
        writer.i32(self.port);
        writer.string("host", &self.host);
        if version >= FIRST_WITH_LISTENER {
            writer.string("listener", &self.listener);
        }
        writer.i16(self.security_protocol);
        writer.tagged_fields(&[]);
    }
}

/// The name that a listener of this protocol has when it is given none; empty for an unknown number.
fn protocol_name(security_protocol: i16) -> Arc<str> {
    Arc::from(match security_protocol {
        PLAINTEXT => "PLAINTEXT",
        1 => "SSL",
        2 => "SASL_PLAINTEXT",
        3 => "SASL_SSL",
        _ => "",
    })
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpdateMetadataResponse {
    pub error_code: ErrorCode,
}

impl UpdateMetadataResponse {
    pub fn decode(reader: &mut Reader, _version: i16) -> Result<Self, Malformed> {
        let error_code = decode_error_code(reader)?;
        reader.skip_tagged_fields()?;
        Ok(Self { error_code })
    }

    pub fn encode(&self, writer: &mut Writer, _version: i16) {
        writer.i16(self.error_code.code());
        writer.tagged_fields(&[]);
    }
}
