//! What all partitions of a broker share when they replicate: who this broker is, the settings, and
//! what it knows of the other brokers (in Kafka `KafkaConfig` and the `MetadataCache`).
//!
//! The broker owns one and keeps it as UpdateMetadata says; partitions are handed a reference.

use crate::config::BrokerConfig;
use crate::ordered::OrderedMap;
use crate::types::{BrokerEpoch, BrokerId, Millis, NO_BROKER_EPOCH};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replication {
    /// This broker.
    pub me: BrokerId,
    /// This broker's own life.
    pub broker_epoch: BrokerEpoch,
    /// `replica.lag.time.max.ms`: a follower that was caught up so lately is in sync.
    pub lag_time_max_ms: Millis,
    /// Whether a follower's fetch must come from the life of its broker that is known here (KIP-903).
    /// Off only to show what is lost without.
    pub check_broker_epochs: bool,
    /// The brokers that live, this one may be among them.
    pub live: OrderedMap<BrokerId, Standing>,
}

/// What is known of a live broker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// [`NO_BROKER_EPOCH`] when it is not known; then every life passes.
    pub epoch: BrokerEpoch,
    /// It is handing its leaderships over, and must not enter an ISR.
    pub shutting_down: bool,
}

impl Default for Standing {
    fn default() -> Self {
        Self {
            epoch: NO_BROKER_EPOCH,
            shutting_down: false,
        }
    }
}

impl Replication {
    /// A broker that knows no other yet, nor its own epoch.
    pub fn new(config: &BrokerConfig) -> Self {
        Self {
            me: config.node_id,
            broker_epoch: NO_BROKER_EPOCH,
            lag_time_max_ms: config.replica_lag_time_max_ms,
            check_broker_epochs: config.check_broker_epochs,
            live: OrderedMap::new(),
        }
    }

    pub fn is_alive(&self, broker: BrokerId) -> bool {
        self.live.contains_key(&broker)
    }

    /// Whether a fetch of that life of a broker is of an earlier one than is known.
    pub fn is_stale(&self, broker: BrokerId, epoch: BrokerEpoch) -> bool {
        let known = self.live.get(&broker);
        self.check_broker_epochs && epoch != NO_BROKER_EPOCH && known.is_some_and(|known| known.epoch > epoch)
    }

    /// Whether a follower that last fetched in that life may enter an ISR
    /// (`Partition.isReplicaIsrEligible`); `None`: it has not fetched from this leader yet.
    pub fn is_eligible(&self, broker: BrokerId, fetched_in: Option<BrokerEpoch>) -> bool {
        let Some(standing) = self.live.get(&broker) else {
            return false;
        };
        if standing.shutting_down {
            return false;
        }
        !self.check_broker_epochs
            || fetched_in.is_some_and(|epoch| {
                epoch == NO_BROKER_EPOCH || standing.epoch == NO_BROKER_EPOCH || epoch == standing.epoch
            })
    }
}
