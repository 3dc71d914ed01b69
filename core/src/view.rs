//! What an onlooker knows of a cluster: the fold of its facts.
//!
//! Whoever shows a cluster (the lab's stage, a terminal) needs a state, and a run leaves only facts. A
//! [`ClusterView`] is that state, and [`apply`](ClusterView::apply) adds one fact to it. It never looks
//! into a broker: the same fold shows a simulation, a recording and a live cluster. That it misses
//! nothing is tested: after every step of a simulated world it equals what the brokers hold.
//!
//! A fact is *visible* if it changes the view, packets aside: that is what [`apply`](ClusterView::apply)
//! answers, and nobody else decides it. Whoever steps through a run stops there, and at what a story
//! names; idle fetches and pings go by.
//!
//! Invariants
//! - it depends on the facts and their order alone
//! - a broker that is down has no replicas here; what its disk holds is known when it opens them again

mod describe;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::trace::{ConsumerFact, Event, Fact, NodeId, WorldFact};
use crate::types::{BrokerId, LeaderEpoch, Millis, NO_EPOCH, Offset, TopicPartition};

/// A cluster, as its facts tell it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClusterView {
    pub brokers: BTreeMap<BrokerId, BrokerView>,
    pub coordination_up: bool,
    /// Links that carry nothing, by the nodes they lead from and to.
    pub cut: BTreeSet<(NodeId, NodeId)>,
    pub clients: BTreeMap<NodeId, ClientView>,
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
    /// Its disk has only so much room left, or none.
    pub disk_filled: bool,
    /// Of its office, if it takes itself for the controller.
    pub controller_epoch: Option<i32>,
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

