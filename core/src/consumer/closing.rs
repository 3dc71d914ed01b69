//! The end of a subscription, and of a consumer: the last offsets are committed, partitions given up, the
//! coordinator told.

use super::group::Group;
use super::shared::Shared;
use super::{Consumer, ConsumerError, ConsumerEvent, LeaveBy};
use crate::client::ClientCx;
use crate::trace::{CommitReason, ConsumerFact};
use crate::types::Millis;

/// How far a consumer is with closing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Life {
    Open,
    /// The last offsets are being committed.
    Committing {
        due_ms: Millis,
    },
    /// Partitions are being given up.
    Leaving {
        due_ms: Millis,
    },
    /// The coordinator is being told.
    Ending {
        due_ms: Millis,
    },
    Closed,
}

impl Consumer {
    /// Commits what was returned (with auto-commit), gives everything up and leaves the group, within that
    /// time; [`ConsumerEvent::Closed`] says when it is done.
    pub fn close(&mut self, cx: &mut ClientCx, timeout_ms: Millis, leave_by: LeaveBy) {
        if self.life != Life::Open {
            return;
        }
        let due_ms = cx.now.saturating_add(timeout_ms);
        self.life = Life::Committing { due_ms };
        self.shared.polling = false;
        if let Some(group) = &mut self.group {
            group.leave_by = leave_by;
            let offsets = self.shared.subscriptions.all_consumed();
            if group.config.auto_commit && !offsets.is_empty() {
                group.commit(offsets, CommitReason::Close, due_ms);
            }
        }
        self.go_on(cx);
    }

    pub fn is_closed(&self) -> bool {
        self.life == Life::Closed
    }

    pub(super) fn check_open(&self) -> Result<(), ConsumerError> {
        match self.life {
            Life::Open => Ok(()),
            _ => Err(ConsumerError::Closed),
        }
    }

    /// What is due of closing or unsubscribing.
    pub(super) fn end(&mut self, cx: &mut ClientCx) {
        let has_left = self.group.as_ref().is_none_or(|group| group.left);
        if self.unsubscribing && has_left {
            self.unsubscribing = false;
            self.shared.subscriptions.unsubscribe();
            self.shared.polling = false;
            self.shared.again = true;
            if let Some(group) = &mut self.group {
                group.forget_subscription();
            }
            self.shared.emit(cx, || ConsumerFact::Unsubscribed);
        }
        let is_over = |due_ms: Millis| due_ms <= cx.now;
        self.life = match self.life {
            Life::Committing { due_ms } => {
                let waits = self.group.as_ref().is_some_and(Group::has_commits);
                if waits && !is_over(due_ms) {
                    self.shared.wake_at(due_ms);
                    return;
                }
                if let Some(group) = &mut self.group {
                    group.begin_leaving(&mut self.shared, cx, "the consumer is being closed");
                }
                Life::Leaving { due_ms }
            }
            Life::Leaving { due_ms } if has_left => {
                let Shared { net, fetcher, .. } = &mut self.shared;
                fetcher.close(cx, net);
                Life::Ending { due_ms }
            }
            Life::Ending { due_ms } => {
                let waits = self.group.as_ref().is_some_and(Group::is_leaving);
                if waits && !is_over(due_ms) {
                    self.shared.wake_at(due_ms);
                    return;
                }
                self.shared.emit(cx, || ConsumerFact::Closed);
                self.shared.events.push_back(ConsumerEvent::Closed);
                Life::Closed
            }
            Life::Open | Life::Leaving { .. } | Life::Closed => return,
        };
        self.shared.again = true;
    }
}
