//! The end of offsets: when nobody needs them any more (KIP-211), and when their topic is deleted.
//!
//! Offsets of a topic that members read never expire. Of a group without members they do
//! `offsets.retention.minutes` after the last member has left; of members that no longer read the topic,
//! and of clients that only store offsets, so long after the last commit. A group of nobody that has no
//! offsets left goes too.
//!
//! Both looks go over everything, so they come in slices, a few groups or offsets at a time.

use std::collections::VecDeque;
use std::sync::Arc;

use super::classic::{ClassicGroup, GroupState};
use super::offset::{OffsetAndMetadata, OffsetKey};
use super::record::{group_tombstone, offset_tombstone};
use super::shard::GroupShard;
use super::{GroupTimer, GroupTurn};
use crate::trace::{Fact, GroupFact};
use crate::types::{Millis, Uuid};

/// Groups that one slice looks at, and offsets.
const GROUPS_AT_ONCE: usize = 64;
const OFFSETS_AT_ONCE: usize = 1_000;
/// Between two slices, so that others get their turn.
const SLICE_PAUSE_MS: Millis = 1;

/// How far the looks have come.
#[derive(Clone, Debug, Default)]
pub(super) struct Looks {
    /// The last group that the present look for expired offsets has seen.
    expiry_after: Option<Arc<str>>,
    /// Topics whose offsets are to go, the first one's being looked for.
    deleted: VecDeque<(Arc<str>, Uuid)>,
    deleted_after: Option<OffsetKey>,
}

/// From when on an offset's retention counts; `None`: it does not expire.
fn retention_counts_from(group: &ClassicGroup, offset: &OffsetAndMetadata) -> Option<Millis> {
    let committed_at = offset.commit_timestamp_ms;
    match (group.protocol_type(), group.state) {
        (None, _) => Some(committed_at),
        (Some(_), GroupState::Empty) => Some(group.state_since_ms.unwrap_or(committed_at)),
        (Some(_), GroupState::Stable) if group.uses_consumer_protocol() && group.subscribed.is_some() => {
            Some(committed_at)
        }
        _ => None,
    }
}

impl GroupShard {
    pub(super) fn look_for_expired_later(&self, turn: &mut GroupTurn) {
        let at = turn.now() + self.settings.offsets_retention_check_interval_ms;
        turn.timers.set(GroupTimer::Expiry, at, turn.cx.cause);
    }

    /// Looks at the next few groups.
    pub(super) fn look_for_expired(&mut self, turn: &mut GroupTurn) {
        let after = match self.looks.expiry_after.take() {
            Some(group) => std::ops::Bound::Excluded(group),
            None => std::ops::Bound::Unbounded,
        };
        let rest = self.groups.range((after, std::ops::Bound::Unbounded));
        let groups: Vec<Arc<str>> = rest.take(GROUPS_AT_ONCE).map(|(id, _)| id.clone()).collect();
        for group in &groups {
            self.expire_group(turn, group);
        }
        match groups.into_iter().nth(GROUPS_AT_ONCE - 1) {
            None => self.look_for_expired_later(turn),
            last => {
                self.looks.expiry_after = last;
                let at = turn.cx.now + SLICE_PAUSE_MS;
                turn.timers.set(GroupTimer::Expiry, at, turn.cx.cause);
            }
        }
    }

    fn expire_group(&mut self, turn: &mut GroupTurn, id: &Arc<str>) {
        let Some(group) = self.groups.get(id) else {
            return;
        };
        let now = turn.now();
        let is_over = |key: &OffsetKey, offset: &OffsetAndMetadata| {
            if group.is_subscribed_to(&key.topic) || self.offsets.is_pending(key) {
                return false;
            }
            let counts_from = retention_counts_from(group, offset);
            match (counts_from, offset.expire_timestamp_ms) {
                (None, _) => false,
                (Some(_), Some(at)) => now >= at,
                (Some(from), None) => now - from >= self.settings.offsets_retention_ms,
            }
        };
        let all = self.offsets.of_group(id).count();
        let over = self
            .offsets
            .of_group(id)
            .filter(|(key, offset)| is_over(key, offset));
        let over: Vec<OffsetKey> = over.map(|(key, _)| key.clone()).collect();
        let mut records: Vec<_> = over.iter().map(offset_tombstone).collect();
        if over.len() == all && group.is_empty() && !self.offsets.has_pending_of(id) {
            records.push(group_tombstone(id));
            turn.cx.emit(|| {
                Fact::Group(GroupFact::GroupDeleted {
                    group: id.to_string(),
                })
            });
        }
        if !over.is_empty() {
            turn.cx.emit(|| {
                Fact::Group(GroupFact::OffsetsExpired {
                    group: id.to_string(),
                    partitions: over.iter().map(OffsetKey::topic_partition).collect(),
                })
            });
        }
        turn.write_in_pieces(records);
    }

    /// The topic is deleted: so are all offsets of it.
    pub fn topic_deleted(&mut self, turn: &mut GroupTurn, topic: Arc<str>, id: Uuid) {
        self.looks.deleted.push_back((topic, id));
        turn.timers
            .set(GroupTimer::DeletedTopics, turn.cx.now, turn.cx.cause);
    }

    /// Looks at the next few offsets.
    pub(super) fn look_for_deleted(&mut self, turn: &mut GroupTurn) {
        let Some((topic, id)) = self.looks.deleted.front().cloned() else {
            return;
        };
        let after = self.looks.deleted_after.take();
        let mut records = Vec::new();
        let mut seen = 0;
        for (key, offset) in self.offsets.after(after.as_ref()).take(OFFSETS_AT_ONCE) {
            seen += 1;
            // A namesake may have been made, and read, meanwhile.
            let is_of_it = offset.topic_id.is_zero() || id.is_zero() || offset.topic_id == id;
            if key.topic == topic && is_of_it {
                records.push(offset_tombstone(key));
            }
            if seen == OFFSETS_AT_ONCE {
                self.looks.deleted_after = Some(key.clone());
            }
        }
        turn.write_in_pieces(records);
        if self.looks.deleted_after.is_none() {
            self.looks.deleted.pop_front();
        }
        if !self.looks.deleted.is_empty() {
            let at = turn.cx.now + SLICE_PAUSE_MS;
            turn.timers.set(GroupTimer::DeletedTopics, at, turn.cx.cause);
        }
    }
}
