//! How a stage follows from a view.

use std::ops::Range;
use std::sync::Arc;

use super::message::{Idle, Message};
use super::names::Names;
use super::promise::{Promise, PromiseState};
use super::row::{Cell, Heard, Mark, MarkKind, Record, Role, Row, State};
use super::{
    CutLink, Figure, Folded, IsrHolder, IsrLine, Picture, ProducerPicture, Shape, Stage, StageOptions,
    TreePicture,
};
use crate::ordered::OrderedSet;
use crate::trace::{COORDINATION, ClientKind, NodeId};
use crate::types::{BrokerId, LeaderEpoch, Offset, TopicPartition};
use crate::view::{BrokerView, ClientView, ClusterView, PartitionMemory, PromiseRun, ReplicaView, RoleView};

/// Columns behind the last record, so that a next one has its place.
const SPARE_COLUMNS: Offset = 2;
/// Never fewer columns: the grid does not grow at the first records.
const LEAST_COLUMNS: Offset = 6;

/// A replica on stage: as its broker has it, or as it was when the broker went down.
struct Actor<'a> {
    broker: BrokerId,
    state: State,
    replica: &'a ReplicaView,
}

/// Everything that parts of the stage are made from.
struct Fold<'a> {
    view: &'a ClusterView,
    options: &'a StageOptions,
    memory: Option<&'a PartitionMemory>,
    actors: Vec<Actor<'a>>,
    names: Names,
    offsets: Range<Offset>,
}

impl Stage {
    /// The view, as it is drawn.
    pub fn of(view: &ClusterView, options: &StageOptions) -> Self {
        if options.picture == Picture::Producer {
            return Self::of_producer(view, options);
        }
        let mut fold = Fold {
            view,
            options,
            memory: view.memory_of(&options.partition),
            actors: actors(view, &options.partition),
            names: Names::of(view),
            offsets: 0..0,
        };
        let folded = fold.set_columns();
        let messages = fold.messages();
        Self {
            partition: options.partition.clone(),
            figures: fold.figures(),
            cut_links: fold.cut_links(),
            offsets: fold.offsets.clone(),
            folded,
            promises: fold.promises(),
            isrs: fold.isrs(),
            rows: fold
                .actors
                .iter()
                .map(|actor| Arc::new(fold.row(actor)))
                .collect(),
            idle: Idle {
                count: view.packets.len() - messages.len(),
            },
            messages,
            producer: None,
            tree: (options.picture == Picture::Tree)
                .then(|| Arc::new(TreePicture::of(view, &options.partition, options.cut_since))),
        }
    }

    /// Nothing but the producer; an empty stage before it is given something to send.
    fn of_producer(view: &ClusterView, options: &StageOptions) -> Self {
        Self {
            partition: options.partition.clone(),
            figures: Vec::new(),
            cut_links: Vec::new(),
            offsets: 0..0,
            folded: None,
            promises: Vec::new(),
            isrs: Vec::new(),
            rows: Vec::new(),
            messages: Vec::new(),
            idle: Idle { count: 0 },
            producer: ProducerPicture::of(view).map(Arc::new),
            tree: None,
        }
    }

    /// The same with each row that equals one of `before` taken from there: whoever draws sees by the
    /// pointer that it has not changed.
    pub fn sharing(mut self, before: &Stage) -> Self {
        for row in &mut self.rows {
            if let Some(same) = before.rows.iter().find(|other| *other == row) {
                *row = same.clone();
            }
        }
        self
    }
}

pub(super) fn state(seen: &BrokerView) -> State {
    match (seen.up, seen.paused) {
        (false, _) => State::Crashed,
        (true, true) => State::Paused,
        (true, false) => State::Up,
    }
}

/// The partition's replicas, by broker.
fn actors<'a>(view: &'a ClusterView, partition: &TopicPartition) -> Vec<Actor<'a>> {
    let actor = |(&broker, seen): (&BrokerId, &'a BrokerView)| {
        Some(Actor {
            broker,
            state: state(seen),
            replica: view.last_known(broker, partition)?,
        })
    };
    view.brokers.iter().filter_map(actor).collect()
}

