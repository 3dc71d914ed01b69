//! One partition of `__consumer_offsets`: its groups and their offsets, and every request to them.
//!
//! What has to survive is in records. The rest of a group (who waits, who is expected when) lives here
//! alone: after a move of the leadership the new coordinator has the last generation that was stored, and
//! members find their way back from there.

use std::ops::Bound;
use std::sync::Arc;

use super::classic::{ClassicGroup, GroupState};
use super::expiry::Looks;
use super::offset::{OffsetAndMetadata, OffsetKey};
use super::offsets::Offsets;
use super::record::{
    Key, decode_group, decode_offset, group_record, group_tombstone, offset_record, offset_tombstone,
};
use super::request::{Answer, Commit, Deletion, Identity, Join, Joined, Leaving, Sync, Synced};
use super::{GroupSettings, GroupTimer, GroupTurn, Then, join};
use crate::coordinator::{Shard, Token, Turn, answer_for};
use crate::error::{ErrorCode, Malformed};
use crate::ordered::OrderedMap;
use crate::record::Record;
use crate::trace::{Fact, GroupFact, RebalanceReason};
use crate::types::{Millis, Offset, PartitionIndex, ProducerId};

/// The longest name that a record can hold, in bytes.
const LONGEST_NAME_BYTES: usize = i16::MAX as usize;

#[derive(Clone, Debug)]
pub struct GroupShard {
    partition: PartitionIndex,
    pub(super) settings: Arc<GroupSettings>,
    pub(super) groups: OrderedMap<Arc<str>, ClassicGroup>,
    pub(super) offsets: Offsets,
    pub(super) looks: Looks,
    /// The log is read: groups are what happens here, and records of them only follow.
    serves: bool,
    /// The last group whose members are expected, while that is being done.
    ready_upto: Option<Arc<str>>,
}

impl GroupShard {
    /// As it is before the log is read.
    pub fn new(partition: PartitionIndex, settings: Arc<GroupSettings>) -> Self {
        Self {
            partition,
            settings,
            groups: OrderedMap::new(),
            offsets: Offsets::default(),
            looks: Looks::default(),
            serves: false,
            ready_upto: None,
        }
    }

    pub fn offsets(&self) -> &Offsets {
        &self.offsets
    }

    /// JoinGroup; see [`GroupSettings::check_join`] for what is checked before.
    pub fn join(&mut self, turn: &mut GroupTurn, token: Token, join: &Join) {
        let names = [
            &join.group,
            &join.client_id,
            &join.client_host,
            &join.protocol_type,
        ];
        let names = names.into_iter().chain(&join.instance_id);
        let mut names = names.chain(join.protocols.iter().map(|protocol| &protocol.name));
        if names.any(|name| name.len() > LONGEST_NAME_BYTES) {
            return turn.answer(token, Err(ErrorCode::UnknownServerError));
        }
        let is_new = !self.groups.contains_key(&join.group);
        if is_new && !join.member.is_empty() {
            return join::refuse(turn, token, &join.member, ErrorCode::UnknownMemberId);
        }
        let now = turn.now();
        let group = self.groups.entry(join.group.clone());
        let group = group.or_insert_with(|| ClassicGroup::new(join.group.clone(), now));
        let empty = is_new.then(|| group.to_stored(|_| Default::default()));
        group.join(turn, &self.settings, token, join);
        if let Some(empty) = empty
            && !turn.has_writes()
        {
            turn.write_then(
                vec![group_record(&join.group, &empty)],
                Then::Created(join.group.clone()),
            );
        }
    }

    pub fn sync(&mut self, turn: &mut GroupTurn, token: Token, sync: Sync) {
        match self.groups.get_mut(&sync.group) {
            Some(group) => group.sync(turn, token, sync),
            None => {
                let answer = Synced::refused(ErrorCode::UnknownMemberId);
                turn.answer(token, Ok(Answer::Synced(answer)));
            }
        }
    }

    pub fn heartbeat(&mut self, turn: &mut GroupTurn, token: Token, group: &str, who: &Identity) {
        let group = self.groups.get_mut(group).ok_or(ErrorCode::UnknownMemberId);
        match group.and_then(|group| group.heartbeat(turn, who)) {
            Ok(code) => turn.answer_when_committed(token, Answer::Heartbeat(code)),
            Err(code) => turn.answer(token, Err(code)),
        }
    }

    pub fn leave(&mut self, turn: &mut GroupTurn, token: Token, group: &str, leaving: &[Leaving]) {
        let outcomes = match self.groups.get_mut(group) {
            Some(group) => group.leave(turn, &self.settings, leaving),
            None => vec![ErrorCode::UnknownMemberId; leaving.len()],
        };
        turn.answer_when_committed(token, Answer::Left(outcomes));
    }

