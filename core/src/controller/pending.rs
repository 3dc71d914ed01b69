//! What may leave only when the writes before it are acknowledged.
//!
//! A decision is made at once and told later: the words to the brokers and the answers to clients
//! stand in one queue with the writes, in the order of the decisions, and leave from its front while
//! no write stands there. So nobody hears of what may yet be refused, and nobody hears things in
//! another order than they were decided.

use std::collections::VecDeque;
use std::sync::Arc;

use super::CallerToken;
use super::tell::ControlRequest;
use crate::coordination::{Multi, Op, OpId};
use crate::protocol::ResponseBody;
use crate::types::BrokerId;

/// What waits.
#[derive(Clone, Debug)]
pub enum Word {
    /// To a broker, in this registration of it.
    Tell {
        broker: BrokerId,
        broker_epoch: i64,
        request: Arc<ControlRequest>,
    },
    Answer {
        caller: CallerToken,
        body: Box<ResponseBody>,
    },
}

#[derive(Clone, Debug)]
enum Entry {
    Write(Write),
    Word(Word),
}

/// A multi that was asked and is not acknowledged.
#[derive(Clone, Debug)]
struct Write {
    id: OpId,
    evidence: Option<Evidence>,
    paths: Vec<Arc<str>>,
}

/// What shows, if no answer came, whether a multi happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Evidence {
    Exists(Arc<str>),
    Gone(Arc<str>),
    /// The node has at least this version.
    Version(Arc<str>, i32),
}

impl Evidence {
    fn of(multi: &Multi) -> Option<Self> {
        multi.ops.iter().find_map(|op| match op {
            Op::Create { path, kind, .. } if !kind.is_sequential() => Some(Self::Exists(path.clone())),
            Op::Set {
                path,
                version: Some(version),
                ..
            } => Some(Self::Version(path.clone(), version.wrapping_add(1))),
            Op::Delete { path, .. } => Some(Self::Gone(path.clone())),
            _ => None,
        })
    }

    pub fn path(&self) -> &Arc<str> {
        match self {
            Self::Exists(path) | Self::Gone(path) | Self::Version(path, _) => path,
        }
    }

    /// Whether it happened, as the node's version (`None`: no node) tells.
    pub fn holds(&self, version: Option<i32>) -> bool {
        match self {
            Self::Exists(_) => version.is_some(),
            Self::Gone(_) => version.is_none(),
            Self::Version(_, least) => version.is_some_and(|version| version >= *least),
        }
    }
}

/// Writes and words in the order in which they were decided.
#[derive(Clone, Debug, Default)]
pub struct Pending {
    queue: VecDeque<Entry>,
}

impl Pending {
    pub fn write(&mut self, id: OpId, multi: &Multi) {
        let is_change = |op: &&Op| !matches!(op, Op::Check { .. });
        self.queue.push_back(Entry::Write(Write {
            id,
            evidence: Evidence::of(multi),
            paths: multi
                .ops
                .iter()
                .filter(is_change)
                .map(|op| op.path().clone())
                .collect(),
        }));
    }

    pub fn word(&mut self, word: Word) {
        self.queue.push_back(Entry::Word(word));
    }

    /// What to look for when the write's outcome is not known.
    pub fn evidence(&self, id: OpId) -> Option<Evidence> {
        self.writes().find(|write| write.id == id)?.evidence.clone()
    }

    pub fn is_write(&self, id: OpId) -> bool {
        self.writes().any(|write| write.id == id)
    }

    /// The write is acknowledged.
    pub fn done(&mut self, id: OpId) {
        self.queue
            .retain(|entry| !matches!(entry, Entry::Write(write) if write.id == id));
    }

    /// The next word that may leave.
    pub fn next_word(&mut self) -> Option<Word> {
        match self.queue.front() {
            Some(Entry::Word(_)) => match self.queue.pop_front() {
                Some(Entry::Word(word)) => Some(word),
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether a write of this node is under way: what is read of it now is already old.
    pub fn is_writing(&self, path: &str) -> bool {
        self.writes()
            .any(|write| write.paths.iter().any(|written| &**written == path))
    }

    /// Whoever still waits for an answer, when nothing will be told any more.
    pub fn abandon(&mut self) -> Vec<CallerToken> {
        std::mem::take(&mut self.queue)
            .into_iter()
            .filter_map(|entry| match entry {
                Entry::Word(Word::Answer { caller, .. }) => Some(caller),
                _ => None,
            })
            .collect()
    }

    fn writes(&self) -> impl Iterator<Item = &Write> {
        self.queue.iter().filter_map(|entry| match entry {
            Entry::Write(write) => Some(write),
            Entry::Word(_) => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::messages::MetadataResponse;

    fn answer(caller: CallerToken) -> Word {
        Word::Answer {
            caller,
            body: Box::new(MetadataResponse::default().into()),
        }
    }

    fn left(pending: &mut Pending) -> Vec<CallerToken> {
        std::iter::from_fn(|| pending.next_word())
            .filter_map(|word| match word {
                Word::Answer { caller, .. } => Some(caller),
                Word::Tell { .. } => None,
            })
            .collect()
    }

    #[test]
    fn words_wait_for_the_writes_before_them_and_for_no_other() {
        let mut pending = Pending::default();
        pending.word(answer(1));
        pending.write(7, &Multi::new().create("/a", ""));
        pending.word(answer(2));
        pending.write(8, &Multi::new().create("/b", ""));
        pending.word(answer(3));
        assert_eq!(left(&mut pending), [1]);
        assert!(pending.is_writing("/b") && !pending.is_writing("/c"));
        pending.done(8);
        assert_eq!(left(&mut pending), [0; 0], "never before what was decided before");
        pending.done(7);
        assert_eq!(left(&mut pending), [2, 3]);
    }

    #[test]
    fn an_unknown_outcome_is_told_by_the_first_node_that_shows_it() {
        let multi = Multi::new()
            .check("/epoch", Some(3))
            .set("/a", "", Some(4))
            .create("/b", "");
        let evidence = Evidence::of(&multi).unwrap();
        assert_eq!(evidence, Evidence::Version("/a".into(), 5));
        assert!(evidence.holds(Some(5)) && !evidence.holds(Some(4)) && !evidence.holds(None));
        let gone = Evidence::of(&Multi::new().delete("/a", None)).unwrap();
        assert!(gone.holds(None) && !gone.holds(Some(0)));
        assert_eq!(Evidence::of(&Multi::new().check("/epoch", Some(3))), None);
    }
}
