//! How far a consumer is in one partition, and whether it may read on (Kafka's `FetchState` and
//! `FetchPosition`, KIP-320).
//!
//! ```text
//!                  ┌────────────── a seek, or a reset that is done ─────────────┐
//!                  │                                                            ▼
//! Initializing ────┴──► AwaitReset ───────────────────────────────────────► Fetching
//!      │                    ▲  ▲                                              │  ▲
//!      │  out of range,     │  └───────── out of range, truncated ────────────┘  │
//!      │  a seek to an end ─┘                    another leader, or epoch ──┐    │ the log is
//!      └──────────────────────────────────────────────────────► AwaitValidation ─┘ still the same
//! ```
//!
//! A position carries the epoch of the last record read. After a change of leaders the new one is asked
//! where that epoch ends in its log; if that is before the position, the log was cut since, and what was
//! read is not what is there now.
//!
//! Invariant: only a partition that is `Fetching` is fetched from.

use crate::types::{BrokerId, LeaderEpoch, Millis, Offset};

use super::config::IsolationLevel;
use super::reset_strategy::ResetStrategy;

/// Who leads, as far as it is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeaderAndEpoch {
    pub leader: Option<BrokerId>,
    pub epoch: Option<LeaderEpoch>,
}

/// Next to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FetchPosition {
    pub offset: Offset,
    /// Of the last record before it, if that is known.
    pub offset_epoch: Option<LeaderEpoch>,
    /// Whom it was last checked with.
    pub current_leader: LeaderAndEpoch,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FetchState {
    /// Nobody has said yet where to begin.
    Initializing,
    AwaitReset(ResetStrategy),
    AwaitValidation(FetchPosition),
    Fetching(FetchPosition),
}

/// One assigned partition.
#[derive(Clone, Debug)]
pub(super) struct PartitionState {
    pub fetch: FetchState,
    pub paused: bool,
    /// Its offset is being committed before it is given up: nothing more of it is returned.
    pub pending_revocation: bool,
    /// The application does not know of it yet.
    pub pending_assigned: bool,
    /// The application was told what is wrong here, and has not polled since.
    pub awaits_poll: bool,
    /// The coordinator knows no committed offset.
    pub without_commit: bool,
    /// A look-up or a fetch failed: none sooner.
    pub not_before: Millis,
    /// A look-up is under way: none other.
    pub looking_up: bool,
    pub high_watermark: Option<Offset>,
    pub last_stable_offset: Option<Offset>,
    pub log_start_offset: Option<Offset>,
    /// A nearer replica, and until when it counts (KIP-392).
    preferred_replica: Option<(BrokerId, Millis)>,
}

impl PartitionState {
    pub fn new() -> Self {
        Self {
            fetch: FetchState::Initializing,
            paused: false,
            pending_revocation: false,
            pending_assigned: false,
            awaits_poll: false,
            without_commit: false,
            not_before: 0,
            looking_up: false,
            high_watermark: None,
            last_stable_offset: None,
            log_start_offset: None,
            preferred_replica: None,
        }
    }

    /// Where what may be read ends, as far as the last fetch told.
    pub fn end(&self, isolation: IsolationLevel) -> Option<Offset> {
        match isolation {
            IsolationLevel::ReadUncommitted => self.high_watermark,
            IsolationLevel::ReadCommitted => self.last_stable_offset,
        }
    }

    /// The position, sound or still to be checked.
    pub fn position(&self) -> Option<FetchPosition> {
        match self.fetch {
            FetchState::Fetching(position) | FetchState::AwaitValidation(position) => Some(position),
            FetchState::Initializing | FetchState::AwaitReset(_) => None,
        }
    }

    /// The position, if it may be read from.
    pub fn valid_position(&self) -> Option<FetchPosition> {
        match self.fetch {
            FetchState::Fetching(position) => Some(position),
            _ => None,
        }
    }

    pub fn is_fetchable(&self) -> bool {
        let held = self.paused || self.pending_revocation || self.pending_assigned || self.awaits_poll;
        !held && self.valid_position().is_some()
    }

    pub fn reset_strategy(&self) -> Option<ResetStrategy> {
        match self.fetch {
            FetchState::AwaitReset(strategy) => Some(strategy),
            _ => None,
        }
    }

    /// Whether a look-up may be sent.
    pub fn may_look_up(&self, now: Millis) -> bool {
        !self.looking_up && self.not_before <= now
    }

    pub fn reset(&mut self, strategy: ResetStrategy) {
        self.enter(FetchState::AwaitReset(strategy));
    }

    /// Goes on from there without a question.
    pub fn seek_validated(&mut self, position: FetchPosition) {
        self.enter(FetchState::Fetching(position));
    }

    /// Goes on from there; asked about first, if both epochs are known.
    pub fn seek_unvalidated(&mut self, position: FetchPosition) {
        let can_be_checked = position.offset_epoch.is_some() && position.current_leader.epoch.is_some();
        self.enter(match can_be_checked {
            true => FetchState::AwaitValidation(position),
            false => FetchState::Fetching(position),
        });
    }