/// What a client was told.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientView {
    /// Records that it was told are stored, or that it sent with acks=0.
    pub acknowledged: u64,
    /// Records that it gave up.
    pub failed: u64,
    /// Its process was killed.
    pub dead: bool,
    /// The partitions that a consumer has, each with the next offset that it reads, once it knows it.
    #[serde(with = "by_name")]
    pub assigned: BTreeMap<TopicPartition, Option<Offset>>,
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
            Fact::Consumer(fact) => {
                let seen = self.clients.get_mut(&event.id.node);
                seen.is_some_and(|seen| seen.apply(fact))
            }
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
            Fact::ControllerElected { epoch, .. } => {
                let seen = self.brokers.entry(broker).or_default();
                set(&mut seen.controller_epoch, Some(*epoch))
            }
            Fact::ControllerResigned { .. } => {
                let seen = self.brokers.entry(broker).or_default();
                set(&mut seen.controller_epoch, None)
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
            WorldFact::BrokerStarted { broker } => set(&mut self.broker_mut(*broker).up, true),
            WorldFact::BrokerCrashed { broker, .. } | WorldFact::BrokerStopped { broker, .. } => {
                let seen = self.broker_mut(*broker);
                (seen.up, seen.paused, seen.controller_epoch) = (false, false, None);
                seen.replicas.clear();
                true
            }
            WorldFact::BrokerPaused { broker } => set(&mut self.broker_mut(*broker).paused, true),
            WorldFact::BrokerResumed { broker } => set(&mut self.broker_mut(*broker).paused, false),
            WorldFact::CoordinationStarted => set(&mut self.coordination_up, true),
            WorldFact::CoordinationCrashed => set(&mut self.coordination_up, false),
            WorldFact::LinkCut { from, to } => self.cut.insert((*from, *to)),
            WorldFact::LinkHealed { from, to } => self.cut.remove(&(*from, *to)),
            WorldFact::DiskSlowed { broker, delay_ms } => {
                set(&mut self.broker_mut(*broker).disk_delay_ms, *delay_ms)
            }
            WorldFact::DiskFilled { broker, left_bytes } => {
                set(&mut self.broker_mut(*broker).disk_filled, *left_bytes < u64::MAX)
            }
            WorldFact::ClockSkewed { broker, by_ms } => {
                set(&mut self.broker_mut(*broker).clock_ahead_ms, *by_ms)
            }
            WorldFact::ClientStarted { client } => {
                self.clients.insert(*client, ClientView::default());
                true
            }
            WorldFact::ClientKilled { client } => {
                let seen = self.client_mut(*client);
                seen.assigned.clear();
                set(&mut seen.dead, true)
            }
            WorldFact::RecordsAcknowledged { client, count, .. } => {
                self.client_mut(*client).acknowledged += u64::from(*count);
                true
            }
            WorldFact::RecordsFailed { client, count, .. } => {
                self.client_mut(*client).failed += u64::from(*count);
                true
            }
            WorldFact::PacketSent { .. }
            | WorldFact::PacketDelivered { .. }
            | WorldFact::PacketLost { .. } => {
                self.apply_packet(fact);
                false
            }
            WorldFact::RecordsGiven { .. }
            | WorldFact::TaskGiven { .. }
            | WorldFact::StopAsked { .. }
            | WorldFact::ApplicationActs { .. }
            | WorldFact::RecordsProcessed { .. }
            | WorldFact::AdminAnswered { .. }
            | WorldFact::PacketDelayed { .. }
            | WorldFact::PacketDuplicated { .. }
            | WorldFact::ConnectionClosed { .. } => false,
        }
    }

    fn apply_packet(&mut self, fact: &WorldFact) {
        match fact {
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
            }
            WorldFact::PacketDelivered { packet } | WorldFact::PacketLost { packet, .. } => {
                self.packets.remove(packet);
            }
            _ => {}
        }
    }

    fn broker_mut(&mut self, id: BrokerId) -> &mut BrokerView {
        self.brokers.entry(id).or_default()
    }

    fn client_mut(&mut self, id: NodeId) -> &mut ClientView {
        self.clients.entry(id).or_default()
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

impl ClientView {
    /// What a consumer does with partitions.
    fn apply(&mut self, fact: &ConsumerFact) -> bool {
        match fact {
            ConsumerFact::Assigned { partitions: owned } | ConsumerFact::PartitionsAssigned { owned, .. } => {
                self.has_now(owned)
            }
            ConsumerFact::PartitionsRevoked { partitions, .. }
            | ConsumerFact::PartitionsLost { partitions, .. } => {
                let before = self.assigned.len();
                self.assigned
                    .retain(|partition, _| !partitions.contains(partition));
                self.assigned.len() < before
            }
            ConsumerFact::PositionSet {
                partition, offset, ..
            } => self.is_at(partition, Some(*offset)),
            ConsumerFact::RecordsReturned { partition, to, .. } => self.is_at(partition, Some(*to)),
            ConsumerFact::PositionLost { partition, .. } => self.is_at(partition, None),
            ConsumerFact::Unsubscribed | ConsumerFact::Closed => {
                let had_any = !self.assigned.is_empty();
                self.assigned.clear();
                had_any
            }
            _ => false,
        }
    }

    fn has_now(&mut self, owned: &[TopicPartition]) -> bool {
        let before = self.assigned.clone();
        let kept = |partition: &TopicPartition| {
            let position = before.get(partition).copied().flatten();
            (partition.clone(), position)
        };
        self.assigned = owned.iter().map(kept).collect();
        self.assigned != before
    }

    fn is_at(&mut self, partition: &TopicPartition, position: Option<Offset>) -> bool {
        let seen = self.assigned.get_mut(partition);
        seen.is_some_and(|seen| set(seen, position))
    }
}

impl ReplicaView {
    fn apply(&mut self, fact: &Fact) -> bool {
        match fact {
            Fact::BatchWritten { log_end, .. } => set(&mut self.log_end, *log_end),
            Fact::LogTruncated { to, .. } => {
                let changed = set(&mut self.log_end, *to);
                self.log_start = self.log_start.min(*to);
                self.high_watermark = self.high_watermark.min(*to);
                changed
            }
            Fact::LogStartMoved { to, .. } => set(&mut self.log_start, *to),
            Fact::HighWatermarkMoved { to, .. } => set(&mut self.high_watermark, *to),
            Fact::LeadershipTaken { epoch, isr, .. } => {
                self.leader_epoch = *epoch;
                self.role = RoleView::Leader { isr: isr.clone() };
                true
            }
            Fact::LeaderFollowed { epoch, leader, .. } => {
                self.leader_epoch = *epoch;
                self.role = RoleView::Follower { leader: *leader };
                true
            }
            Fact::IsrChanged { isr: now, .. } => match &mut self.role {
                RoleView::Leader { isr } => set(isr, now.clone()),
                _ => false,
            },
            _ => false,
        }
    }
}

/// Puts the value there; whether it is another one.
fn set<T: PartialEq>(place: &mut T, value: T) -> bool {
    let changed = *place != value;
    *place = value;
    changed
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

    use serde::Serialize;

    use crate::types::TopicPartition;

    pub fn serialize<V: Serialize, S: Serializer>(
        by_partition: &BTreeMap<TopicPartition, V>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(Some(by_partition.len()))?;
        for (partition, value) in by_partition {
            map.serialize_entry(&partition.to_string(), value)?;
        }
        map.end()
    }

    pub fn deserialize<'de, V: Deserialize<'de>, D: Deserializer<'de>>(
        from: D,
    ) -> Result<BTreeMap<TopicPartition, V>, D::Error> {
        let named = BTreeMap::<String, V>::deserialize(from)?;
        let read = |(name, value): (String, V)| {
            let (topic, number) = name.rsplit_once('-')?;
            Some((TopicPartition::new(topic, number.parse().ok()?), value))
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
