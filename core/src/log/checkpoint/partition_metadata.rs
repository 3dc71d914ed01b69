//! `partition.metadata`: ties a partition's directory to its topic's id (KIP-516), so that the data
//! of a deleted topic is never taken for that of a new one with the same name.

use bytes::Bytes;

use super::{BadCheckpoint, text};
use crate::types::Uuid;

/// What `partition.metadata` says (Kafka's `PartitionMetadata`, version 0).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartitionMetadata {
    pub topic_id: Uuid,
}

impl PartitionMetadata {
    pub const FILE: &str = "partition.metadata";

    pub fn read(bytes: &[u8]) -> Result<Self, BadCheckpoint> {
        let (mut version, mut topic_id) = (None, None);
        for (at, line) in text(bytes)?.lines().enumerate() {
            match line.split_once(": ") {
                Some(("version", value)) => version = Some(value),
                Some(("topic_id", value)) => topic_id = Some(value),
                _ => {
                    return Err(BadCheckpoint::Line {
                        line: at + 1,
                        text: line.to_owned(),
                        expected: "`version: 0` or `topic_id: ID`",
                    });
                }
            }
        }
        let bad = |key, value: &str, expected| BadCheckpoint::Value {
            key,
            value: value.to_owned(),
            expected,
        };
        let version = version.ok_or(BadCheckpoint::Missing("version"))?;
        match version.parse() {
            Ok(0i64) => {}
            Ok(found) => return Err(BadCheckpoint::Version { found, readable: "0" }),
            Err(_) => return Err(bad("version", version, "a number")),
        }
        let topic_id = topic_id.ok_or(BadCheckpoint::Missing("topic_id"))?;
        match Uuid::parse(topic_id) {
            Some(id) if !id.is_zero() => Ok(Self { topic_id: id }),
            _ => Err(bad(
                "topic_id",
                topic_id,
                "22 characters of base64 that are not all zero",
            )),
        }
    }

    /// The whole file; like Kafka's it ends without a newline.
    pub fn write(&self) -> Bytes {
        format!("version: 0\ntopic_id: {}", self.topic_id).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kafkas_file_reads_and_writes_back_to_the_same_bytes() {
        let file = include_bytes!("../../../../tests/fixtures/fx-txn-0/partition.metadata");
        let read = PartitionMetadata::read(file).unwrap();
        assert_eq!(read.topic_id.to_string(), "SfQrfIs3RBiwzPKClMouOQ");
        assert_eq!(read.write()[..], *file);
    }

    #[test]
    fn garbage_is_refused() {
        let id = "SfQrfIs3RBiwzPKClMouOQ";
        for (file, told) in [
            (String::new(), "lacks version"),
            ("version: 0\n".into(), "lacks topic_id"),
            (
                format!("version: 7\ntopic_id: {id}"),
                "has version 7, this broker reads 0",
            ),
            (
                "version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAA".into(),
                "has topic_id=\"AAAAAAAAAAAAAAAAAAAAAA\", expected 22 characters of base64 that are not all zero",
            ),
            (
                "hello".into(),
                "line 1 is \"hello\", expected `version: 0` or `topic_id: ID`",
            ),
        ] {
            assert_eq!(
                PartitionMetadata::read(file.as_bytes()).unwrap_err().to_string(),
                told
            );
        }
    }
}
