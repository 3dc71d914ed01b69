//! What a leader knows of one follower (Kafka's `Replica` and `ReplicaState`).
//!
//! All of it comes from the follower's own fetches: the offset that it asks for is the end of its log.
//! It is *caught up* when that is the leader's end, or was so at a fetch not long ago.
//!
//! Invariant: `last_caught_up_ms` is a time at which the follower's last fetch offset was the leader's
//! log end, and the latest such time that is known.

use crate::types::{BrokerEpoch, BrokerId, Millis, Offset};

/// "Not heard yet".
const UNKNOWN: Offset = -1;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FollowerState {
    pub broker: BrokerId,
    /// End of its log, -1 before its first fetch.
    pub log_end: Offset,
    /// Start of its log, -1 before its first fetch.
    pub log_start: Offset,
    /// The life of the broker that fetched last.
    pub broker_epoch: Option<BrokerEpoch>,
    /// 0 when it was not in sync when the leader's epoch began.
    pub last_caught_up_ms: Millis,
    /// 0 likewise, until it fetches in the epoch.
    last_fetch_ms: Millis,
    /// The leader's log end at the last fetch.
    leader_end_then: Offset,
}

impl FollowerState {
    /// A replica that has just been assigned.
    pub fn new(broker: BrokerId) -> Self {
        Self {
            broker,
            log_end: UNKNOWN,
            log_start: UNKNOWN,
            broker_epoch: None,
            last_caught_up_ms: 0,
            last_fetch_ms: 0,
            leader_end_then: 0,
        }
    }

    /// A leader epoch begins at `epoch_start`. What is known is forgotten if another led before; a
    /// member of the ISR is given the time that any may take
    /// (`Replica.resetReplicaState`).
    pub fn reset(&mut self, now: Millis, epoch_start: Offset, is_new_leader: bool, in_sync: bool) {
        if is_new_leader {
            *self = Self::new(self.broker);
            self.leader_end_then = UNKNOWN;
        } else {
            self.leader_end_then = epoch_start;
            self.last_fetch_ms = if in_sync { now } else { 0 };
        }
        self.last_caught_up_ms = if in_sync { now } else { 0 };
    }

    // ANCHOR: fetched
    /// The follower has fetched from `offset`, when the leader's log ended at `leader_end`
    /// (`Replica.updateFetchStateOrThrow`). One that is always a little behind, because the log grows
    /// all the time, was caught up at its fetch before if it now asks for what was the end then.
    pub fn fetched(
        &mut self,
        now: Millis,
        offset: Offset,
        log_start: Offset,
        leader_end: Offset,
        epoch: BrokerEpoch,
    ) {
        if offset >= leader_end {
            self.last_caught_up_ms = self.last_caught_up_ms.max(now);
        } else if offset >= self.leader_end_then {
            self.last_caught_up_ms = self.last_caught_up_ms.max(self.last_fetch_ms);
        }
        self.log_end = offset;
        self.log_start = log_start;
        self.leader_end_then = self.leader_end_then.max(leader_end);
        self.last_fetch_ms = now;
        self.broker_epoch = Some(epoch);
    }
    // ANCHOR_END: fetched

    /// The leader's log grows from `leader_end`: until now the follower was caught up if it has that.
    /// Within a fetch session an idle partition is asked for without being named, so that its last
    /// fetch may look long past. One that was not in sync when the epoch began has to fetch in it first.
    pub fn leader_grows(&mut self, now: Millis, leader_end: Offset) {
        if self.log_end >= leader_end && self.last_fetch_ms > 0 {
            self.last_caught_up_ms = self.last_caught_up_ms.max(now);
        }
    }

    // ANCHOR: is_caught_up
    /// `ReplicaState.isCaughtUp`.
    pub fn is_caught_up(&self, leader_end: Offset, now: Millis, lag_time_max_ms: Millis) -> bool {
        self.log_end == leader_end || now.saturating_sub(self.last_caught_up_ms) <= lag_time_max_ms
    }
    // ANCHOR_END: is_caught_up

    /// When it stops to be caught up, if nothing comes; `None` while it has all there is.
    pub fn lags_at(&self, leader_end: Offset, lag_time_max_ms: Millis) -> Option<Millis> {
        let at = self.last_caught_up_ms.saturating_add(lag_time_max_ms);
        (self.log_end != leader_end).then(|| at.saturating_add(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAG_MS: Millis = 100;

    fn in_sync(now: Millis) -> FollowerState {
        let mut state = FollowerState::new(2);
        state.reset(now, 10, true, true);
        state
    }

    #[test]
    fn a_follower_at_the_end_is_caught_up_however_long_ago_it_fetched() {
        let mut state = in_sync(1_000);
        state.fetched(1_010, 10, 0, 10, 7);
        assert!(state.is_caught_up(10, 99_000, LAG_MS));
        assert_eq!(state.lags_at(10, LAG_MS), None);
        state.leader_grows(99_000, 10);
        assert!(state.is_caught_up(11, 99_100, LAG_MS));
        assert!(!state.is_caught_up(11, 99_101, LAG_MS));
        assert_eq!(state.lags_at(11, LAG_MS), Some(99_101));
    }

    #[test]
    fn one_that_asks_for_what_was_the_end_at_its_last_fetch_was_caught_up_then() {
        let mut state = in_sync(1_000);
        state.fetched(1_010, 10, 0, 15, 7);
        assert_eq!(state.last_caught_up_ms, 1_000, "five records behind");
        state.fetched(1_050, 15, 0, 20, 7);
        assert_eq!(state.last_caught_up_ms, 1_010);
        state.fetched(1_090, 18, 0, 30, 7);
        assert_eq!(state.last_caught_up_ms, 1_010, "18 is less than the 20 of then");
    }

    #[test]
    fn a_slow_follower_falls_behind_though_it_fetches() {
        let mut state = in_sync(0);
        for step in 1..=20 {
            state.fetched(step * 10, 10 + step, 0, 100 * step, 7);
        }
        assert!(!state.is_caught_up(2_000, 200, LAG_MS));
    }

    #[test]
    fn a_new_epoch_forgets_only_what_another_leader_must_find_out_anew() {
        let mut state = in_sync(0);
        state.fetched(10, 12, 3, 12, 7);
        let mut again = state;
        again.reset(500, 12, false, true);
        assert_eq!(
            (again.log_end, again.log_start, again.last_caught_up_ms),
            (12, 3, 500)
        );
        state.reset(500, 12, true, false);
        assert_eq!(
            (state.log_end, state.log_start, state.broker_epoch),
            (-1, -1, None)
        );
        assert!(!state.is_caught_up(12, 501, LAG_MS));
    }

    #[test]
    fn who_left_the_isr_counts_again_when_it_fetches_and_not_when_the_log_grows() {
        let mut state = in_sync(0);
        state.fetched(10, 12, 3, 12, 7);
        state.reset(500, 12, false, false);
        state.leader_grows(600, 12);
        assert!(!state.is_caught_up(13, 600, LAG_MS), "it may have died since");
        state.fetched(700, 12, 3, 12, 7);
        state.leader_grows(800, 12);
        assert!(state.is_caught_up(13, 800, LAG_MS));
    }
}
