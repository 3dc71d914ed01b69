//! Checks that cost what a step touched: one fact at a time.

use super::ghost::{Ghost, Pending, Promise, Written, common};
use super::scan::{self, Mark};
use super::*;
use crate::disk::ReadAt;
use crate::metadata::nodes::partition_of_state;
use crate::ordered::OrderedSet;
use crate::trace::{ClientFact, ControlFact, Event, Fact, GroupFact, WorldFact};
use crate::types::{BrokerId, LeaderEpoch, Offset, TopicPartition};
use crate::view::{ReplicaView, partition_of};

impl Ghost {
    /// Takes a fact in and checks what follows from it.
    pub(super) fn take(&mut self, world: &World, view: &ClusterView, event: &Event) -> Result<(), Broken> {
        let broker = event.id.node as BrokerId;
        match &event.fact {
            Fact::World(fact) => {
                self.members.take_world(fact);
                return self.take_world(world, fact);
            }
            Fact::Consumer(fact) => return self.take_consumer(event.id.node, fact),
            Fact::Group(GroupFact::OffsetsCommitted { group, offsets, .. }) => {
                return self.members.stored(group, offsets);
            }
            Fact::Client(ClientFact::MetadataUpdated { topics, .. }) => {
                self.members.heard(event.id.node, topics);
            }
            Fact::Group(GroupFact::StaticMemberReplaced { former, .. }) => self.members.replaced(former),
            Fact::CoordinationChanged { changes, .. } => return self.tree_changed(world, changes),
            Fact::BatchAppended {
                partition,
                last_offset,
                segment,
                position,
                size_bytes,
                ..
            } => {
                let copy = self.copies.entry((broker, partition.clone())).or_default();
                copy.pending.push(Pending {
                    segment: *segment,
                    position: *position,
                    size: *size_bytes,
                    last: *last_offset,
                });
            }
            Fact::BatchWritten { partition, log_end } => self.written(world, broker, partition, *log_end)?,
            Fact::LogTruncated { partition, to, .. } => {
                let copy = self.copies.entry((broker, partition.clone())).or_default();
                copy.marks.retain(|mark| mark.last < *to);
                copy.pending.retain(|pending| pending.last < *to);
            }
            Fact::LogStartMoved { partition, to } if view_leads(view, broker, partition) => {
                let trimmed = self.trimmed.entry(partition.clone()).or_default();
                *trimmed = *to.max(trimmed);
            }
            Fact::LogStartMoved { .. } => {}
            Fact::Control(ControlFact::Elected {
                partition,
                leader: Some(leader),
                unclean: true,
                ..
            }) => {
                self.unclean.insert(partition.clone(), *leader);
            }
            Fact::ReplicaOpened {
                partition, log_end, ..
            } => {
                self.reread(world, broker, partition);
                // What recovery has cut off is still in the file: the cut is a disk operation to come.
                let copy = self.copies.entry((broker, partition.clone())).or_default();
                copy.marks.retain(|mark| mark.last < *log_end);
            }
            Fact::ReplicaClosed { partition } => {
                // Its files may stay, as those of a directory that failed do, and a loss of power takes of them.
                self.reread(world, broker, partition);
                self.high.remove(&(broker, partition.clone()));
            }
            Fact::LeadershipTaken {
                partition,
                epoch,
                isr,
                replicas,
                ..
            } => {
                self.told.insert((broker, partition.clone()), replicas.clone());
                isr_within(partition, isr, replicas)?;
                self.leads(broker, partition, *epoch)?;
            }
            Fact::LeaderFollowed { partition, .. } => {
                self.high.remove(&(broker, partition.clone()));
            }
            Fact::IsrChanged { partition, isr, .. } | Fact::IsrProposed { partition, isr, .. } => {
                if let Some(replicas) = self.told.get(&(broker, partition.clone())) {
                    isr_within(partition, isr, replicas)?;
                }
            }
            Fact::HighWatermarkMoved {
                partition, from, to, ..
            } => {
                self.high_watermark_moved(broker, partition, *from, *to)?;
            }
            _ => return Ok(()),
        }
        let touched = partition_of(&event.fact).and_then(|partition| view.replica(broker, partition));
        touched.map_or(Ok(()), |replica| in_order(broker, &event.fact, replica))
    }

