//! What an onlooker knows of a cluster: the fold of its facts.
//!
//! Whoever shows a cluster (the lab's stage, a terminal) needs a state, and a run leaves only facts. A
//! [`ClusterView`] is that state, and [`apply`](ClusterView::apply) adds one fact to it. It never looks
//! into a broker: the same fold shows a simulation, a recording and a live cluster. That it misses
//! nothing is tested: after every step of a simulated world it equals what the brokers hold.
//!
//! Invariants
//! - it depends on the facts and their order alone
//! - a broker that is down has no replicas here; what its disk holds is known when it opens them again

mod describe;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::trace::{Event, Fact, NodeId, WorldFact};
use crate::types::{BrokerId, LeaderEpoch, Millis, NO_EPOCH, Offset, TopicPartition};

/// A cluster, as its facts tell it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClusterView {
    pub brokers: BTreeMap<BrokerId, BrokerView>,
    pub coordination_up: bool,
    /// Links that carry nothing, by the nodes they lead from and to.
    pub cut: BTreeSet<(NodeId, NodeId)>,
    /// Requests and answers on their way.
    pub packets: BTreeMap<u64, PacketView>,
}

/// One broker.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BrokerView {
    pub up: bool,
    pub paused: bool,
    pub clock_ahead_ms: Millis,
    pub disk_delay_ms: Millis,
    #[serde(with = "by_name")]
    pub replicas: BTreeMap<TopicPartition, ReplicaView>,
}

/// One replica, as its broker has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplicaView {
    pub log_start: Offset,
    pub log_end: Offset,
    pub high_watermark: Offset,
    pub leader_epoch: LeaderEpoch,
    pub role: RoleView,
}

/// What the broker takes itself to be.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum RoleView {
    /// Nobody has told it yet.
    #[default]
    Untold,
    Leader {
        isr: Vec<BrokerId>,
    },
    Follower {
        leader: BrokerId,
    },
}

/// A packet on its way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PacketView {
    pub from: NodeId,
    pub to: NodeId,
    pub what: String,
    pub bytes: u32,
}

impl Default for ReplicaView {
    fn default() -> Self {
        Self {
            log_start: 0,
            log_end: 0,
            high_watermark: 0,
            leader_epoch: NO_EPOCH,
            role: RoleView::Untold,
        }
    }
}

impl ClusterView {
    /// Adds a fact; true if it changed what is seen, packets aside.
    pub fn apply(&mut self, event: &Event) -> bool {
        let broker = event.id.node as BrokerId;
        match &event.fact {
            Fact::World(fact) => self.apply_world(fact),
            Fact::ReplicaOpened {
                partition,
                log_start,
                log_end,
                high_watermark,
            } => {
                let opened = ReplicaView {
                    log_start: *log_start,
                    log_end: *log_end,
                    high_watermark: *high_watermark,
                    ..ReplicaView::default()
                };
                let replicas = &mut self.brokers.entry(broker).or_default().replicas;
                replicas.insert(partition.clone(), opened);
                true
            }
            Fact::ReplicaClosed { partition } => {
                let seen = self.brokers.get_mut(&broker);
                seen.is_some_and(|seen| seen.replicas.remove(partition).is_some())
            }
            fact => {
                let Some(partition) = partition_of(fact) else {
                    return false;
                };
                let seen = self.brokers.get_mut(&broker);
                let replica = seen.and_then(|seen| seen.replicas.get_mut(partition));
                replica.is_some_and(|replica| replica.apply(fact))
            }
        }
    }

