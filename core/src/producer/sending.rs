//! From a record to a batch: interceptors, serializers, partitioner, and a place in the accumulator
//! (`KafkaProducer.doSend`).
//!
//! A record that cannot have its place yet is blocked: its topic is not known, or there is no memory for
//! another batch. Blocked records of a topic keep their order, and memory is given to the one that has
//! waited longest; a record that waits for the metadata of one topic holds up no other topic.

use std::sync::Arc;

use super::accumulator::{Accumulator, Appended};
use super::batch::Packed;
use super::ending::Life;
use super::partitioner::built_in::{Near, Switched};
use super::partitioner::{ToPartition, murmur2};
use super::record::{ProducerError, ProducerRecord, RecordId};
use super::{Producer, ProducerConfig, emit};
use crate::client::{ClientCx, Metadata, TopicMetadata};
use crate::error::ErrorCode;
use crate::ordered::OrderedSet;
use crate::trace::ProducerFact;
use crate::types::{Millis, PartitionIndex, TopicPartition};

/// The partition of a record for which none was chosen.
const NO_PARTITION: PartitionIndex = -1;
/// The sticky partition may change between two looks at it; not for ever.
const MOST_SWITCHES: u32 = 4;

/// What a blocked record waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WaitsFor {
    Metadata,
    /// Bytes for a batch.
    Memory(usize),
}

/// A record that is in no batch yet.
#[derive(Clone, Debug)]
pub(super) struct Unsent {
    pub id: RecordId,
    record: ProducerRecord,
    until_ms: Millis,
    /// Its bytes, once its topic is known.
    packed: Option<Packed>,
    /// `None`: not chosen yet, or chosen when it is put into a batch.
    partition: Option<PartitionIndex>,
    pub waits_for: Option<WaitsFor>,
    /// The state of metadata at which more was asked for.
    asked_at: Option<u64>,
}

/// What became of a try.
enum Progress {
    Appended(Appended),
    Waits(WaitsFor),
    Failed(ProducerError),
}

impl Unsent {
    fn place(&self) -> TopicPartition {
        let partition = self.partition.or(self.record.partition);
        TopicPartition::new(self.record.topic.clone(), partition.unwrap_or(NO_PARTITION))
    }
}

impl Producer {
    /// Takes a record. What becomes of it is said by one event with the id.
    pub fn send(&mut self, cx: &mut ClientCx, record: ProducerRecord) -> RecordId {
        let id = self.next_record;
        self.next_record += 1;
        let mut unsent = Unsent {
            id,
            record: self.stages.interceptors.on_send(cx, record),
            until_ms: cx.now.saturating_add(self.config.max_block_ms),
            packed: None,
            partition: None,
            waits_for: None,
            asked_at: None,
        };
        if let Err(error) = self.check(&unsent) {
            self.fail_unsent(cx, &unsent, error);
            return id;
        }
        let before = self.blocked.iter().rev();
        let before = before.filter(|other| {
            other.record.topic == unsent.record.topic || matches!(other.waits_for, Some(WaitsFor::Memory(_)))
        });
        let progress = match before.filter_map(|other| other.waits_for).next() {
            Some(waits_for) => Progress::Waits(waits_for),
            None => self.try_send(cx, &mut unsent, true),
        };
        let is_settled = match progress {
            Progress::Appended(appended) => !appended.is_new && !appended.is_full,
            Progress::Failed(error) => {
                self.fail_unsent(cx, &unsent, error);
                true
            }
            Progress::Waits(waits_for) => {
                self.block(cx, unsent, waits_for);
                false
            }
        };
        if !is_settled {
            self.go_on(cx);
        }
        id
    }

    fn check(&self, unsent: &Unsent) -> Result<(), ProducerError> {
        if self.life != Life::Open {
            return Err(ProducerError::Closed);
        }
        match (unsent.record.partition, unsent.record.timestamp_ms) {
            (Some(partition), _) if partition < 0 => Err(ProducerError::InvalidPartition { partition }),
            (_, Some(timestamp_ms)) if timestamp_ms < 0 => {
                Err(ProducerError::InvalidTimestamp { timestamp_ms })
            }
            _ => Ok(()),
        }
    }

