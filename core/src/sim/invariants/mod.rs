//! What must always be so, whatever happens: checked after every step of a world.
//!
//! Each invariant is a name, a sentence and a check. The checks share nothing with the brokers' own
//! bookkeeping: they keep a *ghost history*, read from the facts, from the disks and from the
//! coordination tree. It knows which bytes stood at which offset in which epoch, what was ever below
//! a high watermark, and what producers were told.
//!
//! There are two tiers. The incremental checks run after each step and cost what the step touched.
//! The whole ones read every disk again: they run now and then, at each fault and at the end, and when
//! one fails, the steps since it last held are run again with all of them, to name the step.
//!
//! What may be lost: by an election outside the ISR (`unclean.leader.election.enable`), and when a
//! member of the ISR lost synced-away records with its power. Both are told by facts, and the ghost then
//! forgets what they explain, and nothing else.

mod at_rest;
mod ghost;
mod incremental;
mod members;
pub mod scan;
mod whole;

use thiserror::Error;

use crate::sim::world::World;
use crate::view::ClusterView;
use ghost::Ghost;

/// The topic that holds what groups committed.
const OFFSETS_TOPIC: &str = "__consumer_offsets";

/// One thing that must always be so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Invariant {
    pub name: &'static str,
    pub sentence: &'static str,
}

macro_rules! invariants {
    ($($constant:ident = $name:literal, $sentence:literal;)*) => {
        $(pub const $constant: Invariant = Invariant { name: $name, sentence: $sentence };)*
        /// All of them.
        pub const ALL: &[Invariant] = &[$($constant,)*];
    };
}

invariants! {
    OFFSETS_IN_ORDER = "offsets-in-order",
        "log start <= high watermark <= log end, on every replica";
    EPOCHS_NEVER_FALL = "epochs-never-fall",
        "the leader epochs of a log's batches never decrease";
    ONE_RECORD_FOR_AN_OFFSET = "one-record-for-an-offset",
        "the same offset and leader epoch mean the same record and the same records before it, everywhere";
    ONE_LEADER_FOR_AN_EPOCH = "one-leader-for-an-epoch",
        "at most one broker leads a partition in an epoch";
    ISR_WITHIN_REPLICAS = "isr-within-replicas",
        "the ISR is a part of the assigned replicas";
    LEADER_IN_ISR = "leader-in-isr",
        "a leader, if there is one, is in the ISR that the controller wrote";
    HIGH_WATERMARK_NEVER_FALLS = "high-watermark-never-falls",
        "while a broker leads in an epoch its high watermark never falls";
    COMMITTED_STAYS = "committed-stays",
        "every new leader, and at rest every replica, holds all that was ever below a high watermark";
    PROMISE_KEPT = "promise-kept",
        "what acks=all acknowledged is below a high watermark, at the offset that was told, and every new leader has it there";
    READ_BELOW_HIGH_WATERMARK = "read-below-high-watermark",
        "consumers are given nothing that was never below a high watermark";
    DISK_AS_WRITTEN = "disk-as-written",
        "a replica's files hold exactly the batches that were written";
    EPOCH_CACHE_TRUE = "epoch-cache-true",
        "the leader epoch cache equals the one rebuilt from the batches";
    INDEX_POINTS_RIGHT = "index-points-right",
        "index entries increase; one of the offset index points to the batch that holds its offset, one of the time index to the first batch that has its time";
    SEQUENCES_CONTIGUOUS = "sequences-contiguous",
        "a producer's sequence numbers follow each other within its epoch";
    ONE_OWNER_IN_A_GENERATION = "one-owner-in-a-generation",
        "a partition is owned by at most one live member of a generation of its group";
    COMMITTED_WITHIN_WHAT_WAS_READ = "committed-within-what-was-read",
        "a member commits no offset beyond what it has read, and a coordinator stores none that nobody sent";
    COMMITTED_OFFSET_STAYS = "committed-offset-stays",
        "a member begins at the offset that was acknowledged last to its group, or at one that was sent later";
    POSITION_PASSES_NOTHING_OVER = "position-passes-nothing-over",
        "a position moves on only over records that the application was given, and over holes";
    EVERY_PARTITION_OWNED = "every-partition-owned",
        "at rest every partition that a member of a group reads has exactly one owner in it";
    ALL_CAUGHT_UP = "all-caught-up",
        "at rest every live replica is in the ISR, and all have the same records and high watermark";
}

/// An invariant that does not hold.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{}: {} ({why})", invariant.name, invariant.sentence)]
pub struct Broken {
    pub invariant: Invariant,
    /// What was seen.
    pub why: String,
}

impl Broken {
    fn new(invariant: Invariant, why: impl Into<String>) -> Self {
        Self {
            invariant,
            why: why.into(),
        }
    }
}

/// The invariant of that name.
pub fn named(name: &str) -> Option<Invariant> {
    ALL.iter().copied().find(|invariant| invariant.name == name)
}

/// Checks one world, step after step.
#[derive(Clone, Debug, Default)]
pub struct Checker {
    ghost: Ghost,
    /// Facts taken in so far.
    seen: usize,
}

impl Checker {
    /// Takes in the facts since the last call, and checks what they touched.
    pub fn after_step(&mut self, world: &World, view: &ClusterView) -> Result<(), Broken> {
        let mut outcome = Ok(());
        for event in world.trace().since(self.seen) {
            // All are taken in, so that what comes after a failure still makes sense.
            let found = self.ghost.take(world, view, event);
            outcome = outcome.and(found);
        }
        self.seen = world.trace().len();
        outcome
    }

    /// Reads every disk, and checks all that needs it.
    pub fn whole(&self, world: &World) -> Result<(), Broken> {
        whole::check(&self.ghost, world)
    }

    /// Checks what must hold when all faults are over and nothing moves any more, beside the
    /// [`whole`](Self::whole).
    pub fn at_rest(&self, world: &World, view: &ClusterView) -> Result<(), Broken> {
        at_rest::check(&self.ghost, world, view)
    }
}

#[cfg(test)]
mod tests;
