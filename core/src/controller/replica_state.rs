//! The end of a replica's life (`kafka.controller.ReplicaState`).
//!
//! Whether a replica is new, online or offline is read off the image. Only while its topic is being
//! deleted has it a state of its own, since the files are gone only when its broker says so:
//!
//! ```text
//! Offline -> DeletionStarted -> DeletionSuccessful -> NonExistent
//!    ^              |
//!    +-- DeletionIneligible   (its broker is away, or could not delete: tried again later)
//! ```

/// Where a replica of a topic that is being deleted stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReplicaState {
    /// It serves no more; its files are there.
    Offline,
    /// Its broker was told to delete the files.
    DeletionStarted,
    DeletionSuccessful,
    /// It cannot be deleted now.
    DeletionIneligible,
    NonExistent,
}

impl ReplicaState {
    /// Whether a replica may go from this state to that one.
    pub fn may_become(self, next: Self) -> bool {
        use ReplicaState::*;
        match next {
            Offline => matches!(self, Offline | DeletionIneligible),
            DeletionStarted => self == Offline,
            DeletionSuccessful => self == DeletionStarted,
            DeletionIneligible => matches!(self, Offline | DeletionStarted),
            NonExistent => self == DeletionSuccessful,
        }
    }

    /// The next state, if the step is legal; else things stay.
    #[must_use]
    pub fn step(self, next: Self) -> Self {
        if self.may_become(next) { next } else { self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_gone_only_when_the_broker_says_so() {
        use ReplicaState::*;
        let all = [
            Offline,
            DeletionStarted,
            DeletionSuccessful,
            DeletionIneligible,
            NonExistent,
        ];
        let to_success: Vec<_> = all
            .iter()
            .filter(|from| from.may_become(DeletionSuccessful))
            .collect();
        assert_eq!(to_success, [&DeletionStarted]);
        let to_nothing: Vec<_> = all.iter().filter(|from| from.may_become(NonExistent)).collect();
        assert_eq!(to_nothing, [&DeletionSuccessful]);
        assert_eq!(
            DeletionIneligible.step(DeletionStarted),
            DeletionIneligible,
            "by way of offline"
        );
        assert_eq!(
            DeletionIneligible.step(Offline).step(DeletionStarted),
            DeletionStarted
        );
        assert!(
            all.iter().all(|next| !NonExistent.may_become(*next)),
            "a name used again begins anew"
        );
    }
}
