//! One line to each broker: words go out one after the other and are said again until answered.
//!
//! A word counts as said when its answer came. Without one it is said again after a pause, and what
//! stands behind it waits: a broker hears everything once at least and in order. All of them may be
//! said twice, since each carries its epochs. A broker that registers anew gets a new line; what was
//! meant for its former life is dropped.

use std::collections::VecDeque;
use std::sync::Arc;

use super::tell::ControlRequest;
use crate::ordered::OrderedMap;
use crate::trace::EventId;
use crate::types::{BrokerId, Millis};

/// Names one saying of a word, never given twice within one office.
pub type TellId = u64;

/// Pause before a word is said again (`RequestSendThread`'s).
const RETRY_MS: Millis = 100;

/// A word on its way.
#[derive(Clone, Debug)]
pub struct Said {
    pub id: TellId,
    pub broker: BrokerId,
    pub request: Arc<ControlRequest>,
}

#[derive(Clone, Debug)]
struct Channel {
    broker_epoch: i64,
    queue: VecDeque<Arc<ControlRequest>>,
    /// The front of the queue was said under this id.
    said: Option<TellId>,
    /// Not before then.
    again_at: Option<Millis>,
}

/// The lines, by broker.
#[derive(Clone, Debug, Default)]
pub struct Channels {
    lines: OrderedMap<BrokerId, Channel>,
    last: TellId,
    /// Why a word is to be said again, the last time.
    because: EventId,
}

impl Channels {
    /// The broker is registered under this epoch.
    pub fn open(&mut self, broker: BrokerId, broker_epoch: i64) {
        self.lines.insert(
            broker,
            Channel {
                broker_epoch,
                queue: VecDeque::new(),
                said: None,
                again_at: None,
            },
        );
    }

    pub fn close(&mut self, broker: BrokerId) {
        self.lines.remove(&broker);
    }

    /// Puts the word behind the others; dropped when that life of the broker is over.
    pub fn push(&mut self, broker: BrokerId, broker_epoch: i64, request: Arc<ControlRequest>) {
        if let Some(line) = self.lines.get_mut(&broker)
            && line.broker_epoch == broker_epoch
        {
            line.queue.push_back(request);
        }
    }

    /// The next word to be said now.
    pub fn next(&mut self, now: Millis) -> Option<Said> {
        let ready = |line: &Channel| line.said.is_none() && line.again_at.is_none_or(|at| at <= now);
        let (&broker, line) = self
            .lines
            .iter_mut()
            .find(|(_, line)| ready(line) && !line.queue.is_empty())?;
        self.last += 1;
        line.said = Some(self.last);
        line.again_at = None;
        let request = line.queue.front()?.clone();
        Some(Said {
            id: self.last,
            broker,
            request,
        })
    }

    /// The word was answered: its broker and what it was. `None`: it was of another life.
    pub fn answered(&mut self, id: TellId) -> Option<(BrokerId, Arc<ControlRequest>)> {
        let (&broker, line) = self.lines.iter_mut().find(|(_, line)| line.said == Some(id))?;
        line.said = None;
        line.queue.pop_front().map(|request| (broker, request))
    }

    /// No answer will come: say it again, a little later.
    pub fn failed(&mut self, id: TellId, now: Millis, because: EventId) {
        if let Some(line) = self.lines.values_mut().find(|line| line.said == Some(id)) {
            line.said = None;
            line.again_at = Some(now.saturating_add(RETRY_MS));
            self.because = because;
        }
    }

    /// Whether the broker has words to hear, or to answer.
    pub fn is_busy(&self, broker: BrokerId) -> bool {
        self.lines.get(&broker).is_some_and(|line| !line.queue.is_empty())
    }

    pub fn because(&self) -> EventId {
        self.because
    }

    /// When the next word may be said again.
    pub fn next_at(&self) -> Option<Millis> {
        let waiting = self
            .lines
            .values()
            .filter(|line| line.said.is_none() && !line.queue.is_empty());
        waiting.filter_map(|line| line.again_at).min()
    }

    pub fn clear(&mut self) {
        self.lines.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::control::StopReplicaRequest;

    fn word(mark: i32) -> Arc<ControlRequest> {
        Arc::new(ControlRequest::StopReplica(StopReplicaRequest {
            controller_id: mark,
            ..StopReplicaRequest::default()
        }))
    }

    fn mark(said: &Said) -> i32 {
        match &*said.request {
            ControlRequest::StopReplica(request) => request.controller_id,
            _ => -1,
        }
    }

    #[test]
    fn a_line_says_one_word_at_a_time_and_again_until_answered() {
        let mut channels = Channels::default();
        channels.open(1, 10);
        channels.push(1, 10, word(1));
        channels.push(1, 10, word(2));
        channels.push(1, 9, word(9));
        let first = channels.next(0).unwrap();
        assert_eq!(mark(&first), 1);
        assert!(channels.next(0).is_none(), "one at a time");
        channels.failed(first.id, 0, EventId::NONE);
        assert!(channels.next(99).is_none());
        assert_eq!(channels.next_at(), Some(100));
        let again = channels.next(100).unwrap();
        assert_eq!(mark(&again), 1);
        assert!(channels.answered(first.id).is_none(), "the first saying is over");
        assert_eq!(channels.answered(again.id).unwrap().0, 1);
        let second = channels.next(100).unwrap();
        assert_eq!(mark(&second), 2);
        channels.answered(second.id).unwrap();
        assert!(
            channels.next(1000).is_none(),
            "what was meant for a former life is dropped"
        );
    }

    #[test]
    fn a_new_life_gets_a_new_line() {
        let mut channels = Channels::default();
        channels.open(1, 10);
        channels.push(1, 10, word(1));
        let said = channels.next(0).unwrap();
        channels.open(1, 20);
        assert!(channels.answered(said.id).is_none());
        assert!(channels.next(0).is_none());
        channels.push(1, 20, word(2));
        assert_eq!(mark(&channels.next(0).unwrap()), 2);
    }
}
