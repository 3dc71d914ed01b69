//! The words that every layer shares: offsets, epochs, identities, time.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// Position of a record in a partition; the first record ever written has offset 0.
pub type Offset = i64;
/// How many leaders a partition has had, less one; -1 stands for "not known".
pub type LeaderEpoch = i32;
/// `broker.id` (ZooKeeper way) or `node.id`; -1 stands for "none".
pub type BrokerId = i32;
/// Which life of a broker: in the ZooKeeper way the czxid of its `/brokers/ids` node; -1 stands for "not
/// known".
pub type BrokerEpoch = i64;
/// How often a partition's leader, ISR or replicas have changed: the version of its state node.
pub type PartitionEpoch = i32;
/// Number of a partition within its topic, from 0.
pub type PartitionIndex = i32;
/// Index of a log directory in `log.dirs`.
pub type DirId = u16;
/// Milliseconds: a point in time is counted from the Unix epoch, a duration from nothing.
pub type Millis = i64;
/// Identity of a producer for idempotence and transactions; -1 stands for "none".
pub type ProducerId = i64;
/// Fences an older life of the same producer id; -1 stands for "none".
pub type ProducerEpoch = i16;
/// Number of a record in a producer's stream to one partition; wraps from `i32::MAX` to 0.
pub type Sequence = i32;

/// "No leader epoch", as on the wire.
pub const NO_EPOCH: LeaderEpoch = -1;
/// "No broker", as on the wire.
pub const NO_BROKER: BrokerId = -1;
/// "Life of a broker not known", as on the wire.
pub const NO_BROKER_EPOCH: BrokerEpoch = -1;
/// "No producer", as in a batch header.
pub const NO_PRODUCER_ID: ProducerId = -1;
/// "No timestamp", as in a batch header.
pub const NO_TIMESTAMP: Millis = -1;

/// Whether a partition's log may lack what was acknowledged, after an election outside the ISR
/// (KIP-704).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum LeaderRecoveryState {
    #[default]
    Recovered,
    Recovering,
}

impl LeaderRecoveryState {
    /// The number on the wire and in the state node.
    pub fn code(self) -> i8 {
        match self {
            Self::Recovered => 0,
            Self::Recovering => 1,
        }
    }

    pub fn from_code(code: i8) -> Option<Self> {
        match code {
            0 => Some(Self::Recovered),
            1 => Some(Self::Recovering),
            _ => None,
        }
    }
}

/// Names an open file, by directory and a number that the core gives and never uses again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct FileId {
    pub dir: DirId,
    pub number: u64,
}

/// One partition of a topic, by name. Cheap to clone: the name is shared.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TopicPartition {
    pub topic: Arc<str>,
    pub partition: PartitionIndex,
}

impl TopicPartition {
    pub fn new(topic: impl Into<Arc<str>>, partition: PartitionIndex) -> Self {
        Self {
            topic: topic.into(),
            partition,
        }
    }
}

impl fmt::Display for TopicPartition {
    /// The partition's directory name: `topic-0`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.topic, self.partition)
    }
}

/// Kafka's UUID for a topic (KIP-516), a directory or a cluster. Shown as Kafka shows it: 22
/// characters of URL-safe base64 without padding.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Uuid(pub [u8; 16]);

impl Uuid {
    /// All bits zero: "no id".
    pub const ZERO: Uuid = Uuid([0; 16]);

    /// A version 4 UUID from 16 drawn bytes.
    pub fn from_random(mut bytes: [u8; 16]) -> Self {
        bytes[6] = (bytes[6] & 0x0f) | 0x40;
        bytes[8] = (bytes[8] & 0x3f) | 0x80;
        Self(bytes)
    }

    pub fn is_zero(&self) -> bool {
        *self == Self::ZERO
    }

    /// Reads the 22 characters that [`Display`](fmt::Display) writes; `None` for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        if text.len() != 22 {
            return None;
        }
        let (mut bits, mut held, mut at, mut bytes) = (0u32, 0u32, 0usize, [0u8; 16]);
        for c in text.bytes() {
            let value = BASE64_URL.iter().position(|&b| b == c)? as u32;
            held = (held << 6) | value;
            bits += 6;
            if bits >= 8 {
                bits -= 8;
                *bytes.get_mut(at)? = (held >> bits) as u8;
                at += 1;
                held &= (1 << bits) - 1;
            }
        }
        // 22 characters carry 132 bits; the four left over must be zero, or two texts would mean one id.
        (held == 0).then_some(Self(bytes))
    }
}

const BASE64_URL: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

impl fmt::Display for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::with_capacity(22);
        for chunk in self.0.chunks(3) {
            let mut word = [0u8; 4];
            word[1..=chunk.len()].copy_from_slice(chunk);
            let word = u32::from_be_bytes(word);
            for i in 0..=chunk.len() {
                text.push(BASE64_URL[(word >> (18 - 6 * i)) as usize & 63] as char);
            }
        }
        f.write_str(&text)
    }
}

impl fmt::Debug for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The only source of chance in the core: seeded by the host, so the same seed tells the same
/// story (SplitMix64).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rng(u64);

impl Rng {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`; 0 when `bound` is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    pub fn uuid(&mut self) -> Uuid {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&self.next_u64().to_be_bytes());
        bytes[8..].copy_from_slice(&self.next_u64().to_be_bytes());
        Uuid::from_random(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uuid_reads_back_what_it_shows() {
        let mut rng = Rng::new(7);
        for _ in 0..100 {
            let id = rng.uuid();
            assert_eq!(id.to_string().len(), 22);
            assert_eq!(Uuid::parse(&id.to_string()), Some(id));
        }
        assert_eq!(Uuid::ZERO.to_string(), "AAAAAAAAAAAAAAAAAAAAAA");
        assert_eq!(
            Uuid::parse("AAAAAAAAAAAAAAAAAAAAAB"),
            None,
            "stray bits are refused"
        );
        assert_eq!(Uuid::parse("too short"), None);
    }

    #[test]
    fn numbers_below_a_bound_stay_below_it() {
        let mut rng = Rng::new(1);
        assert!((0..1000).all(|_| rng.below(10) < 10));
        assert_eq!(rng.below(0), 0);
    }
}