    /// The position goes on with what was returned.
    pub fn advance(&mut self, offset: Offset, offset_epoch: Option<LeaderEpoch>) {
        if let FetchState::Fetching(position) = &mut self.fetch {
            position.offset = offset;
            position.offset_epoch = offset_epoch;
        }
    }

    /// There may be another leader, or it may lead in another epoch: then the position is to be checked.
    pub fn see_leader(&mut self, leader: LeaderAndEpoch) {
        if leader.leader.is_none() {
            return;
        }
        let Some(position) = self.position() else { return };
        if position.current_leader != leader {
            self.preferred_replica = None;
            self.seek_unvalidated(FetchPosition {
                current_leader: leader,
                ..position
            });
        }
    }

    pub fn complete_validation(&mut self) {
        if let FetchState::AwaitValidation(position) = self.fetch {
            self.enter(FetchState::Fetching(position));
        }
    }

    /// The nearer replica, while it counts.
    pub fn preferred_replica(&mut self, now: Millis) -> Option<BrokerId> {
        self.preferred_replica = self.preferred_replica.filter(|(_, until_ms)| now <= *until_ms);
        self.preferred_replica.map(|(replica, _)| replica)
    }

    pub fn prefer(&mut self, replica: BrokerId, until_ms: Millis) {
        if self.preferred_replica.is_none_or(|(known, _)| known != replica) {
            self.preferred_replica = Some((replica, until_ms));
        }
    }

    /// Whether there was one.
    pub fn prefer_the_leader(&mut self) -> bool {
        self.preferred_replica.take().is_some()
    }

    fn enter(&mut self, next: FetchState) {
        self.fetch = next;
        self.not_before = 0;
        // What is under way is about what was.
        self.looking_up = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn led(leader: BrokerId, epoch: LeaderEpoch) -> LeaderAndEpoch {
        LeaderAndEpoch {
            leader: Some(leader),
            epoch: Some(epoch),
        }
    }

    fn at(
        offset: Offset,
        offset_epoch: Option<LeaderEpoch>,
        current_leader: LeaderAndEpoch,
    ) -> FetchPosition {
        FetchPosition {
            offset,
            offset_epoch,
            current_leader,
        }
    }

    #[test]
    fn a_position_is_checked_when_the_leader_changes_and_its_epoch_is_known() {
        let mut state = PartitionState::new();
        state.seek_validated(at(5, Some(0), led(1, 0)));
        state.see_leader(led(1, 0));
        assert!(state.is_fetchable(), "the same leader in the same epoch");
        state.see_leader(led(2, 1));
        assert_eq!(
            state.fetch,
            FetchState::AwaitValidation(at(5, Some(0), led(2, 1)))
        );
        assert!(!state.is_fetchable());
        state.complete_validation();
        assert_eq!(state.valid_position(), Some(at(5, Some(0), led(2, 1))));
    }

    #[test]
    fn without_an_epoch_there_is_nothing_to_ask() {
        let mut state = PartitionState::new();
        state.seek_unvalidated(at(5, None, led(1, 0)));
        state.see_leader(led(2, 1));
        assert_eq!(state.valid_position(), Some(at(5, None, led(2, 1))));
    }

    #[test]
    fn no_leader_is_no_news_and_a_reset_is_not_disturbed() {
        let mut state = PartitionState::new();
        state.seek_validated(at(5, Some(0), led(1, 0)));
        state.see_leader(LeaderAndEpoch::default());
        assert!(state.is_fetchable());
        state.reset(ResetStrategy::Latest);
        state.see_leader(led(2, 1));
        assert_eq!(state.reset_strategy(), Some(ResetStrategy::Latest));
    }

    #[test]
    fn a_nearer_replica_counts_until_its_time_is_over() {
        let mut state = PartitionState::new();
        state.prefer(3, 100);
        state.prefer(3, 500);
        assert_eq!(state.preferred_replica(100), Some(3));
        assert_eq!(
            state.preferred_replica(101),
            None,
            "the same again is no new lease"
        );
        state.prefer(3, 500);
        assert!(state.prefer_the_leader() && !state.prefer_the_leader());
    }

    #[test]
    fn what_is_held_back_is_not_fetched() {
        let mut state = PartitionState::new();
        state.seek_validated(at(5, None, led(1, 0)));
        for hold in [
            |state: &mut PartitionState, on| state.paused = on,
            |state: &mut PartitionState, on| state.pending_revocation = on,
            |state: &mut PartitionState, on| state.pending_assigned = on,
            |state: &mut PartitionState, on| state.awaits_poll = on,
        ] {
            hold(&mut state, true);
            assert!(!state.is_fetchable());
            hold(&mut state, false);
            assert!(state.is_fetchable());
        }
    }
}