    /// Batches that are in the file now: read them from there, and compare with what is known.
    fn written(
        &mut self,
        world: &World,
        broker: BrokerId,
        partition: &TopicPartition,
        log_end: Offset,
    ) -> Result<(), Broken> {
        let Some(node) = world.broker(broker) else {
            return Ok(());
        };
        let mut found: Result<(), Broken> = Ok(());
        loop {
            let copy = self.copies.entry((broker, partition.clone())).or_default();
            if copy.pending.first().is_none_or(|pending| pending.last >= log_end) {
                return found;
            }
            let pending = copy.pending.remove(0);
            let path = scan::path(partition, pending.segment, "log");
            let bytes = node
                .disk
                .read_at(scan::DIR, &path, pending.position, pending.size as usize);
            let Some(mark) = bytes.ok().and_then(|bytes| scan::mark(&bytes, pending.position)) else {
                let why = format!(
                    "broker {broker}, {partition}: no batch at {path}:{}",
                    pending.position
                );
                return Err(Broken::new(DISK_AS_WRITTEN, why));
            };
            let outcome = self.one_more(broker, partition, mark);
            found = found.and(outcome);
        }
    }

    fn one_more(&mut self, broker: BrokerId, partition: &TopicPartition, mark: Mark) -> Result<(), Broken> {
        let copy = self.copies.entry((broker, partition.clone())).or_default();
        let before = copy.marks.last().cloned();
        copy.marks.push(mark.clone());
        let whose = format!("broker {broker}, {partition}, offset {}", mark.base);
        if let Some(before) = &before
            && before.epoch > mark.epoch
        {
            let why = format!("{whose}: epoch {} after {}", mark.epoch, before.epoch);
            return Err(Broken::new(EPOCHS_NEVER_FALL, why));
        }
        // What stands before is known by the batch before, which stands for all before it.
        let has_before = before.is_some();
        let chain = before.map_or(0, |before| {
            scan::hash(&[before.base.to_be_bytes(), i64::from(before.epoch).to_be_bytes()].concat())
        });
        let key = (partition.clone(), mark.base, mark.epoch);
        match self.known.get(&key) {
            Some((known, _)) if !known.is_same(&mark) => {
                let why = format!("{whose}, epoch {}: two different batches", mark.epoch);
                Err(Broken::new(ONE_RECORD_FOR_AN_OFFSET, why))
            }
            // A log that begins later shows nothing of what went before.
            Some((_, before)) if *before != chain && (has_before || mark.base == 0) => {
                let why = format!("{whose}, epoch {}: different records before it", mark.epoch);
                Err(Broken::new(ONE_RECORD_FOR_AN_OFFSET, why))
            }
            Some(_) => Ok(()),
            None => {
                self.known.insert(key, (mark, chain));
                Ok(())
            }
        }
    }

    fn leads(
        &mut self,
        broker: BrokerId,
        partition: &TopicPartition,
        epoch: LeaderEpoch,
    ) -> Result<(), Broken> {
        let first = *self.leaders.entry((partition.clone(), epoch)).or_insert(broker);
        if first != broker {
            let why = format!("{partition}, epoch {epoch}: brokers {first} and {broker}");
            return Err(Broken::new(ONE_LEADER_FOR_AN_EPOCH, why));
        }
        self.high.insert((broker, partition.clone()), (epoch, 0));
        let written = self.written.get(partition);
        if written.is_some_and(|written| written.leader_epoch > epoch) {
            // The word came late, and another leads by now.
            return Ok(());
        }
        let lacks = |lacking: &OrderedSet<BrokerId>| lacking.contains(&broker);
        if self.lacking.get(partition).is_some_and(lacks) {
            self.begun_without.insert(partition.clone(), epoch);
        }
        let (whole, end) = self.compare(broker, partition);
        if whole {
            self.excuse.remove(partition);
            let Some(promise) = self.lacks_promised(broker, partition) else {
                return Ok(());
            };
            let why = format!(
                "{partition}: broker {broker} leads in epoch {epoch} without number {} of client {} at offset {}",
                promise.first, promise.client, promise.base
            );
            return Err(Broken::new(PROMISE_KEPT, why));
        }
        let lacks = self
            .lacking
            .get_mut(partition)
            .is_some_and(|lacking| lacking.remove(&broker));
        if self.excuse.remove(partition).is_some() || lacks {
            self.cut_committed(partition, end);
            return Ok(());
        }
        let whole = self.committed_end(partition);
        let why = format!(
            "{partition}: broker {broker} leads in epoch {epoch} with the first {end} of {whole} committed offsets"
        );
        // Told once: later leaders are judged by what is left.
        self.cut_committed(partition, end);
        Err(Broken::new(COMMITTED_STAYS, why))
    }

