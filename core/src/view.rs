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

mod batches;
mod client;
mod describe;
mod memory;
mod producer;
mod replica;
mod stored;
mod tree;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::ordered::{OrderedMap, OrderedSet};
use crate::trace::{Carried, Event, Fact, NodeId, WorldFact};
use crate::types::{BrokerId, Millis, NO_EPOCH, TopicPartition};

pub use batches::{BatchList, BatchSpan};
pub use client::ClientView;
pub use memory::{Cut, PartitionMemory, PromiseRun};
pub use producer::{BatchView, ProducerSettings, ProducerView, RequestView, Tally, Way};
pub use replica::{ReplicaView, RoleView};
pub use stored::{StoredPartition, StoredView};
pub use tree::{Ephemeral, Past, SessionView, TreeMemory, TreeView, Watched};

/// A cluster, as its facts tell it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClusterView {
    pub brokers: OrderedMap<BrokerId, BrokerView>,
    pub coordination_up: bool,
    /// Links that carry nothing, by the nodes they lead from and to.
    pub cut: OrderedSet<(NodeId, NodeId)>,
    pub clients: OrderedMap<NodeId, ClientView>,
    pub producers: OrderedMap<NodeId, Arc<ProducerView>>,
    /// The producer that was last given something to send.
    pub given_to: Option<NodeId>,
    /// What the coordination service has, or had when it went down.
    pub stored: StoredView,
    /// What hangs on sessions there.
    pub tree: TreeView,
    /// Requests and answers on their way.
    pub packets: OrderedMap<u64, PacketView>,
    pub memory: Memory,
}

/// What the onlooker remembers, and nobody there does.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    /// Facts so far.
    pub facts: usize,
    /// Who had sent what arrived last.
    delivered_from: NodeId,
    pub tree: TreeMemory,
    #[serde(with = "by_name")]
    partitions: OrderedMap<TopicPartition, Arc<PartitionMemory>>,
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
    pub replicas: OrderedMap<TopicPartition, ReplicaView>,
}

/// A packet on its way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PacketView {
    pub from: NodeId,
    pub to: NodeId,
    pub what: String,
    pub bytes: u32,
    /// What it says of partitions, as far as that is new.
    pub carries: Vec<Carried>,
}

impl ClusterView {
    /// Adds a fact; true if it changed what is seen, packets aside.
    pub fn apply(&mut self, event: &Event) -> bool {
        let is_seen = self.take(event);
        self.memory.facts += 1;
        is_seen
    }

    fn take(&mut self, event: &Event) -> bool {
        let broker = event.id.node as BrokerId;
        let at = self.memory.facts;
        self.tree.apply(&event.fact, at, &mut self.memory.tree);
        match &event.fact {
            Fact::World(fact) => self.apply_world(fact),
            Fact::Consumer(fact) => {
                let seen = self.clients.get_mut(&event.id.node);
                seen.is_some_and(|seen| seen.apply(fact))
            }
            Fact::Producer(fact) => {
                let seen = Arc::make_mut(self.producers.entry(event.id.node).or_default());
                seen.apply(event.at_ms, fact);
                false
            }
            Fact::ReplicaOpened { partition, .. } => self.opened(broker, partition, &event.fact),
            Fact::CoordinationChanged { changes, data, .. } => self.stored.change(changes, data),
            Fact::CoordinationOpened { nodes, .. } => {
                let nodes = nodes.iter().map(|(path, data, _)| (path.as_str(), data.as_str()));
                set(&mut self.stored, StoredView::of(nodes))
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
                let Some(replica) = seen.and_then(|seen| seen.replicas.remove(partition)) else {
                    return false;
                };
                // Its directory may have failed, and be opened again with what lies in it.
                self.memory.of(partition).closed.insert(broker, replica.batches);
                true
            }
            fact => self.apply_replica(broker, fact),
        }
    }

