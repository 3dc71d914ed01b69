//! Consumer groups in this broker: requests to the coordinator, and the partitions that it lives in.
//!
//! [`finding`] tells clients which broker coordinates their group, and has `__consumer_offsets` made.
//! [`leading`] follows the leadership of its partitions: loads a shard when this broker comes to lead one,
//! drops it when it does not any more. The requests themselves are translated in [`members`],
//! [`commits`], [`offset_fetch`] and [`operators`], those of a protocol that is off in [`consumer_protocol`]; what cannot be answered yet is parked in [`waiting`].
//!
//! Invariant: the coordinator decides ([`group`](crate::group)); here is only what needs the broker: the
//! wire, the topics that exist, the partition, the parked request.

mod commits;
mod consumer_protocol;
mod finding;
mod leading;
mod log;
mod members;
mod offset_fetch;
mod operators;
mod waiting;

use std::sync::Arc;

use super::State;
use crate::coordinator::{AppendAndWatch, Token, Turn, WriteSettings};
use crate::cx::Cx;
use crate::error::ErrorCode;
use crate::full::FULL;
use crate::group::{GroupSettings, GroupShard, Groups, OFFSETS_TOPIC, partition_of};
use crate::log::ReadCursor;
use crate::ordered::OrderedMap;
use crate::protocol::StrBytes;
use crate::record::compression::Codec;
use crate::replica::partition::PartitionId;
use crate::types::{Millis, PartitionIndex};

pub(super) use leading::GettingReady;
use log::InternalPartition;
pub(super) use operators::Listing;
pub(super) use waiting::GroupWait;

/// What is due in one call at most; the rest is due still.
const MOST_AT_ONCE: usize = 256;

/// Who asks, for the group's members list.
#[derive(Clone, Debug)]
pub(super) struct Client {
    id: Arc<str>,
    host: Arc<str>,
}

impl Client {
    pub fn new(id: Option<&StrBytes>, host: Option<&Arc<str>>) -> Self {
        Self {
            id: id.map_or("", |id| id).into(),
            host: host.cloned().unwrap_or_else(|| "".into()),
        }
    }
}

/// The coordinator and where it lives.
#[derive(Clone, Debug)]
pub(super) struct GroupsHere {
    coordinators: Groups,
    settings: Arc<GroupSettings>,
    /// The partitions of `__consumer_offsets` that are led here.
    led: OrderedMap<PartitionIndex, PartitionId>,
    /// Those that are being read, and how far; `None` while a job reads.
    loading: OrderedMap<PartitionIndex, Option<ReadCursor>>,
    /// When the controller was last asked to make the topic.
    asked_for_topic_at: Option<Millis>,
    /// When the coordinator has something to do. Kept, since every request of any kind asks for it.
    next: Option<Millis>,
}

impl GroupsHere {
    pub fn new(config: &crate::config::BrokerConfig) -> Self {
        let mut coordinators = Groups::default();
        let codec = u8::try_from(config.offsets_topic_compression_codec).ok();
        let codec = codec.and_then(Codec::from_id).unwrap_or(Codec::None);
        coordinators.configure(WriteSettings {
            compression: codec.into(),
            commit_timeout_ms: config.offsets_commit_timeout_ms,
        });
        Self {
            coordinators,
            settings: Arc::new(GroupSettings::of(config)),
            led: OrderedMap::new(),
            loading: OrderedMap::new(),
            asked_for_topic_at: None,
            next: None,
        }
    }

    pub fn next(&self) -> Option<Millis> {
        self.next
    }
}

impl State {
    /// The partition of `__consumer_offsets` that a group lives in.
    fn group_partition(&self, group: &str) -> PartitionIndex {
        let topic = self.image.topic(OFFSETS_TOPIC);
        let count = topic.map_or(self.config.offsets_topic_num_partitions, |topic| {
            topic.partitions.len() as i32
        });
        partition_of(group, count)
    }

    /// Hands the coordinator and a partition of it to `act`, then gives the answers that are due.
    /// `None` in a build without groups.
    fn with_groups<T>(
        &mut self,
        cx: &mut Cx,
        partition: PartitionIndex,
        act: impl FnOnce(&mut Groups, &mut Cx, &mut dyn AppendAndWatch) -> T,
    ) -> Option<T> {
        if !FULL {
            return None;
        }
        let id = self.groups.led.get(&partition).copied();
        let mut coordinators = std::mem::take(&mut self.groups.coordinators);
        let mut log = InternalPartition { state: self, id };
        let result = act(&mut coordinators, cx, &mut log);
        let answers: Vec<_> = std::iter::from_fn(|| coordinators.poll_answer()).collect();
        self.groups.next = coordinators.next();
        self.groups.coordinators = coordinators;
        for (token, answer) in answers {
            self.group_answered(token, answer);
        }
        Some(result)
    }

    /// Lets the group's shard decide; `token` is answered now or later.
    fn ask_group(
        &mut self,
        cx: &mut Cx,
        group: &str,
        token: Token,
        decide: impl FnOnce(&mut GroupShard, &mut Turn<GroupShard>),
    ) {
        self.ask_groups_of(cx, self.group_partition(group), token, decide);
    }

    fn ask_groups_of(
        &mut self,
        cx: &mut Cx,
        partition: PartitionIndex,
        token: Token,
        decide: impl FnOnce(&mut GroupShard, &mut Turn<GroupShard>),
    ) {
        self.with_groups(cx, partition, |groups, cx, log| {
            groups.decide(cx, partition, log, token, decide);
        });
    }

    /// The group's shard, to read what is committed.
    fn read_group(&self, group: &str) -> Result<&GroupShard, ErrorCode> {
        self.groups.coordinators.read(self.group_partition(group))
    }

    /// Sessions that are over, waits that have lasted too long, and whatever else is due.
    pub(super) fn groups_tick(&mut self, cx: &mut Cx) {
        for _ in 0..MOST_AT_ONCE {
            let Some(partition) = self.groups.coordinators.due(cx.now) else {
                return;
            };
            self.with_groups(cx, partition, |groups, cx, log| groups.tick(cx, partition, log));
        }
    }
}
