//! What a user of a client should hear of while it goes on by itself: brokers that cannot be reached,
//! topics that are not there, a group that has no place for it. One line each to the error output, and
//! not the same line again and again.

use std::collections::BTreeSet;

use highwater_core::trace::{ClientFact, ConsumerFact, Event, Fact, ProducerFact};

use super::Listener;
use crate::output::complain;

/// So many lines are remembered, to be said only once.
const MOST_REMEMBERED: usize = 1000;

/// Says them, each once.
#[derive(Debug, Default)]
pub struct Warnings {
    said: BTreeSet<String>,
}

impl Warnings {
    /// A listener that writes to the error output.
    pub fn listener() -> Listener {
        Self::beside(|_| {})
    }

    /// The same for somebody who listens, too.
    pub fn beside(mut also: impl FnMut(&Event) + Send + 'static) -> Listener {
        let mut warnings = Self::default();
        Box::new(move |event: &Event| {
            also(event);
            if let Some(line) = warnings.new_line(&event.fact) {
                complain!("highwater: {line}");
            }
        })
    }

    fn new_line(&mut self, fact: &Fact) -> Option<String> {
        let line = match fact {
            Fact::Client(ClientFact::ConnectionReady { .. }) => {
                // Whatever is wrong after this is news.
                self.said.clear();
                return None;
            }
            Fact::Client(fact) => of_client(fact)?,
            Fact::Consumer(fact) => of_consumer(fact)?,
            Fact::Producer(fact) => of_producer(fact)?,
            _ => return None,
        };
        if self.said.len() >= MOST_REMEMBERED {
            self.said.clear();
        }
        self.said.insert(line.clone()).then_some(line)
    }
}

fn of_client(fact: &ClientFact) -> Option<String> {
    match fact {
        // An idle connection that is closed is nobody's loss.
        ClientFact::ConnectionLost {
            unanswered: 1.., why, ..
        } => Some(format!("{why}; trying again")),
        ClientFact::TopicRefused { topic, code } => Some(format!("topic {topic}: {code}; asking again")),
        _ => None,
    }
}

fn of_consumer(fact: &ConsumerFact) -> Option<String> {
    match fact {
        ConsumerFact::CommitFailed {
            group, why, again, ..
        } => {
            let then = if *again { "; trying again" } else { "" };
            Some(format!("group {group}: offsets were not committed: {why}{then}"))
        }
        ConsumerFact::PollOverdue { group, .. } => Some(format!(
            "group {group}: records were worked on for longer than max.poll.interval.ms, others have the \
             partitions now"
        )),
        // Without an offset it is a beginning.
        ConsumerFact::PositionLost {
            partition,
            offset: Some(offset),
            why,
        } => Some(format!(
            "{partition}: offset {offset}: {why}; going on by auto.offset.reset"
        )),
        _ => None,
    }
}

fn of_producer(fact: &ProducerFact) -> Option<String> {
    match fact {
        ProducerFact::BatchRetried { partition, code, .. } => {
            Some(format!("{partition}: {code}; sending again"))
        }
        ProducerFact::ProducerIdRefused { code, .. } => {
            Some(format!("no producer id yet: {code}; asking again"))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lost(why: &str, unanswered: u32) -> Fact {
        Fact::Client(ClientFact::ConnectionLost {
            node: -1,
            unanswered,
            again_ms: 0,
            why: why.to_owned(),
        })
    }

    #[test]
    fn each_line_is_said_once_until_a_broker_was_reached() {
        let mut warnings = Warnings::default();
        let refused = lost("cannot connect to localhost:1: Connection refused", 1);
        let line = "cannot connect to localhost:1: Connection refused; trying again";
        assert_eq!(warnings.new_line(&refused).as_deref(), Some(line));
        assert_eq!(warnings.new_line(&refused), None);
        assert_eq!(warnings.new_line(&lost("idle for long", 0)), None);
        let ready = Fact::Client(ClientFact::ConnectionReady { node: 1 });
        assert_eq!(warnings.new_line(&ready), None);
        assert_eq!(warnings.new_line(&refused).as_deref(), Some(line));
    }
}