    /// OffsetCommit.
    pub fn commit(&mut self, turn: &mut GroupTurn, token: Token, commit: &Commit) {
        if let Err(code) = self.check_commit(commit) {
            return turn.answer(token, Err(code));
        }
        if let Some(group) = self.groups.get(&commit.group)
            && matches!(group.state, GroupState::Stable | GroupState::PreparingRebalance)
        {
            group.expect_heartbeat(turn, &commit.who.member);
        }
        let most = self.settings.offset_metadata_max_units;
        let outcome = |offset: &OffsetAndMetadata| match offset.metadata.encode_utf16().count() > most {
            true => ErrorCode::OffsetMetadataTooLarge,
            false => ErrorCode::None,
        };
        let outcomes: Vec<ErrorCode> = commit.offsets.iter().map(|(_, offset)| outcome(offset)).collect();
        let taken = commit.offsets.iter().zip(&outcomes);
        let taken = taken
            .filter(|(_, code)| **code == ErrorCode::None)
            .map(|(pair, _)| pair);
        turn.write(
            taken
                .clone()
                .map(|(key, offset)| offset_record(key, offset))
                .collect(),
        );
        turn.cx.emit(|| {
            Fact::Group(GroupFact::OffsetsCommitted {
                group: commit.group.to_string(),
                member: commit.who.member.to_string(),
                offsets: taken
                    .map(|(key, offset)| (key.topic_partition(), offset.offset))
                    .collect(),
            })
        });
        turn.answer_when_committed(token, Answer::Offsets(outcomes));
    }

    /// `ClassicGroup.validateOffsetCommit`, and what goes before it.
    fn check_commit(&self, commit: &Commit) -> Result<(), ErrorCode> {
        let is_long = |(key, offset): &(OffsetKey, OffsetAndMetadata)| {
            key.group.len() > LONGEST_NAME_BYTES
                || (offset.expire_timestamp_ms.is_some() && offset.metadata.len() > LONGEST_NAME_BYTES)
        };
        if commit.offsets.iter().any(is_long) {
            return Err(ErrorCode::UnknownServerError);
        }
        let who = &commit.who;
        let Some(group) = self.groups.get(&commit.group) else {
            // Offsets alone make a group of nobody.
            return match (who.generation < 0, commit.knows_group_id_not_found) {
                (true, _) => Ok(()),
                (false, true) => Err(ErrorCode::GroupIdNotFound),
                (false, false) => Err(ErrorCode::IllegalGeneration),
            };
        };
        let is_nobody = who.generation < 0;
        if is_nobody && group.is_empty() {
            return Ok(());
        }
        if is_nobody && who.member.is_empty() && who.instance_id.is_none() {
            return Err(ErrorCode::UnknownMemberId);
        }
        group.check_identity(who)?;
        match group.state {
            GroupState::CompletingRebalance => Err(ErrorCode::RebalanceInProgress),
            _ => Ok(()),
        }
    }

    /// OffsetDelete.
    pub fn delete_offsets(&mut self, turn: &mut GroupTurn, token: Token, deletion: &Deletion) {
        let group = self.groups.get(&deletion.group).ok_or(ErrorCode::GroupIdNotFound);
        let group = match group {
            Ok(group) if group.is_empty() || group.uses_consumer_protocol() => group,
            Ok(_) => return turn.answer(token, Err(ErrorCode::NonEmptyGroup)),
            Err(code) => return turn.answer(token, Err(code)),
        };
        let mut records = Vec::new();
        let outcomes = deletion.offsets.iter().map(|key| {
            if group.is_subscribed_to(&key.topic) {
                return ErrorCode::GroupSubscribedToTopic;
            }
            if self.offsets.get(key).is_some() || self.offsets.is_pending(key) {
                records.push(offset_tombstone(key));
            }
            ErrorCode::None
        });
        let outcomes = outcomes.collect();
        turn.write(records);
        turn.answer_when_committed(token, Answer::Offsets(outcomes));
    }

    /// DeleteGroups, those of this partition.
    pub fn delete_groups(&mut self, turn: &mut GroupTurn, token: Token, groups: &[Arc<str>]) {
        let mut records = Vec::new();
        let mut outcomes = Vec::with_capacity(groups.len());
        let mut seen = crate::ordered::OrderedSet::new();
        for id in groups {
            let code = match self.groups.get(id) {
                None => ErrorCode::GroupIdNotFound,
                Some(group) if !group.is_empty() => ErrorCode::NonEmptyGroup,
                Some(_) => ErrorCode::None,
            };
            outcomes.push(code);
            if code == ErrorCode::None && seen.insert(id.clone()) {
                records.extend(self.offsets.of_group(id).map(|(key, _)| offset_tombstone(key)));
                records.push(group_tombstone(id));
                turn.cx.emit(|| {
                    Fact::Group(GroupFact::GroupDeleted {
                        group: id.to_string(),
                    })
                });
            }
        }
        turn.write_in_pieces(records);
        turn.answer_when_committed(token, Answer::Deleted(outcomes));
    }

