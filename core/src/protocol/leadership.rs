//! Where a partition is led, as Produce and Fetch answers carry it (KIP-951): on a leadership error
//! a client learns the new leader and its address at once, instead of asking for metadata.

use kafka_wire_core::StrBytes;

use super::primitives::{Reader, Writer};
use crate::error::Malformed;
use crate::types::{BrokerId, LeaderEpoch};

/// A partition's leader; -1 and -1 for "not known", which is not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaderIdAndEpoch {
    pub leader_id: BrokerId,
    pub leader_epoch: LeaderEpoch,
}

impl Default for LeaderIdAndEpoch {
    fn default() -> Self {
        Self {
            leader_id: -1,
            leader_epoch: -1,
        }
    }
}

impl LeaderIdAndEpoch {
    pub(super) fn decode(reader: &mut Reader) -> Result<Self, Malformed> {
        let value = Self {
            leader_id: reader.i32("leader id")?,
            leader_epoch: reader.i32("leader epoch")?,
        };
        reader.skip_tagged_fields()?;
        Ok(value)
    }

    pub(super) fn encode(self, writer: &mut Writer) {
        writer.i32(self.leader_id);
        writer.i32(self.leader_epoch);
        writer.tagged_fields(&[]);
    }
}

/// A broker's address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeEndpoint {
    pub node_id: BrokerId,
    pub host: StrBytes,
    pub port: i32,
    pub rack: Option<StrBytes>,
}

impl NodeEndpoint {
    /// Bytes of the smallest endpoint on the wire.
    pub(super) const LEAST_BYTES: usize = 11;

    pub(super) fn decode(reader: &mut Reader) -> Result<Self, Malformed> {
        let value = Self {
            node_id: reader.i32("node id")?,
            host: reader.string("host")?,
            port: reader.i32("port")?,
            rack: reader.nullable_string("rack")?,
        };
        reader.skip_tagged_fields()?;
        Ok(value)
    }

    pub(super) fn encode(&self, writer: &mut Writer) {
        writer.i32(self.node_id);
        writer.string("host", &self.host);
        writer.i32(self.port);
        writer.nullable_string("rack", self.rack.as_deref());
        writer.tagged_fields(&[]);
    }
}