    fn high_watermark_moved(
        &mut self,
        broker: BrokerId,
        partition: &TopicPartition,
        from: Offset,
        to: Offset,
    ) -> Result<(), Broken> {
        let key = (broker, partition.clone());
        if let Some((epoch, high)) = self.high.get_mut(&key) {
            if to < from || to < *high {
                let why = format!(
                    "{partition}: leader {broker} of epoch {epoch} went from {} to {to}",
                    from.max(*high)
                );
                return Err(Broken::new(HIGH_WATERMARK_NEVER_FALLS, why));
            }
            *high = to;
        }
        let Some(copy) = self.copies.get(&key) else {
            return Ok(());
        };
        let Some(&(epoch, _)) = self.high.get(&key) else {
            // A follower hears of what a leader has committed.
            return Ok(());
        };
        if self
            .begun_without
            .get(partition)
            .is_some_and(|&begun| epoch < begun)
        {
            // It does not know yet that another was elected, who need not have what it commits now.
            let orphans = copy
                .marks
                .iter()
                .filter(|mark| from <= mark.last && mark.last < to);
            let orphans: Vec<Mark> = orphans.cloned().collect();
            self.orphans.entry(partition.clone()).or_default().extend(orphans);
            self.cut_committed(partition, self.committed_end(partition));
            return Ok(());
        }
        let committed = self.committed.entry(partition.clone()).or_default();
        let next = committed.last().map_or(0, |mark| mark.last + 1);
        if to <= next {
            return Ok(());
        }
        // Of a log whose start has moved only the rest can be compared.
        let at = copy.marks.partition_point(|mark| mark.base < next);
        let more = copy.marks.iter().skip(at).take_while(|mark| mark.last < to);
        committed.extend(more.cloned());
        Ok(())
    }

    fn take_world(&mut self, world: &World, fact: &WorldFact) -> Result<(), Broken> {
        match fact {
            WorldFact::BrokerCrashed { broker, power_lost } => {
                self.crashed(world, *broker, *power_lost);
                Ok(())
            }
            WorldFact::RecordsAcknowledged {
                client,
                partition,
                base_offset,
                first,
                count,
                acks: -1,
            } => self.promised(
                partition,
                Promise {
                    client: *client,
                    first: *first,
                    count: *count,
                    base: *base_offset,
                },
            ),
            _ => Ok(()),
        }
    }

    fn promised(&mut self, partition: &TopicPartition, promise: Promise) -> Result<(), Broken> {
        if self.is_explained(partition, promise.base) {
            return Ok(());
        }
        let committed = self.committed.get(partition).map_or(&[][..], Vec::as_slice);
        let kept = promise.is_kept_by(committed);
        // A log that was trimmed holds no proof any more.
        let trimmed = committed.first().is_some_and(|first| promise.base < first.base);
        if !kept && self.is_orphan(partition, &promise) {
            return Ok(());
        }
        if !kept && !trimmed && promise.base >= 0 {
            let at = committed.partition_point(|mark| mark.last < promise.base);
            let found = committed.get(at).and_then(|mark| mark.record_at(promise.base));
            let why = format!(
                "{partition}: client {} was told that {} records from number {} are at offset {}; there is {found:?}",
                promise.client, promise.count, promise.first, promise.base,
            );
            return Err(Broken::new(PROMISE_KEPT, why));
        }
        self.promises.entry(partition.clone()).or_default().push(promise);
        Ok(())
    }

    /// Whether a leader acknowledged it that did not know that another had been elected without its records.
    fn is_orphan(&self, partition: &TopicPartition, promise: &Promise) -> bool {
        let orphans = self.orphans.get(partition).map_or(&[][..], Vec::as_slice);
        let first = Some((promise.client, promise.first));
        orphans.iter().any(|mark| mark.record_at(promise.base) == first)
    }