    fn replay_value(
        &mut self,
        now: Millis,
        record: &Record,
        producer: Option<ProducerId>,
    ) -> Result<(), Malformed> {
        let Some(key) = &record.key else {
            return Ok(());
        };
        match Key::decode(key)? {
            Key::Offset(key) => {
                let offset = record.value.as_ref().map(decode_offset).transpose()?;
                if offset.is_some() {
                    let group = self.groups.entry(key.group.clone());
                    group.or_insert_with(|| ClassicGroup::new(key.group.clone(), now));
                }
                self.offsets.replay(record.offset, key, offset, producer);
            }
            Key::Group(id) => match &record.value {
                None => drop(self.groups.remove(&id)),
                Some(_) if self.serves => {}
                Some(value) => {
                    let group = ClassicGroup::from_stored(id.clone(), decode_group(value)?, now);
                    self.groups.insert(id, group);
                }
            },
            Key::Other(_) => {}
        }
        Ok(())
    }

    /// A group whose first record could not be written never was.
    fn uncreate(&mut self, turn: &mut GroupTurn, id: &Arc<str>, code: ErrorCode) {
        let Some(mut group) = self.groups.remove(id) else {
            return;
        };
        let members: Vec<Arc<str>> = group.members.keys().chain(&group.pending_join).cloned().collect();
        for member in &members {
            group.answer_join(turn, member, Joined::refused(member, answer_for(code)));
            group.expect_no_more(turn, member);
        }
        turn.timers.cancel(&GroupTimer::Join(id.clone()));
    }
}

impl Shard for GroupShard {
    type Answer = Answer;
    type Then = Then;
    type Timer = GroupTimer;

    fn replay(&mut self, now: Millis, record: &Record, producer: Option<ProducerId>) {
        // A record that cannot be read is of no use to anybody; Kafka passes it over too.
        let _ = self.replay_value(now, record, producer);
    }

    fn end_transaction(&mut self, producer: ProducerId, committed: bool) {
        self.offsets.end_transaction(producer, committed);
    }

    fn committed(&mut self, below: Offset) {
        self.offsets.committed(below);
    }

    fn loaded(&mut self, turn: &mut Turn<Self>, at_once: usize) -> bool {
        self.serves = true;
        let settings = self.settings.clone();
        let after = self.ready_upto.take().map_or(Bound::Unbounded, Bound::Excluded);
        let rest = self.groups.range_mut((after, Bound::Unbounded));
        let mut last = None;
        for (id, group) in rest.take(at_once) {
            let members: Vec<Arc<str>> = group.members.keys().cloned().collect();
            for member in &members {
                group.expect_heartbeat(turn, member);
            }
            if members.len() > settings.max_size {
                group.prepare_rebalance(turn, &settings, RebalanceReason::TooManyMembers);
            }
            last = Some(id.clone());
        }
        let left = last.as_ref().and_then(|last| {
            let rest = (Bound::Excluded(last.clone()), Bound::Unbounded);
            self.groups.range(rest).next()
        });
        if left.is_some() {
            self.ready_upto = last;
            return false;
        }
        turn.cx.emit(|| {
            Fact::Group(GroupFact::CoordinatorLoaded {
                partition: self.partition,
                groups: self.groups.len() as u64,
                offsets: self.offsets.len() as u64,
            })
        });
        self.look_for_expired_later(turn);
        true
    }

    fn unloaded(&mut self, turn: &mut Turn<Self>) {
        let code = ErrorCode::NotCoordinator;
        for group in self.groups.values_mut() {
            let members: Vec<Arc<str>> = group.members.keys().cloned().collect();
            for member in &members {
                group.answer_join(turn, member, Joined::refused(member, code));
                group.answer_sync(turn, member, Synced::refused(code));
            }
        }
        turn.cx.emit(|| {
            Fact::Group(GroupFact::CoordinatorUnloaded {
                partition: self.partition,
            })
        });
    }

    fn settled(&mut self, turn: &mut Turn<Self>, then: Then, outcome: Result<(), ErrorCode>) {
        match (then, outcome) {
            // Late, or left to another coordinator, but appended: any reader of the log will see the group.
            (Then::Created(_), Ok(()) | Err(ErrorCode::RequestTimedOut | ErrorCode::NotCoordinator)) => {}
            (Then::Created(id), Err(code)) => self.uncreate(turn, &id, code),
            (Then::Assigned(stored), outcome) => {
                if let Some(group) = self.groups.get_mut(&stored.group) {
                    group.assignment_stored(turn, &self.settings, &stored, outcome);
                }
            }
            (Then::Replaced(replacement), outcome) => {
                if let Some(group) = self.groups.get_mut(&replacement.group) {
                    group.replaced(turn, &replacement, outcome.map_err(answer_for));
                }
            }
        }
    }

    fn expired(&mut self, turn: &mut Turn<Self>, timer: GroupTimer) {
        let settings = self.settings.clone();
        match timer {
            GroupTimer::Heartbeat(group, member) => {
                if let Some(group) = self.groups.get_mut(&group) {
                    group.session_over(turn, &settings, &member);
                }
            }
            GroupTimer::Join(group) => {
                if let Some(group) = self.groups.get_mut(&group) {
                    group.gathering_over(turn, &settings);
                }
            }
            GroupTimer::Sync(group) => {
                if let Some(group) = self.groups.get_mut(&group) {
                    group.sync_overdue(turn, &settings);
                }
            }
            GroupTimer::Expiry => self.look_for_expired(turn),
            GroupTimer::DeletedTopics => self.look_for_deleted(turn),
        }
    }
}
