//! Control records: what a broker writes into a partition about a transaction. The key says what it
//! is, the value of an end marker who ended it (Kafka's `ControlRecordType`, `EndTransactionMarker`).

use bytes::Bytes;

use super::record::Record;

/// The kinds a partition of records can hold. Others are of Kafka's own quorum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ControlType {
    Abort,
    Commit,
    /// A number that this code does not know; to be skipped.
    Unknown(i16),
}

impl ControlType {
    /// Reads the key of a control record: version, type. `None`: too short, or a negative version.
    pub fn parse(key: &[u8]) -> Option<Self> {
        let &[v0, v1, t0, t1, ..] = key else {
            return None;
        };
        if i16::from_be_bytes([v0, v1]) < 0 {
            return None;
        }
        Some(match i16::from_be_bytes([t0, t1]) {
            0 => Self::Abort,
            1 => Self::Commit,
            other => Self::Unknown(other),
        })
    }

    pub fn code(self) -> i16 {
        match self {
            Self::Abort => 0,
            Self::Commit => 1,
            Self::Unknown(code) => code,
        }
    }

    /// The key of a control record of this kind.
    pub fn key(self) -> Bytes {
        let mut key = vec![0, 0];
        key.extend_from_slice(&self.code().to_be_bytes());
        key.into()
    }
}

/// The end of a producer's transaction in one partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndTransactionMarker {
    /// `Abort` or `Commit`.
    pub control_type: ControlType,
    /// Of the transaction coordinator that decided it.
    pub coordinator_epoch: i32,
}

impl EndTransactionMarker {
    /// `None`: no marker, or its value is too short or of a negative version.
    pub fn parse(record: &Record) -> Option<Self> {
        let control_type = ControlType::parse(record.key.as_deref()?)?;
        if matches!(control_type, ControlType::Unknown(_)) {
            return None;
        }
        let &[v0, v1, e0, e1, e2, e3, ..] = record.value.as_deref()? else {
            return None;
        };
        (i16::from_be_bytes([v0, v1]) >= 0).then_some(Self {
            control_type,
            coordinator_epoch: i32::from_be_bytes([e0, e1, e2, e3]),
        })
    }

    /// The value of the marker's record: version 0, coordinator epoch.
    pub fn value(&self) -> Bytes {
        let mut value = vec![0, 0];
        value.extend_from_slice(&self.coordinator_epoch.to_be_bytes());
        value.into()
    }
}
