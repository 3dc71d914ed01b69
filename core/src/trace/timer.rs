//! What happens by the clock: each of it has a name, and most of it a reason.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A timer of a broker that leads to something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Timer {
    /// A pause of a follower's fetches is over.
    FetchBackoff,
    /// An ISR that could not be asked for is asked for again.
    IsrRetry,
    /// A broker that starts has waited long enough for its first session.
    SessionPatience,
    /// Whoever had to resign as controller looks who is.
    StandAgain,
    /// A broker that wants to stop asks again.
    LeaveRetry,
    /// The controller says a word again that was not answered.
    TellRetry,
    /// Time and again: leaders go back to where they are preferred.
    LeaderBalance,
    /// Something is due in a consumer group: a member's session is over, say.
    Group,
    /// Time and again: segments that are too old or too much are dropped.
    Retention,
    /// Time and again: offset checkpoints that are not true any more are written.
    Checkpoint,
    /// A client's request was not answered in `request.timeout.ms`.
    RequestTimeout,
    /// A client may ask again who leads what, which nobody told it.
    MetadataRetry,
    /// Time and again: a client asks who leads what, though nothing seems wrong.
    MetadataAge,
    /// Something is due in a consumer: a heartbeat, a commit, a look-up that failed.
    Consumer,
    /// Something is due in a producer: a batch has lingered, a record has waited too long.
    Producer,
}

impl Timer {
    /// It comes due again and again, for no other reason than the clock.
    pub fn is_periodic(self) -> bool {
        matches!(
            self,
            Timer::LeaderBalance | Timer::Retention | Timer::Checkpoint | Timer::MetadataAge
        )
    }
}

impl fmt::Display for Timer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Timer::FetchBackoff => "time to fetch again",
            Timer::IsrRetry => "time to ask for the ISR again",
            Timer::SessionPatience => "time is up for the first session",
            Timer::StandAgain => "time to look again who is controller",
            Timer::LeaveRetry => "time to ask again to stop",
            Timer::TellRetry => "time to tell brokers again",
            Timer::LeaderBalance => "time to look whether leaders are where they are preferred",
            Timer::Group => "time is up in a consumer group",
            Timer::Retention => "time to look for segments to drop",
            Timer::Checkpoint => "time to write offset checkpoints",
            Timer::RequestTimeout => "time is up for a request",
            Timer::MetadataRetry => "time to ask again who leads what",
            Timer::MetadataAge => "time to ask anew who leads what",
            Timer::Consumer => "time is up in a consumer",
            Timer::Producer => "time is up in a producer",
        })
    }
}
