//! What all parts of a consumer work on.

use std::collections::VecDeque;
use std::sync::Arc;

use super::config::ConsumerConfig;
use super::error::ConsumerError;
use super::event::ConsumerEvent;
use super::fetcher::Fetcher;
use super::partition_state::LeaderAndEpoch;
use super::purpose::Purpose;
use super::subscription::SubscriptionState;
use crate::client::network::Answer;
use crate::client::{ClientCx, ClientInput, ClientOutput, NetworkClient, Node};
use crate::trace::{ConsumerFact, EventId, Fact};
use crate::types::{Millis, TopicPartition};

pub(super) type Net = NetworkClient<Purpose>;

#[derive(Clone, Debug)]
pub(super) struct Shared {
    pub config: Arc<ConsumerConfig>,
    pub net: Net,
    pub subscriptions: SubscriptionState,
    pub fetcher: Fetcher,
    pub events: VecDeque<ConsumerEvent>,
    /// The application waits for records: in Java it would be within `poll`. Only then a member joins,
    /// gives up and takes partitions.
    pub polling: bool,
    /// When the consumer itself has something to do next.
    wake_ms: Option<Millis>,
    /// The last event that the consumer knew of.
    pub last: EventId,
    /// Answers that came of something done here, to be looked at next.
    pub answers: Vec<Answer<Purpose>>,
    /// Something changed that a part may have passed over already: all go round once more.
    pub again: bool,
}

impl Shared {
    pub fn new(config: Arc<ConsumerConfig>, net: Net, fetcher: Fetcher) -> Self {
        Self {
            subscriptions: SubscriptionState::new(config.auto_offset_reset),
            config,
            net,
            fetcher,
            events: VecDeque::new(),
            polling: false,
            wake_ms: None,
            last: EventId::NONE,
            answers: Vec::new(),
            again: false,
        }
    }

    /// The consumer wants to be called at that time.
    pub fn wake_at(&mut self, at: Millis) {
        self.wake_ms = Some(self.wake_ms.map_or(at, |before| before.min(at)));
    }

    /// Takes the time that was wanted.
    pub fn take_wake(&mut self) -> Option<Millis> {
        self.wake_ms.take()
    }

    pub fn wake(&self) -> Option<Millis> {
        self.wake_ms
    }

    #[track_caller]
    pub fn emit(&mut self, cx: &mut ClientCx, fact: impl FnOnce() -> ConsumerFact) {
        cx.cause = cx.emit(|| Fact::Consumer(fact()));
    }

    /// Tells the application of an error: what Java's `poll` throws.
    pub fn fail(&mut self, cx: &mut ClientCx, error: ConsumerError) {
        self.emit(cx, || ConsumerFact::Failed {
            why: error.to_string(),
        });
        self.events.push_back(ConsumerEvent::Failed(error));
        self.polling = false;
    }

    /// Gives a connection up; what is awaited on it fails.
    pub fn disconnect(&mut self, cx: &mut ClientCx, node: &Node, why: &str) {
        let input = ClientInput::Disconnected {
            node: node.clone(),
            why: why.to_owned(),
        };
        cx.out.push(ClientOutput::Disconnect { node: node.clone() });
        let failed = self.net.handle(cx, &input);
        self.answers.extend(failed);
    }

    /// When a failed look-up may be tried again, for the n-th time.
    pub fn retry_at(&self, cx: &mut ClientCx, failures: u32) -> Millis {
        cx.now + self.config.client.retry_backoff.backoff_ms(failures, cx.rng)
    }

    pub fn leader(&self, partition: &TopicPartition) -> LeaderAndEpoch {
        leader_of(&self.net, partition)
    }
}

/// Who leads the partition, as far as metadata says.
pub(super) fn leader_of(net: &Net, partition: &TopicPartition) -> LeaderAndEpoch {
    match net.metadata.leader(partition) {
        Some((leader, epoch)) => LeaderAndEpoch {
            leader: Some(leader),
            epoch,
        },
        None => LeaderAndEpoch::default(),
    }
}