    fn block(&mut self, cx: &mut ClientCx, mut unsent: Unsent, waits_for: WaitsFor) {
        if unsent.waits_for != Some(waits_for) {
            unsent.waits_for = Some(waits_for);
            emit(cx, || ProducerFact::RecordBlocked {
                record: unsent.id,
                until_ms: unsent.until_ms,
                why: match waits_for {
                    WaitsFor::Metadata => format!("{} is not known yet", unsent.record.topic),
                    WaitsFor::Memory(_) => "buffer.memory is used up".to_owned(),
                },
            });
        }
        self.blocked.push_back(unsent);
    }

    /// Tries again what was blocked, and fails what was for too long.
    pub(super) fn unblock(&mut self, cx: &mut ClientCx) {
        let mut stuck: OrderedSet<Arc<str>> = OrderedSet::new();
        let mut is_memory_short = false;
        for mut unsent in std::mem::take(&mut self.blocked) {
            let progress = match unsent.waits_for {
                Some(waits_for) if stuck.contains(&unsent.record.topic) => Progress::Waits(waits_for),
                _ => self.try_send(cx, &mut unsent, !is_memory_short),
            };
            match progress {
                Progress::Appended(_) => self.again = true,
                Progress::Failed(error) => self.fail_unsent(cx, &unsent, error),
                Progress::Waits(waits_for) if unsent.until_ms <= cx.now => {
                    let error = self.waited_in_vain(&unsent, waits_for);
                    self.fail_unsent(cx, &unsent, error);
                }
                Progress::Waits(waits_for) => {
                    stuck.insert(unsent.record.topic.clone());
                    is_memory_short |= matches!(waits_for, WaitsFor::Memory(_));
                    self.wake_at(unsent.until_ms);
                    self.block(cx, unsent, waits_for);
                }
            }
        }
    }

    fn waited_in_vain(&self, unsent: &Unsent, waits_for: WaitsFor) -> ProducerError {
        let (topic, waited_ms) = (unsent.record.topic.clone(), self.config.max_block_ms);
        let known = self.net.metadata.topic(&topic);
        match (waits_for, known, unsent.record.partition) {
            (WaitsFor::Memory(size), ..) => ProducerError::BufferExhausted {
                size,
                waited_ms,
                total: self.config.buffer_memory_bytes,
                available: self.accumulator.memory_available(),
                poolable: self.config.batch_size_bytes,
            },
            (WaitsFor::Metadata, Some(known), Some(partition)) => ProducerError::UnknownPartition {
                topic,
                partition,
                count: known.partition_count(),
                waited_ms,
            },
            (WaitsFor::Metadata, ..) => ProducerError::UnknownTopic {
                because: self.net.metadata.topic_error(&topic),
                topic,
                waited_ms,
            },
        }
    }

    /// The record never came into a batch.
    pub(super) fn fail_unsent(&mut self, cx: &mut ClientCx, unsent: &Unsent, error: ProducerError) {
        emit(cx, || ProducerFact::RecordFailed {
            record: unsent.id,
            why: error.to_string(),
        });
        self.record_failed(cx, unsent.id, unsent.place(), error);
        for flush in &mut self.flushes {
            flush.record_ended(unsent.id);
        }
    }

    // ---- one try

    /// As far as it goes now. `may_take_memory`: nobody else waits for it.
    fn try_send(&mut self, cx: &mut ClientCx, unsent: &mut Unsent, may_take_memory: bool) -> Progress {
        match self.know_topic(cx, unsent) {
            Ok(true) => {}
            Ok(false) => return Progress::Waits(WaitsFor::Metadata),
            Err(error) => return Progress::Failed(error),
        }
        let packed = match unsent.packed.take() {
            Some(packed) => packed,
            None => match self.pack(cx, unsent) {
                Ok(packed) => packed,
                Err(error) => return Progress::Failed(error),
            },
        };
        match self.append(cx, unsent, &packed, may_take_memory) {
            Ok(appended) => Progress::Appended(appended),
            Err(size) => {
                unsent.packed = Some(packed);
                Progress::Waits(WaitsFor::Memory(size))
            }
        }
    }

