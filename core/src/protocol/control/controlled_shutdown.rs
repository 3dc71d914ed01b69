//! ControlledShutdown, versions 0 to 3: a broker wants to stop; move what it leads away first.

use super::name;
use crate::error::{ErrorCode, Malformed};
use crate::protocol::primitives::{Reader, Writer};
use crate::protocol::produce::decode_error_code;
use crate::types::{BrokerId, TopicPartition};

const FIRST_WITH_BROKER_EPOCH: i16 = 2;

/// Least bytes of a partition on the wire, over all versions.
const LEAST_PARTITION_BYTES: usize = 6;

/// Version 0 has the oldest header of all, without a client id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlledShutdownRequest {
    pub broker_id: BrokerId,
    /// The life of the broker that asks, -1 when not known; from version 2 on.
    pub broker_epoch: i64,
}

impl ControlledShutdownRequest {
    pub fn decode(reader: &mut Reader, version: i16) -> Result<Self, Malformed> {
        let mut request = Self {
            broker_id: reader.i32("broker id")?,
            broker_epoch: -1,
        };
        if version >= FIRST_WITH_BROKER_EPOCH {
            request.broker_epoch = reader.i64("broker epoch")?;
        }
        reader.skip_tagged_fields()?;
        Ok(request)
    }

    pub fn encode(&self, writer: &mut Writer, version: i16) {
        writer.i32(self.broker_id);
        if version >= FIRST_WITH_BROKER_EPOCH {
            writer.i64(self.broker_epoch);
        }
        writer.tagged_fields(&[]);
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlledShutdownResponse {
    pub error_code: ErrorCode,
    /// What the broker still leads, since no other replica could take it over; empty: it may stop.
    pub remaining_partitions: Vec<TopicPartition>,
}

impl ControlledShutdownResponse {
    pub fn decode(reader: &mut Reader, _version: i16) -> Result<Self, Malformed> {
        let response = Self {
            error_code: decode_error_code(reader)?,
            remaining_partitions: reader.array("partitions", LEAST_PARTITION_BYTES, |reader| {
                let partition = TopicPartition {
                    topic: name(reader, "topic name")?,
                    partition: reader.i32("partition")?,
                };
                reader.skip_tagged_fields()?;
                Ok(partition)
            })?,
        };
        reader.skip_tagged_fields()?;
        Ok(response)
    }

    pub fn encode(&self, writer: &mut Writer, _version: i16) {
        writer.i16(self.error_code.code());
        writer.array("partitions", &self.remaining_partitions, |writer, partition| {
            writer.string("topic name", &partition.topic);
            writer.i32(partition.partition);
            writer.tagged_fields(&[]);
        });
        writer.tagged_fields(&[]);
    }
}