    fn apply_world(&mut self, fact: &WorldFact) -> bool {
        match fact {
            WorldFact::BrokerStarted { broker } => {
                let seen = self.brokers.entry(*broker).or_default();
                seen.up = true;
            }
            WorldFact::BrokerCrashed { broker, .. } | WorldFact::BrokerStopped { broker, .. } => {
                let seen = self.brokers.entry(*broker).or_default();
                (seen.up, seen.paused) = (false, false);
                seen.replicas.clear();
            }
            WorldFact::BrokerPaused { broker } => self.brokers.entry(*broker).or_default().paused = true,
            WorldFact::BrokerResumed { broker } => self.brokers.entry(*broker).or_default().paused = false,
            WorldFact::CoordinationStarted => self.coordination_up = true,
            WorldFact::CoordinationCrashed => self.coordination_up = false,
            WorldFact::LinkCut { from, to } => {
                self.cut.insert((*from, *to));
            }
            WorldFact::LinkHealed { from, to } => {
                self.cut.remove(&(*from, *to));
            }
            WorldFact::DiskSlowed { broker, delay_ms } => {
                self.brokers.entry(*broker).or_default().disk_delay_ms = *delay_ms;
            }
            WorldFact::ClockSkewed { broker, by_ms } => {
                self.brokers.entry(*broker).or_default().clock_ahead_ms = *by_ms;
            }
            WorldFact::PacketSent {
                packet,
                from,
                to,
                what,
                bytes,
            } => {
                let sent = PacketView {
                    from: *from,
                    to: *to,
                    what: what.clone(),
                    bytes: *bytes,
                };
                self.packets.insert(*packet, sent);
                return false;
            }
            WorldFact::PacketDelivered { packet } => {
                self.packets.remove(packet);
                return false;
            }
            WorldFact::PacketLost { packet, .. } => {
                self.packets.remove(packet);
            }
            // Worth seeing, though it moves nothing here.
            WorldFact::RecordsAcknowledged { .. }
            | WorldFact::RecordsFailed { .. }
            | WorldFact::RecordsRead { .. }
            | WorldFact::OffsetOutOfRange { .. }
            | WorldFact::AdminAnswered { .. }
            | WorldFact::DiskFilled { .. } => {}
            WorldFact::ProduceRetried { .. }
            | WorldFact::PacketDelayed { .. }
            | WorldFact::PacketDuplicated { .. }
            | WorldFact::ConnectionClosed { .. } => return false,
        }
        true
    }

    /// The same with nothing on its way.
    pub fn without_packets(&self) -> Self {
        Self {
            packets: BTreeMap::new(),
            ..self.clone()
        }
    }

    /// The brokers that take themselves for the partition's leader.
    pub fn leaders<'a>(&'a self, partition: &'a TopicPartition) -> impl Iterator<Item = BrokerId> + 'a {
        let leads = |seen: &BrokerView| {
            let replica = seen.replicas.get(partition);
            replica.is_some_and(|replica| matches!(replica.role, RoleView::Leader { .. }))
        };
        self.brokers
            .iter()
            .filter(move |(_, seen)| leads(seen))
            .map(|(&id, _)| id)
    }

    /// The one of them that leads in the latest epoch.
    pub fn leader(&self, partition: &TopicPartition) -> Option<BrokerId> {
        let epoch = |id: &BrokerId| {
            let replica = self.brokers.get(id).and_then(|seen| seen.replicas.get(partition));
            replica.map(|replica| replica.leader_epoch)
        };
        self.leaders(partition).max_by_key(epoch)
    }

    pub fn replica(&self, broker: BrokerId, partition: &TopicPartition) -> Option<&ReplicaView> {
        self.brokers.get(&broker)?.replicas.get(partition)
    }
}

impl ReplicaView {
    fn apply(&mut self, fact: &Fact) -> bool {
        match fact {
            Fact::BatchWritten { log_end, .. } => self.log_end = *log_end,
            Fact::LogTruncated { to, .. } => {
                self.log_end = *to;
                self.high_watermark = self.high_watermark.min(*to);
            }
            Fact::LogStartMoved { to, .. } => {
                self.log_start = *to;
                self.log_end = self.log_end.max(*to);
                self.high_watermark = self.high_watermark.max(*to);
            }
            Fact::HighWatermarkMoved { to, .. } => self.high_watermark = *to,
            Fact::LeadershipTaken { epoch, isr, .. } => {
                self.leader_epoch = *epoch;
                self.role = RoleView::Leader { isr: isr.clone() };
            }
            Fact::LeaderFollowed { epoch, leader, .. } => {
                self.leader_epoch = *epoch;
                self.role = RoleView::Follower { leader: *leader };
            }
            Fact::IsrChanged { isr: now, .. } => {
                let RoleView::Leader { isr } = &mut self.role else {
                    return false;
                };
                isr.clone_from(now);
            }
            _ => return false,
        }
        true
    }
}