    /// What a broker says of a replica that it has.
    fn apply_replica(&mut self, broker: BrokerId, fact: &Fact) -> bool {
        let Some(partition) = partition_of(fact) else {
            return false;
        };
        let seen = self.brokers.get_mut(&broker);
        let Some(replica) = seen.and_then(|seen| seen.replicas.get_mut(partition)) else {
            return false;
        };
        if let Fact::LogTruncated { to, .. } = fact {
            let cut = replica.batches.between(*to, replica.log_end).collect();
            let at = self.memory.facts;
            self.memory.of(partition).cut(broker, cut, at);
        }
        let is_seen = replica.apply(broker, fact);
        match fact {
            Fact::BatchAppended { .. } => {
                let appended = replica.batches.iter().next_back();
                let known = self.memory.partitions.get(partition);
                if let Some(batch) = appended
                    && !known.is_some_and(|known| known.knows(batch))
                {
                    self.memory.of(partition).name(batch, broker);
                }
            }
            Fact::LeadershipTaken { .. } => self.judge(partition),
            _ => {}
        }
        is_seen
    }

    fn opened(&mut self, broker: BrokerId, partition: &TopicPartition, fact: &Fact) -> bool {
        let Fact::ReplicaOpened {
            log_start,
            log_end,
            high_watermark,
            epochs,
            ..
        } = fact
        else {
            return false;
        };
        let memory = self.memory.of(partition);
        let closed = memory.closed.remove(&broker).unwrap_or_default();
        let left = memory.left.remove(&broker);
        let known = left.map_or(closed, |left| left.batches);
        let batches = BatchList::opened(&known, epochs, *log_start, *log_end);
        // Of a log that was there before anybody looked, the records get their numbers now.
        batches.iter().for_each(|batch| memory.name(batch, broker));
        let opened = ReplicaView {
            log_start: *log_start,
            log_end: *log_end,
            high_watermark: *high_watermark,
            batches,
            ..ReplicaView::default()
        };
        let replicas = &mut self.brokers.entry(broker).or_default().replicas;
        replicas.insert(partition.clone(), opened);
        true
    }

    /// Compares what was promised with what the leader in office has.
    fn judge(&mut self, partition: &TopicPartition) {
        let leader = self.leader(partition);
        let Some(led) = leader.and_then(|id| self.brokers.get(&id)?.replicas.get(partition)) else {
            return;
        };
        let known = self.memory.partitions.get(partition);
        if known.is_some_and(|known| !known.promises().is_empty()) {
            let memory = self.memory.of(partition);
            memory.judge(led.log_start, led.log_end, &led.batches);
        }
    }