    /// Whether metadata has the topic, and the partition if one is named; asks for it when not
    /// (`waitOnMetadata`).
    fn know_topic(&mut self, cx: &mut ClientCx, unsent: &mut Unsent) -> Result<bool, ProducerError> {
        let (metadata, topic) = (&mut self.net.metadata, &unsent.record.topic);
        match metadata.topic_error(topic) {
            Some(code @ ErrorCode::InvalidTopicException) => {
                let message = Some(format!("Invalid topics: [{topic}]"));
                return Err(ProducerError::Refused { code, message });
            }
            Some(code @ ErrorCode::TopicAuthorizationFailed) => {
                return Err(ProducerError::not_authorized(code, topic));
            }
            _ => {}
        }
        metadata.want(topic, cx.now + self.config.metadata_max_idle_ms, cx.cause);
        let count = metadata.topic(topic).map(TopicMetadata::partition_count);
        let is_known = |count| count > 0 && unsent.record.partition.is_none_or(|index| index < count);
        if count.is_some_and(is_known) {
            return Ok(true);
        }
        let updates = metadata.updates();
        if unsent.asked_at.replace(updates) != Some(updates) {
            metadata.request_update_for_topic(topic, cx.cause);
        }
        Ok(false)
    }

    /// Makes bytes of the record, and chooses its partition unless that depends on batches.
    fn pack(&mut self, cx: &mut ClientCx, unsent: &mut Unsent) -> Result<Packed, ProducerError> {
        let record = &mut unsent.record;
        let key = self.stages.key_serializer.serialize(&record.topic, &record.key);
        let value = self
            .stages
            .value_serializer
            .serialize(&record.topic, &record.value);
        let packed = Packed {
            timestamp_ms: record.timestamp_ms.unwrap_or(cx.now),
            key: key.map_err(ProducerError::Serialization)?,
            value: value.map_err(ProducerError::Serialization)?,
            headers: std::mem::take(&mut record.headers),
        };
        let bytes = |field: &Option<bytes::Bytes>| field.as_ref().map(|bytes| bytes.len() as u32);
        emit(cx, || ProducerFact::RecordSerialized {
            record: unsent.id,
            key_bytes: bytes(&packed.key),
            value_bytes: bytes(&packed.value),
        });
        self.choose_partition(cx, unsent, &packed)?;
        let (size, limit) = (packed.most_bytes(), self.config.max_request_size_bytes);
        if size > limit {
            return Err(ProducerError::LargerThanRequest { size, limit });
        }
        if size as u64 > self.config.buffer_memory_bytes {
            return Err(ProducerError::LargerThanMemory { size });
        }
        Ok(packed)
    }

    fn choose_partition(
        &mut self,
        cx: &mut ClientCx,
        unsent: &mut Unsent,
        packed: &Packed,
    ) -> Result<(), ProducerError> {
        let record = &unsent.record;
        let Some(topic) = self.net.metadata.topic(&record.topic) else {
            return Ok(());
        };
        let count = topic.partition_count();
        let key = packed.key.as_deref().filter(|_| !self.config.ignore_keys);
        // ANCHOR: choose
        let (partition, why) = if let Some(named) = record.partition {
            (named, "the record names it".to_owned())
        } else if let Some(partitioner) = &mut self.stages.partitioner {
            let partition = partitioner.partition(&mut ToPartition {
                topic: &record.topic,
                key: packed.key.as_deref(),
                value: packed.value.as_deref(),
                partitions: topic,
                rng: cx.rng,
            });
            if !(0..count).contains(&partition) {
                return Err(ProducerError::InvalidChoice { partition, count });
            }
            (partition, partitioner.name().to_owned())
        } else if let Some(key) = key {
            (murmur2::partition_for_key(key, count), "by its key".to_owned())
        } else {
            return Ok(());
        };
        // ANCHOR_END: choose
        unsent.partition = Some(partition);
        emit(cx, || ProducerFact::PartitionChosen {
            record: unsent.id,
            partition: TopicPartition::new(unsent.record.topic.clone(), partition),
            why,
        });
        Ok(())
    }