    fn crashed(&mut self, world: &World, broker: BrokerId, power_lost: bool) {
        let own: Vec<TopicPartition> = self
            .copies
            .keys()
            .filter(|(id, _)| *id == broker)
            .map(|(_, p)| p.clone())
            .collect();
        for partition in own {
            let key = (broker, partition.clone());
            self.high.remove(&key);
            let before = self.copies.remove(&key).unwrap_or_default();
            self.reread(world, broker, &partition);
            let in_sync = self
                .written
                .get(&partition)
                .is_none_or(|written| written.isr.contains(&broker));
            if !power_lost || !in_sync {
                continue;
            }
            // What the leader was told of counts too: it may be committed before anybody hears of the loss.
            let left = self
                .copies
                .get(&key)
                .map_or(&[][..], |copy| copy.marks.as_slice());
            let has_lost = common(&before.marks, left).0 < before.marks.len();
            if has_lost || !self.compare(broker, &partition).0 {
                self.lacking.entry(partition.clone()).or_default().insert(broker);
            }
        }
    }

    /// The controller, or whoever it was, wrote something.
    fn tree_changed(&mut self, world: &World, changes: &[String]) -> Result<(), Broken> {
        let changes = || changes.iter().filter_map(|change| change.split_once(' '));
        // A multi happens at once: what it makes of the assignment holds for its states too.
        for (what, path) in changes() {
            match path.strip_prefix("/brokers/topics/") {
                Some(topic) if topic.contains('/') => {}
                Some(topic) if what == "delete" => self.forget_topic(topic),
                Some(topic) => {
                    let all = world.partitions().into_iter();
                    self.assigned
                        .extend(all.filter(|(partition, _)| *partition.topic == *topic));
                }
                None => {}
            }
        }
        for (_, path) in changes() {
            if let Some(partition) = partition_of_state(path)
                && let Some(written) = read_state(world, path)
            {
                self.state_written(&partition, &written)?;
            }
        }
        Ok(())
    }

    fn state_written(&mut self, partition: &TopicPartition, now: &Written) -> Result<(), Broken> {
        let before = self.written.insert(partition.clone(), now.clone());
        if now.leader >= 0 && !now.isr.contains(&now.leader) {
            let why = format!("{partition}: leader {}, ISR {:?}", now.leader, now.isr);
            return Err(Broken::new(LEADER_IN_ISR, why));
        }
        if let Some(lacking) = self.lacking.get_mut(partition) {
            lacking.retain(|id| now.isr.contains(id));
        }
        if let Some(replicas) = self.assigned.get(partition) {
            isr_within(partition, &now.isr, replicas)?;
        }
        let was_in_sync = before.is_none_or(|before| before.isr.contains(&now.leader));
        let is_told = self.unclean.remove(partition) == Some(now.leader);
        if now.leader >= 0 && !was_in_sync && is_told {
            let why = format!("broker {} was elected from outside the ISR", now.leader);
            self.excuse.insert(partition.clone(), why);
            self.begun_without.insert(partition.clone(), now.leader_epoch);
        }
        Ok(())
    }
}

fn view_leads(view: &ClusterView, broker: BrokerId, partition: &TopicPartition) -> bool {
    view.leader(partition) == Some(broker)
}

fn isr_within(partition: &TopicPartition, isr: &[BrokerId], replicas: &[BrokerId]) -> Result<(), Broken> {
    if isr.iter().all(|id| replicas.contains(id)) {
        return Ok(());
    }
    let why = format!("{partition}: ISR {isr:?}, replicas {replicas:?}");
    Err(Broken::new(ISR_WITHIN_REPLICAS, why))
}

fn in_order(broker: BrokerId, fact: &Fact, replica: &ReplicaView) -> Result<(), Broken> {
    let ReplicaView {
        log_start,
        log_end,
        high_watermark,
        ..
    } = replica;
    if log_start <= high_watermark && high_watermark <= log_end {
        return Ok(());
    }
    let why = format!(
        "broker {broker}: log start {log_start}, high watermark {high_watermark}, log end {log_end} after: {fact}"
    );
    Err(Broken::new(OFFSETS_IN_ORDER, why))
}

fn read_state(world: &World, path: &str) -> Option<Written> {
    let service = world.coordination().service.as_ref()?;
    let node = service.tree().get(path)?;
    let json: serde_json::Value = serde_json::from_slice(&node.data).ok()?;
    let number = |value: &serde_json::Value| value.as_i64().map(|number| number as i32);
    Some(Written {
        leader: number(&json["leader"])?,
        leader_epoch: number(&json["leader_epoch"])?,
        isr: json["isr"].as_array()?.iter().filter_map(number).collect(),
    })
}