    fn apply_world(&mut self, fact: &WorldFact) -> bool {
        match fact {
            WorldFact::BrokerStarted { broker } => {
                // What it was is over; what its disk has is known when it opens it.
                self.memory.forget_roles(*broker);
                set(&mut self.broker_mut(*broker).up, true)
            }
            WorldFact::BrokerCrashed { broker, .. } | WorldFact::BrokerStopped { broker, .. } => {
                let seen = self.broker_mut(*broker);
                (seen.up, seen.paused, seen.controller_epoch) = (false, false, None);
                for (partition, replica) in std::mem::take(&mut seen.replicas) {
                    self.memory.of(&partition).left.insert(*broker, replica);
                }
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
            WorldFact::ClientStarted { client, kind } => {
                let started = ClientView {
                    kind: *kind,
                    ..ClientView::default()
                };
                self.clients.insert(*client, started);
                true
            }
            WorldFact::ClientKilled { client } => {
                let seen = self.client_mut(*client);
                seen.assigned.clear();
                set(&mut seen.dead, true)
            }
            WorldFact::RecordsAcknowledged {
                client,
                partition,
                base_offset,
                count,
                acks,
                ..
            } => {
                self.client_mut(*client).acknowledged += u64::from(*count);
                if *base_offset >= 0 {
                    let by = self.memory.delivered_from as BrokerId;
                    let memory = self.memory.of(partition);
                    let epoch = memory.promise(*base_offset, *count, *acks, by);
                    // Told late: another leads by now, and may not have them.
                    let led = self.leader(partition).and_then(|id| self.replica(id, partition));
                    if led.is_some_and(|led| Some(led.leader_epoch) > epoch) {
                        self.judge(partition);
                    }
                }
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
            WorldFact::RecordsGiven { client, count, .. } => {
                Arc::make_mut(self.producers.entry(*client).or_default()).given(*count);
                self.given_to = Some(*client);
                false
            }
            WorldFact::TaskGiven { .. }
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
                carries,
            } => {
                let sent = PacketView {
                    from: *from,
                    to: *to,
                    what: what.clone(),
                    bytes: *bytes,
                    carries: carries.clone(),
                };
                self.packets.insert(*packet, sent);
            }
            WorldFact::PacketDelivered { packet } => {
                if let Some(arrived) = self.packets.remove(packet) {
                    self.memory.delivered_from = arrived.from;
                }
            }
            WorldFact::PacketLost { packet, .. } => {
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

    /// What the brokers and clients know themselves: nothing on its way, nothing remembered, and neither
    /// what the coordination service nor what a log holds.
    pub fn known_by_nodes(&self) -> Self {
        let without_log = |replica: &ReplicaView| ReplicaView {
            batches: BatchList::default(),
            ..replica.clone()
        };
        let broker = |(&id, seen): (&BrokerId, &BrokerView)| {
            let replicas = seen.replicas.iter();
            let replicas = replicas.map(|(partition, replica)| (partition.clone(), without_log(replica)));
            let replicas = replicas.collect();
            (id, BrokerView { replicas, ..*seen })
        };
        Self {
            brokers: self.brokers.iter().map(broker).collect(),
            coordination_up: self.coordination_up,
            cut: self.cut.clone(),
            clients: self.clients.clone(),
            ..Self::default()
        }
    }

    /// What is remembered of the partition.
    pub fn memory_of(&self, partition: &TopicPartition) -> Option<&PartitionMemory> {
        self.memory.partitions.get(partition).map(Arc::as_ref)
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

    /// The replica, as its broker has it, or had it when it went down.
    pub fn last_known(&self, broker: BrokerId, partition: &TopicPartition) -> Option<&ReplicaView> {
        let left = || self.memory_of(partition)?.left(broker);
        self.replica(broker, partition).or_else(left)
    }

    pub fn replica(&self, broker: BrokerId, partition: &TopicPartition) -> Option<&ReplicaView> {
        self.brokers.get(&broker)?.replicas.get(partition)
    }
}

impl Memory {
    /// The broker begins anew: nobody has told it yet who leads.
    fn forget_roles(&mut self, broker: BrokerId) {
        for memory in self.partitions.values_mut() {
            if memory.left.contains_key(&broker)
                && let Some(left) = Arc::make_mut(memory).left.get_mut(&broker)
            {
                (left.role, left.leader_epoch) = (RoleView::Untold, NO_EPOCH);
            }
        }
    }

    fn of(&mut self, partition: &TopicPartition) -> &mut PartitionMemory {
        if !self.partitions.contains_key(partition) {
            self.partitions.insert(partition.clone(), Arc::default());
        }
        let entry = self.partitions.entry(partition.clone()).or_default();
        Arc::make_mut(entry)
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
        | Fact::IsrProposalRefused { partition, .. }
        | Fact::IsrChanged { partition, .. } => Some(partition),
        _ => None,
    }
}

/// A map of partitions as an object whose keys are their names, `topic-0`.
mod by_name {

    use serde::de::{Deserialize, Deserializer, Error};
    use serde::ser::{SerializeMap, Serializer};

    use serde::Serialize;

    use crate::ordered::OrderedMap;
    use crate::types::TopicPartition;

    pub fn serialize<V: Serialize, S: Serializer>(
        by_partition: &OrderedMap<TopicPartition, V>,
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
    ) -> Result<OrderedMap<TopicPartition, V>, D::Error> {
        let named = OrderedMap::<String, V>::deserialize(from)?;
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
                epochs: vec![(0, 0)],
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