    /// Finds the record a batch; the error is how much memory it lacks for one.
    fn append(
        &mut self,
        cx: &mut ClientCx,
        unsent: &Unsent,
        packed: &Packed,
        may_take_memory: bool,
    ) -> Result<Appended, usize> {
        let appended = match unsent.partition {
            Some(index) => {
                let partition = TopicPartition::new(unsent.record.topic.clone(), index);
                let accumulator = &mut self.accumulator;
                let begun = (cx.now, cx.cause);
                let appended = accumulator.append(&partition, (unsent.id, packed), begun, may_take_memory)?;
                tell_appended(cx, accumulator, unsent.id, partition, appended);
                appended
            }
            None => self.append_sticky(cx, unsent, packed, may_take_memory)?,
        };
        for flush in &mut self.flushes {
            flush.appended(unsent.id, appended.batch);
        }
        Ok(appended)
    }

    /// To the sticky partition; it changes when enough went there and its last batch is full (KIP-794).
    fn append_sticky(
        &mut self,
        cx: &mut ClientCx,
        unsent: &Unsent,
        packed: &Packed,
        may_take_memory: bool,
    ) -> Result<Appended, usize> {
        let (name, metadata, accumulator) = (&unsent.record.topic, &self.net.metadata, &mut self.accumulator);
        let Some(topic) = metadata.topic(name) else {
            return Err(accumulator.size_of_new(packed));
        };
        let near = near(&self.config, topic, metadata);
        let mut partition = TopicPartition::new(name.clone(), NO_PARTITION);
        for _ in 0..MOST_SWITCHES {
            let (current, switched) = accumulator.built_in(name).current(topic, &near, cx.rng);
            tell_switch(cx, name, switched);
            partition.partition = current;
            if accumulator.make_room(&partition, packed) {
                break;
            }
            // A switch that had to wait for the batch to be full is due now.
            let switched = accumulator.built_in(name).appended(0, true, topic, &near, cx.rng);
            let has_switched = switched.is_some();
            tell_switch(cx, name, switched);
            if !has_switched {
                break;
            }
        }
        let begun = (cx.now, cx.cause);
        let appended = accumulator.append(&partition, (unsent.id, packed), begun, may_take_memory)?;
        emit(cx, || ProducerFact::PartitionChosen {
            record: unsent.id,
            partition: partition.clone(),
            why: "records without a key stick to it for now".to_owned(),
        });
        tell_appended(cx, accumulator, unsent.id, partition, appended);
        let switched =
            accumulator
                .built_in(name)
                .appended(appended.bytes, appended.is_full, topic, &near, cx.rng);
        tell_switch(cx, name, switched);
        Ok(appended)
    }
}

fn near(config: &ProducerConfig, topic: &TopicMetadata, metadata: &Metadata) -> Near {
    if config.rack_aware && !config.client_rack.is_empty() {
        Near::in_rack(&config.client_rack, topic, metadata)
    } else {
        Near::anywhere()
    }
}

fn tell_appended(
    cx: &mut ClientCx,
    accumulator: &Accumulator,
    record: RecordId,
    partition: TopicPartition,
    appended: Appended,
) {
    let batch = accumulator.batches.get(&appended.batch);
    emit(cx, || ProducerFact::RecordAppended {
        record,
        partition,
        batch: appended.batch,
        batch_bytes: batch.map_or(0, |batch| batch.estimated_bytes() as u64),
    });
}

fn tell_switch(cx: &mut ClientCx, topic: &Arc<str>, switched: Option<Switched>) {
    if let Some(switched) = switched {
        emit(cx, || ProducerFact::StickySwitched {
            topic: topic.clone(),
            from: switched.from,
            to: switched.to,
            weights: switched.weights,
        });
    }
}