/// The partition that a replica's fact is about.
pub fn partition_of(fact: &Fact) -> Option<&TopicPartition> {
    match fact {
        Fact::BatchAppended { partition, .. }
        | Fact::BatchWritten { partition, .. }
        | Fact::LogStartMoved { partition, .. }
        | Fact::HighWatermarkMoved { partition, .. }
        | Fact::LogTruncated { partition, .. }
        | Fact::LogRecovered { partition, .. }
        | Fact::ReplicaOpened { partition, .. }
        | Fact::ReplicaClosed { partition }
        | Fact::LeadershipTaken { partition, .. }
        | Fact::LeaderFollowed { partition, .. }
        | Fact::FollowerProgressed { partition, .. }
        | Fact::IsrProposed { partition, .. }
        | Fact::IsrChanged { partition, .. } => Some(partition),
        _ => None,
    }
}

/// A map of partitions as an object whose keys are their names, `topic-0`.
mod by_name {
    use std::collections::BTreeMap;

    use serde::de::{Deserialize, Deserializer, Error};
    use serde::ser::{SerializeMap, Serializer};

    use super::ReplicaView;
    use crate::types::TopicPartition;

    type Replicas = BTreeMap<TopicPartition, ReplicaView>;

    pub fn serialize<S: Serializer>(replicas: &Replicas, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(Some(replicas.len()))?;
        for (partition, replica) in replicas {
            map.serialize_entry(&partition.to_string(), replica)?;
        }
        map.end()
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Replicas, D::Error> {
        let named = BTreeMap::<String, ReplicaView>::deserialize(from)?;
        let read = |(name, replica): (String, ReplicaView)| {
            let (topic, number) = name.rsplit_once('-')?;
            Some((TopicPartition::new(topic, number.parse().ok()?), replica))
        };
        let read = |entry| read(entry).ok_or_else(|| D::Error::custom("a partition is `topic-number`"));
        named.into_iter().map(read).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{EventId, Site};

    fn fold(facts: Vec<Fact>) -> ClusterView {
        let mut view = ClusterView::default();
        for fact in facts {
            view.apply(&Event {
                id: EventId { node: 1, seq: 1 },
                cause: EventId::NONE,
                at_ms: 0,
                fact,
                site: Site::default(),
            });
        }
        view
    }

    fn opened() -> Vec<Fact> {
        vec![
            Fact::World(WorldFact::BrokerStarted { broker: 1 }),
            Fact::ReplicaOpened {
                partition: TopicPartition::new("my-topic", 0),
                log_start: 0,
                log_end: 5,
                high_watermark: 3,
            },
        ]
    }

    #[test]
    fn a_replica_is_led_written_cut_and_gone_with_its_broker() {
        let partition = TopicPartition::new("my-topic", 0);
        let mut facts = opened();
        facts.push(Fact::LeadershipTaken {
            partition: partition.clone(),
            epoch: 2,
            start_offset: 5,
            isr: vec![1],
            replicas: vec![1, 2],
        });
        facts.push(Fact::BatchWritten {
            partition: partition.clone(),
            log_end: 9,
        });
        let view = fold(facts.clone());
        assert_eq!(view.leader(&partition), Some(1));
        let replica = view.replica(1, &partition).unwrap();
        assert_eq!((replica.log_end, replica.leader_epoch), (9, 2));
        facts.push(Fact::LogTruncated {
            partition: partition.clone(),
            from: 9,
            to: 2,
        });
        let cut = fold(facts.clone());
        assert_eq!(cut.replica(1, &partition).unwrap().high_watermark, 2);
        facts.push(Fact::World(WorldFact::BrokerCrashed {
            broker: 1,
            power_lost: false,
        }));
        assert_eq!(fold(facts).replica(1, &partition), None);
    }

    #[test]
    fn a_view_is_written_and_read_again() {
        let view = fold(opened());
        let text = serde_json::to_string(&view).unwrap();
        assert!(text.contains("\"my-topic-0\""), "{text}");
        assert_eq!(serde_json::from_str::<ClusterView>(&text).unwrap(), view);
    }
}
