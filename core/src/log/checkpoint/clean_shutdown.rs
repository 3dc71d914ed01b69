//! `.kafka_cleanshutdown`: written last at an orderly stop and removed first at the next start.
//!
//! That the file is there is the mark; older brokers leave it empty. What it holds only tells a
//! controller that the broker with this epoch stopped cleanly (KIP-966).

use bytes::Bytes;
use serde::Deserialize;

use super::BadCheckpoint;

/// What `.kafka_cleanshutdown` says (Kafka's `CleanShutdownFileHandler`, version 0).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CleanShutdown {
    /// Epoch of the broker's last registration; -1 when it had none.
    pub broker_epoch: i64,
}

#[derive(Deserialize)]
struct Content {
    #[serde(rename = "brokerEpoch")]
    broker_epoch: i64,
}

impl CleanShutdown {
    pub const FILE: &str = ".kafka_cleanshutdown";

    /// An error leaves the stop a clean one, its epoch unknown.
    pub fn read(bytes: &[u8]) -> Result<Self, BadCheckpoint> {
        let content: Content =
            serde_json::from_slice(bytes).map_err(|error| BadCheckpoint::Json(error.to_string()))?;
        Ok(Self {
            broker_epoch: content.broker_epoch,
        })
    }

    pub fn write(&self) -> Bytes {
        format!("{{\"version\":0,\"brokerEpoch\":{}}}", self.broker_epoch).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_content_is_kafkas() {
        let mark = CleanShutdown { broker_epoch: 7 };
        assert_eq!(mark.write()[..], *br#"{"version":0,"brokerEpoch":7}"#);
        assert_eq!(CleanShutdown::read(&mark.write()), Ok(mark));
        let newer = br#"{"version":1,"brokerEpoch":-1,"more":{}}"#;
        assert_eq!(CleanShutdown::read(newer), Ok(CleanShutdown { broker_epoch: -1 }));
    }

    #[test]
    fn an_empty_or_broken_file_has_no_epoch() {
        for file in [&b""[..], b"{", b"{\"version\":0}", b"\xff"] {
            assert!(matches!(CleanShutdown::read(file), Err(BadCheckpoint::Json(_))));
        }
    }
}
