//! Mistakes made on purpose, in tests alone.
//!
//! A check that nothing can fail proves nothing. So for each invariant of the simulator the core can make
//! a mistake that breaks it: `mutated!(Name)` stands where it would be made, and is true while a test
//! runs [`with`] it. In every other build it is the word `false`, and this module is not compiled.

/// Whether the mistake of that name is to be made here.
#[cfg(test)]
macro_rules! mutated {
    ($mutation:ident) => {
        $crate::mutation::is_made($crate::mutation::Mutation::$mutation)
    };
}

#[cfg(not(test))]
macro_rules! mutated {
    ($mutation:ident) => {
        false
    };
}

#[cfg(test)]
pub use made::{ALL, Mutation, is_made, with};

#[cfg(test)]
mod made {
    use std::cell::Cell;

    macro_rules! mutations {
        ($($(#[doc = $doc:literal])+ $name:ident,)*) => {
            /// One mistake.
            #[derive(Clone, Copy, Debug, PartialEq, Eq)]
            pub enum Mutation { $($(#[doc = $doc])+ $name,)* }
            pub const ALL: &[Mutation] = &[$(Mutation::$name,)*];
        };
    }

    mutations! {
        /// Retention drops segments above the high watermark too.
        RetentionPassesHighWatermark,
        /// A follower takes the leader's high watermark over before it has the records.
        FollowerTakesHighWatermarkUnseen,
        /// From epoch 2 on leaders stamp their batches with epoch 0.
        EpochForgotten,
        /// A leader leaves the epoch in a batch as the producer sent it.
        EpochNotPatched,
        /// Only the first epoch of a log is noted in its cache.
        EpochEntryLost,
        /// A leader does not notice that a follower's log is no prefix of its own.
        DivergenceUnseen,
        /// A new leader gets the epoch of the one before.
        EpochNotRaised,
        /// At the end of a move those who leave stay in the ISR.
        RemovedStayInIsr,
        /// An unclean leader is not put into the ISR.
        UncleanLeaderOutsideIsr,
        /// An unclean election is told as a clean one.
        UncleanElectionUntold,
        /// A leader takes a lower high watermark over too.
        HighWatermarkFalls,
        /// A leader's high watermark waits for nobody.
        LeaderCountsItselfOnly,
        /// acks=all is answered when the leader alone has written.
        AcknowledgedTooEarly,
        /// Consumers read up to the leader's log end.
        ConsumerReadsToLogEnd,
        /// A batch is written without its last byte.
        AppendCutShort,
        /// A log that is cut back is cut to nothing on the disk.
        CutTooShort,
        /// An entry of the offset index points one byte behind its batch.
        IndexEntryMisplaced,
        /// An entry of the time index names the offset after that of its record.
        TimeEntryMisplaced,
        /// Sequence numbers are not looked at.
        DuplicateAccepted,
        /// Nobody is ever taken into the ISR again.
        IsrNeverGrows,
        /// Followers do not hear of the high watermark.
        FollowerHearsNoHighWatermark,
        /// The fact of a log that is cut back is not told.
        TruncationUntold,
        /// The leader of a group gives everybody everything.
        EverybodyGetsEverything,
        /// The leader of a group leaves its first partition out.
        PartitionLeftOut,
        /// A consumer commits one record more than it has read.
        CommittedTooFar,
        /// A coordinator that has an offset takes no later one.
        LaterCommitForgotten,
        /// The last record of a poll is not returned, and its position goes on.
        RecordSwallowed,
        /// That a batch is written is told as if nothing had led to it.
        CauseLost,
    }

    thread_local! {
        static MADE: Cell<Option<Mutation>> = const { Cell::new(None) };
    }

    pub fn is_made(mutation: Mutation) -> bool {
        MADE.get() == Some(mutation)
    }

    /// Runs with a core that makes the mistake, in this thread and until it is done.
    pub fn with<T>(mutation: Mutation, run: impl FnOnce() -> T) -> T {
        struct Unmade;
        impl Drop for Unmade {
            fn drop(&mut self) {
                MADE.set(None);
            }
        }
        let _unmade = Unmade;
        MADE.set(Some(mutation));
        run()
    }
}