impl Fold<'_> {
    fn leader(&self) -> Option<(BrokerId, &ReplicaView)> {
        let id = self.view.leader(&self.options.partition)?;
        Some((id, self.view.replica(id, &self.options.partition)?))
    }

    fn live(&self) -> impl Iterator<Item = &Actor<'_>> {
        self.actors.iter().filter(|actor| actor.state != State::Crashed)
    }

    fn is_on_a_live_replica(&self, offset: Offset, epoch: LeaderEpoch) -> bool {
        self.live().any(|actor| {
            let replica = actor.replica;
            offset < replica.log_start || replica.holds(offset, epoch)
        })
    }

    fn record(&self, offset: Offset, epoch: LeaderEpoch) -> Option<Record> {
        let number = self.memory?.number(offset, epoch)?;
        Some(Record { number, epoch })
    }

    /// What a producer was told of the record.
    fn promise_of(&self, offset: Offset, epoch: LeaderEpoch) -> Option<&PromiseRun> {
        let promises = self.memory.map(PartitionMemory::promises);
        promises
            .into_iter()
            .flatten()
            .find(|made| made.epoch == epoch && (made.base..=made.last).contains(&offset))
    }

    // ---- columns

    /// Decides which offsets are shown, and says which are folded away.
    fn set_columns(&mut self) -> Option<Folded> {
        let ends = self.actors.iter().map(|actor| actor.replica.log_end);
        let cuts = self.memory.into_iter().flat_map(PartitionMemory::cuts);
        let cuts = cuts.filter(|cut| cut.fact >= self.options.cut_since);
        let cut_ends = cuts.flat_map(|cut| cut.batches.iter().map(|batch| batch.last + 1));
        let promised = self.memory.into_iter().flat_map(PartitionMemory::promises);
        let promised = promised.map(|made| made.last + 1);
        let end = ends.chain(cut_ends).chain(promised).max().unwrap_or(0);
        let end = end + SPARE_COLUMNS;
        let most = Offset::try_from(self.options.most_columns).unwrap_or(Offset::MAX);
        let start = self.actors.iter().map(|actor| actor.replica.log_start).min();
        let start = start.unwrap_or(0);
        let first = (end - most.max(1)).clamp(start, start.max(self.same_until()));
        self.offsets = first..end.max(first + LEAST_COLUMNS.min(most.max(1)));
        (first > start).then_some(Folded {
            from: start,
            to: first,
        })
    }

    /// All below holds the same record on each live replica, and each knows that it is safe.
    fn same_until(&self) -> Offset {
        let known = self.live().map(|actor| actor.replica.high_watermark).min();
        let Some(known) = known else { return 0 };
        let mut all = self.actors.iter().map(|actor| actor.replica);
        let Some(one) = all.next() else { return 0 };
        let others: Vec<&ReplicaView> = all.collect();
        let differs = one.batches.between(one.log_start, known).find_map(|batch| {
            let is_same = |at: &Offset| others.iter().all(|other| other.holds(*at, batch.epoch));
            (batch.base..=batch.last).find(|at| !is_same(at))
        });
        differs.unwrap_or(known).min(one.log_end)
    }

    // ---- rows

    fn row(&self, actor: &Actor) -> Row {
        let Actor {
            broker,
            state,
            replica,
        } = *actor;
        let mut heard = Vec::new();
        let role = match &replica.role {
            RoleView::Untold => Role::Untold,
            RoleView::Follower { .. } => Role::Follower,
            RoleView::Leader { followers, .. } => {
                heard.extend(
                    followers
                        .iter()
                        .map(|(&broker, &log_end)| Heard { broker, log_end }),
                );
                Role::Leader
            }
        };
        // What a dead leader had heard is nobody's knowledge any more.
        if state == State::Crashed {
            heard.clear();
        }
        let in_isr = self.leader().and_then(|(_, led)| match &led.role {
            RoleView::Leader { isr, .. } => Some(isr.contains(&broker)),
            _ => None,
        });
        Row {
            broker,
            name: self.names.of_node(broker as NodeId),
            state,
            role,
            epoch: replica.leader_epoch,
            in_isr,
            log_start: replica.log_start,
            log_end: replica.log_end,
            high_watermark: replica.high_watermark,
            marks: marks(broker, replica, &heard),
            heard,
            cells: self.cells(actor),
        }
    }

    fn cells(&self, actor: &Actor) -> Vec<Cell> {
        let offsets = self.offsets.clone();
        offsets.filter_map(|offset| self.cell(actor, offset)).collect()
    }

    fn cell(&self, actor: &Actor, offset: Offset) -> Option<Cell> {
        let replica = actor.replica;
        let is_within = (replica.log_start..replica.log_end).contains(&offset);
        let batch = replica.batches.at(offset).filter(|_| is_within);
        let record = batch.and_then(|batch| self.record(offset, batch.epoch));
        let cut = self
            .cut_from(actor.broker, offset)
            .filter(|cut| Some(*cut) != record);
        let shown = record.or(cut)?;
        let promise = self.promise_of(offset, shown.epoch);
        let is_gone = promise.is_some() && !self.is_on_a_live_replica(offset, shown.epoch);
        let is_broken = promise.is_some_and(|made| made.broken);
        let segment_before = replica.batches.at(offset - 1).map(|before| before.segment);
        Some(Cell {
            broker: actor.broker,
            offset,
            record,
            cut,
            committed: record.is_some() && offset < replica.high_watermark,
            acknowledged: promise.is_some(),
            in_doubt: is_gone && !is_broken,
            lost: is_gone && is_broken,
            first_of_batch: batch.is_some_and(|batch| batch.base == offset),
            first_of_segment: batch.is_some_and(|batch| {
                batch.base == offset && segment_before.is_some_and(|before| before != batch.segment)
            }),
        })
    }

    /// What the broker cut off at the offset, in this moment.
    fn cut_from(&self, broker: BrokerId, offset: Offset) -> Option<Record> {
        let cuts = self.memory?.cuts();
        let own = cuts.filter(|cut| cut.broker == broker && cut.fact >= self.options.cut_since);
        let batches = own.flat_map(|cut| &cut.batches);
        let there = batches.filter(|batch| (batch.base..=batch.last).contains(&offset));
        there.last().and_then(|batch| self.record(offset, batch.epoch))
    }

    // ---- what was told

    fn promises(&self) -> Vec<Promise> {
        let mut all = Vec::new();
        for made in self.memory.into_iter().flat_map(PartitionMemory::promises) {
            let from = made.base.max(self.offsets.start);
            let to = (made.last + 1).min(self.offsets.end);
            for offset in from..to {
                let Some(record) = self.record(offset, made.epoch) else {
                    continue;
                };
                let state = match made.broken {
                    true => PromiseState::Broken,
                    false if self.is_on_a_live_replica(offset, made.epoch) => PromiseState::Kept,
                    false => PromiseState::InDoubt,
                };
                all.push(Promise {
                    offset,
                    record,
                    acks: made.acks,
                    state,
                });
            }
        }
        all
    }

    fn isrs(&self) -> Vec<IsrLine> {
        let mut lines = Vec::new();
        if let Some((id, led)) = self.leader()
            && let RoleView::Leader { isr, proposed, .. } = &led.role
        {
            lines.push(IsrLine {
                holder: IsrHolder::Leader(id),
                isr: isr.clone(),
            });
            lines.extend(proposed.iter().map(|isr| IsrLine {
                holder: IsrHolder::Proposed(id),
                isr: isr.clone(),
            }));
        }
        let stored = self.view.stored.partitions.get(&self.options.partition);
        lines.extend(stored.map(|stored| IsrLine {
            holder: IsrHolder::Coordination,
            isr: stored.isr.clone(),
        }));
        lines
    }

    // ---- the map

    fn figures(&self) -> Vec<Figure> {
        let mut all = vec![self.coordination()];
        let leaders: OrderedSet<BrokerId> = self.view.leaders(&self.options.partition).collect();
        all.extend(self.view.brokers.iter().map(|(&id, seen)| Figure {
            node: id as NodeId,
            name: self.names.of_node(id as NodeId),
            shape: Shape::Broker,
            state: state(seen),
            leads: leaders.contains(&id).then(|| self.options.partition.clone()),
            controller: seen.controller_epoch.is_some(),
            note: None,
        }));
        for shape in [Shape::Producer, Shape::Consumer] {
            all.extend(self.clients(shape));
        }
        all
    }

    fn coordination(&self) -> Figure {
        let stored = &self.view.stored;
        let mut notes = Vec::new();
        if let Some(partition) = stored.partitions.get(&self.options.partition) {
            notes.push(match partition.leader {
                Some(leader) => format!("leader: broker {leader}"),
                None => "leader: none".to_owned(),
            });
        }
        let brokers: Vec<String> = stored.brokers.iter().map(BrokerId::to_string).collect();
        notes.push(match brokers.is_empty() {
            true => "brokers: none".to_owned(),
            false => format!("brokers: {}", brokers.join(", ")),
        });
        Figure {
            node: COORDINATION,
            name: self.names.of_node(COORDINATION),
            shape: Shape::Coordination,
            state: match self.view.coordination_up {
                true => State::Up,
                false => State::Crashed,
            },
            leads: None,
            controller: false,
            note: Some(notes.join("; ")),
        }
    }

    fn clients(&self, wanted: Shape) -> Vec<Figure> {
        let figure = |(&node, seen): (&NodeId, &ClientView)| {
            let (shape, note) = match seen.kind {
                ClientKind::Producer { acks } => (Shape::Producer, Some(super::promise::acks(acks))),
                ClientKind::Consumer => (Shape::Consumer, reads(seen)),
                ClientKind::Admin => return None,
            };
            (shape == wanted).then(|| Figure {
                node,
                name: self.names.of_node(node),
                shape,
                state: match seen.dead {
                    true => State::Crashed,
                    false => State::Up,
                },
                leads: None,
                controller: false,
                note,
            })
        };
        self.view.clients.iter().filter_map(figure).collect()
    }

    fn cut_links(&self) -> Vec<CutLink> {
        let cut = &self.view.cut;
        let links = cut.iter().filter_map(|&(from, to)| {
            let both_ways = cut.contains(&(to, from));
            // One of the two stands for both.
            (!both_ways || from < to).then(|| CutLink {
                from,
                to,
                from_name: self.names.of_node(from),
                to_name: self.names.of_node(to),
                both_ways,
            })
        });
        links.collect()
    }

    fn messages(&self) -> Vec<Message> {
        let packets = self.view.packets.iter();
        let named = packets.filter_map(|(&packet, sent)| {
            Message::named(self.view, &self.names, &self.options.partition, packet, sent)
        });
        named.collect()
    }
}

/// The partitions that a consumer has.
fn reads(seen: &ClientView) -> Option<String> {
    let names: Vec<String> = seen.assigned.keys().map(TopicPartition::to_string).collect();
    (!names.is_empty()).then(|| format!("reads {}", names.join(", ")))
}

fn marks(broker: BrokerId, replica: &ReplicaView, heard: &[Heard]) -> Vec<Mark> {
    let mark = |kind, offset| Mark { broker, kind, offset };
    let mut marks = vec![
        mark(MarkKind::HighWatermark, replica.high_watermark),
        mark(MarkKind::LogEnd, replica.log_end),
    ];
    let heard = heard.iter();
    marks.extend(heard.filter_map(|heard| Some(mark(MarkKind::Heard(heard.broker), heard.log_end?))));
    marks
}
