//! The broker as a member of its cluster: its session with the coordination service, what it knows,
//! and, when it is elected, the controller.
//!
//! ```text
//! survey of the disks -> session -> missing nodes -> settings -> recovery of the logs
//!   -> /brokers/ids/N -> /controller -> serve
//! ```
//!
//! [`session`] walks this way and starts again where a lost session demands it. What the controller
//! says arrives in [`control`]; settings are read by [`configs`]; logs that nobody has claimed yet lie
//! in [`held`]; what is asked of other brokers goes through [`sends`]. A broker that is elected owns a
//! [`Controller`](crate::controller::Controller), which [`leading`] feeds.
//!
//! Invariants
//! - an event of a session that is over changes nothing
//! - a word of an older controller, or to an older life of this broker, changes nothing
//! - what this broker answers to readers is what it was told, never what it has decided but not yet done

mod clock;
mod configs;
mod control;
mod fetchers;
mod held;
mod isr;
mod lag;
mod leading;
mod leaving;
mod passed_on;
mod replicas;
mod sends;
mod session;
mod told;

use std::sync::Arc;

use crate::controller::Controller;
use crate::coordination::{OpId, SessionEpoch, SessionId};
use crate::ordered::{OrderedMap, OrderedSet};
use crate::trace::EventId;
use crate::types::{BrokerId, Millis, Offset, TopicPartition};

pub(super) use configs::Configs;
use control::Words;
pub(super) use control::{Speaker, Word, WordUnderWay};
use fetchers::Fetchers;
pub(super) use held::{Held, HeldLog};
use isr::Proposals;
use lag::LagChecks;
use leading::Office;
pub(super) use leaving::Leaving;
pub(super) use sends::{SendFor, Sends};
pub(super) use session::{OpFor, Stage, data};

/// What the broker knows of its place in the cluster.
#[derive(Clone, Debug)]
pub(super) struct Cluster {
    /// The present session; 0 before the first.
    session: SessionEpoch,
    /// The service's own name for it: what we own carries it.
    session_id: SessionId,
    /// Why the service will never answer again, if so.
    pub lost: Option<String>,
    next_op: OpId,
    /// What was asked and is not answered.
    ops: OrderedMap<OpId, OpFor>,
    stage: Stage,
    /// The session is new: what the last one left unanswered is asked again when it is there.
    asks_anew: bool,
    /// Give up the start when no session came by then.
    start_by: Option<Millis>,
    /// Why the session is wanted.
    asked_for_session: EventId,
    /// `czxid` of this broker's node: names this registration. -1 until registered.
    pub broker_epoch: i64,
    /// Who holds `/controller`, as last read or told; -1: nobody.
    pub controller_id: BrokerId,
    /// The controller's epoch, and the version of its node, if this broker's last try succeeded.
    candidacy: Option<(i32, i32)>,
    /// When to look again who is the controller, after this one had to resign.
    stand_again_at: Option<Millis>,
    /// Why it had to resign, the last time.
    resigned: EventId,
    /// The highest epoch of a controller that was heard of.
    pub controller_epoch: i32,
    /// What waits for the controller in this broker.
    office: Office,
    /// This broker is the controller.
    pub controller: Option<Box<Controller>>,
    pub configs: Configs,
    pub held: Held,
    /// High watermarks that the last life wrote down, of logs that are not claimed yet.
    pub checkpointed: OrderedMap<TopicPartition, Offset>,
    /// Topics that the controller is deleting.
    deleting: OrderedSet<Arc<str>>,
    words: Words,
    proposals: Proposals,
    lag_checks: LagChecks,
    fetchers: Fetchers,
    pub sends: Sends,
    /// A stop has been asked for, and leadership is being handed over.
    pub leaving: Option<Leaving>,
}

impl Cluster {
    pub fn stage(&self) -> Stage {
        self.stage
    }
}

impl Default for Cluster {
    fn default() -> Self {
        Self {
            session: 0,
            session_id: 0,
            candidacy: None,
            stand_again_at: None,
            resigned: EventId::NONE,
            lost: None,
            next_op: 1,
            ops: OrderedMap::new(),
            stage: Stage::Away,
            asks_anew: false,
            start_by: None,
            asked_for_session: EventId::NONE,
            broker_epoch: -1,
            controller_id: -1,
            controller_epoch: 0,
            office: Office::default(),
            controller: None,
            configs: Configs::default(),
            held: Held::default(),
            checkpointed: OrderedMap::new(),
            deleting: OrderedSet::new(),
            words: Words::default(),
            proposals: Proposals::default(),
            lag_checks: LagChecks::default(),
            fetchers: Fetchers::default(),
            sends: Sends::default(),
            leaving: None,
        }
    }
}
