//! # The consumer: who reads what, and how far it has come
//!
//! A consumer is a value, as a broker is. Its host hands it what happened
//! ([`handle`](Consumer::handle)) and takes what shall happen; the application subscribes, polls for
//! records and hears of the rest by [`next_event`](Consumer::next_event). Nothing waits: where Java's
//! `poll` blocks, [`poll`](Consumer::poll) returns nothing, and the application is *polling* until it asks
//! again and is given something. While it polls, the consumer joins its group, gives up and takes
//! partitions; while it works on what it was given, it is still a member, but takes part in no rebalance
//! until it polls again. That is Java's classic consumer, and what `max.poll.interval.ms` is about.
//!
//! ```text
//! subscribe ─► membership ─► which partitions ─► committed offsets ─┐
//! assign ────────────────────────────────────► or auto.offset.reset ┴► fetch ─► poll ─► commit
//! ```
//!
//! Reading order: here what happens in which order; [`config`]; `subscribing`, `positioning`, `committing` and
//! `closing` what the application may ask; [`partition_state`] how far it is in one partition, `subscription` in all;
//! `lookups` offsets that leaders know; `completed_fetch` and `fetcher` records on their way;
//! `group` what it does as one of many, [`assignor`] who gets what; `shared` and `purpose` are what these parts have in common.
//!
//! Invariants
//! - a record is returned at most once as long as nobody seeks and no partition is given up
//! - only what was returned is committed by itself
//! - partitions change only while the application polls, and with a listener only after it confirmed

pub mod assignor;
mod closing;
mod committing;
mod completed_fetch;
pub mod config;
mod error;
mod event;
mod fetcher;
mod generation;
mod group;
mod lookups;
mod metrics;
pub mod partition_state;
mod pattern;
mod positioning;
mod purpose;
mod record;
mod requests;
mod reset_strategy;
mod shared;
mod subscribing;
mod subscription;
#[cfg(test)]
mod tests;

use std::sync::Arc;

pub use config::{ConsumerConfig, GroupConfig, IsolationLevel};
pub use error::ConsumerError;
pub use event::{CommitId, ConsumerEvent, QueryId, Rebalance};
pub use pattern::TopicPattern;
pub use record::{ConsumerRecord, OffsetAndMetadata, OffsetAndTimestamp};
pub use reset_strategy::{EARLIEST_TIMESTAMP, LATEST_TIMESTAMP, ResetStrategy};

pub use group::LeaveBy;

use closing::Life;
use fetcher::Fetcher;
use group::Group;
use lookups::Lookups;
use purpose::Purpose;
use shared::Shared;

use crate::client::measure::Metric;
use crate::client::network::Answer;
use crate::client::{ClientCx, ClientInput, NetworkClient};
use crate::ordered::OrderedSet;
use crate::record::Decompress;
use crate::trace::Timer;
use crate::types::Millis;

/// Requests to one node at once, as in Java.
const MAX_IN_FLIGHT: u32 = 100;
/// What one part does may give another something to do; but not for ever within one call.
const MOST_ROUNDS: u32 = 50;

/// Whether the application is told of partitions before they change (`ConsumerRebalanceListener`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RebalanceListener {
    /// They just change; the events say so afterwards.
    Absent,
    /// Each change waits for [`Consumer::confirm_rebalance`].
    Present,
}

/// See the [module](self).
#[derive(Clone, Debug)]
pub struct Consumer {
    shared: Shared,
    lookups: Lookups,
    /// `None`: without `group.id`.
    group: Option<Group>,
    life: Life,
    /// Partitions are being given up, and then the subscription.
    unsubscribing: bool,
    next_query: QueryId,
    /// Answers to metadata requests that were looked at.
    seen_updates: u64,
    /// The topics that metadata was last told to want.
    wanted: Option<OrderedSet<Arc<str>>>,
    due: Option<Millis>,
}

impl Consumer {
    /// A consumer that reads nothing yet. `decompress`: the decoders of the host.
    pub fn new(config: ConsumerConfig, decompress: &'static dyn Decompress) -> Self {
        let net = NetworkClient::new(&config.client, MAX_IN_FLIGHT, config.allow_auto_create_topics);
        let fetcher = Fetcher::new(&config, decompress);
        let group = config.group.as_ref().and_then(|group| Group::new(&config, group));
        Self {
            shared: Shared::new(Arc::new(config), net, fetcher),
            lookups: Lookups::default(),
            group,
            life: Life::Open,
            unsubscribing: false,
            next_query: 0,
            seen_updates: 0,
            wanted: None,
            due: None,
        }
    }

    pub fn config(&self) -> &ConsumerConfig {
        &self.shared.config
    }

    // ---- the group

    /// The application knows what the last [`Rebalance`] said, and has done what it wanted to do before.
    pub fn confirm_rebalance(&mut self, cx: &mut ClientCx) {
        if let Some(group) = &mut self.group {
            group.confirmed(&mut self.shared, cx);
            self.go_on(cx);
        }
    }

    /// Member id and generation; the id is empty and the generation -1 while there is none.
    pub fn membership(&self) -> (&str, i32) {
        self.group.as_ref().map_or(("", -1), Group::membership)
    }

    /// Whether it has taken its share of the group's present generation, as far as it knows.
    pub fn is_stable(&self) -> bool {
        self.group
            .as_ref()
            .is_some_and(|group| group.is_stable() && !group.awaits_confirmation())
    }

    // ---- records

    /// The next records, at most `max.poll.records`. When there are none the application is polling from
    /// now on: come again when [`has_records`](Self::has_records) says so.
    pub fn poll(&mut self, cx: &mut ClientCx) -> Vec<ConsumerRecord> {
        if self.life != Life::Open {
            self.shared.fail(cx, ConsumerError::Closed);
            return Vec::new();
        }
        if self.shared.subscriptions.is_none() {
            self.shared.fail(cx, ConsumerError::NotSubscribed);
            return Vec::new();
        }
        self.keep_polling(cx);
        if self.group.as_ref().is_some_and(Group::awaits_confirmation) {
            return Vec::new();
        }
        let most = self.shared.config.max_poll_records;
        let Shared {
            fetcher,
            subscriptions,
            ..
        } = &mut self.shared;
        match fetcher.collect(cx, subscriptions, most) {
            Ok(records) if records.is_empty() => {}
            Ok(records) => {
                self.shared.polling = false;
                // The next fetch is under way while the application works.
                self.go_on(cx);
                return records;
            }
            Err(error) => self.shared.fail(cx, error),
        }
        self.go_on(cx);
        Vec::new()
    }

    /// What a poll does before it looks for records: a member joins, gives up and takes partitions, look-ups go
    /// on. For an application that polls and is given an event first: without this, one that always finds an
    /// event would never poll.
    pub fn keep_polling(&mut self, cx: &mut ClientCx) {
        if self.life != Life::Open || self.shared.subscriptions.is_none() {
            return;
        }
        self.shared.polling = true;
        self.lookups.polled();
        for (_, state) in self.shared.subscriptions.states_mut() {
            state.awaits_poll = false;
        }
        self.go_on(cx);
    }

    /// What is measured of fetches, under Kafka's names.
    pub fn metrics(&self, now: Millis) -> Vec<Metric> {
        self.shared
            .fetcher
            .metrics(&self.shared.config.client.client_id, now)
    }

    /// Whether a poll would return records now.
    pub fn has_records(&self) -> bool {
        self.shared.fetcher.has_records(&self.shared.subscriptions)
    }

    // ---- the host

    /// Takes in what happened.
    pub fn handle(&mut self, cx: &mut ClientCx, input: &ClientInput) {
        if matches!(input, ClientInput::Tick) && self.shared.wake().is_some_and(|at| at <= cx.now) {
            cx.timer_due(Timer::Consumer, self.shared.last);
        }
        for answer in self.shared.net.handle(cx, input) {
            self.answered(cx, answer);
        }
        self.go_on(cx);
    }

    /// When to call [`handle`](Self::handle) with a tick.
    pub fn poll_timeout(&self) -> Option<Millis> {
        self.due
    }

    pub fn next_event(&mut self) -> Option<ConsumerEvent> {
        self.shared.events.pop_front()
    }

    fn answered(&mut self, cx: &mut ClientCx, answer: Answer<Purpose>) {
        let (shared, result) = (&mut self.shared, answer.result);
        match answer.purpose {
            Purpose::Fetch { node } => {
                let from = (node, answer.sent_ms);
                let Shared {
                    net,
                    subscriptions,
                    fetcher,
                    ..
                } = shared;
                for error in fetcher.answered(cx, net, subscriptions, from, result) {
                    shared.fail(cx, error);
                }
            }
            Purpose::CloseSession => {}
            Purpose::Reset { asked } => self.lookups.reset_answered(shared, cx, &asked, result),
            Purpose::Validate { asked } => self.lookups.validate_answered(shared, cx, &asked, result),
            Purpose::Query { id, asked } => self.lookups.query_answered(shared, cx, id, &asked, result),
            purpose => {
                if let Some(group) = &mut self.group {
                    let answer = Answer {
                        purpose,
                        result,
                        node: answer.node,
                        version: answer.version,
                        sent_ms: answer.sent_ms,
                    };
                    group.answered(shared, cx, answer);
                }
            }
        }
    }

    /// Does everything that can be done now.
    fn go_on(&mut self, cx: &mut ClientCx) {
        if self.life == Life::Closed {
            self.due = None;
            return;
        }
        for _ in 0..MOST_ROUNDS {
            self.shared.take_wake();
            self.shared.again = false;
            self.round(cx);
            for answer in std::mem::take(&mut self.shared.answers) {
                self.shared.again = true;
                self.answered(cx, answer);
            }
            if !self.shared.again {
                break;
            }
        }
        let shared = &mut self.shared;
        shared.last = cx.cause;
        let again = shared.again.then_some(cx.now);
        let net = shared.net.next_timeout(cx.now);
        self.due = again.into_iter().chain(shared.wake()).chain(net).min();
    }

    fn round(&mut self, cx: &mut ClientCx) {
        self.want_topics(cx);
        self.see_metadata();
        let is_closing = self.life != Life::Open || self.unsubscribing;
        let shared = &mut self.shared;
        if let Some(group) = &mut self.group {
            group.run(shared, cx, is_closing);
        }
        self.end(cx);
        let shared = &mut self.shared;
        if !is_closing {
            self.lookups.reset_initializing(shared, cx);
            self.lookups.run(shared, cx);
            let Shared {
                net,
                subscriptions,
                fetcher,
                ..
            } = shared;
            if let Some(at) = fetcher.send(cx, net, subscriptions) {
                shared.wake_at(at);
            }
        }
        shared.net.update_metadata(cx);
    }

    /// Says which topics must be known, if they are others than before.
    fn want_topics(&mut self, cx: &mut ClientCx) {
        let shared = &mut self.shared;
        if shared.subscriptions.pattern().is_some() {
            self.wanted = None;
            return shared.net.metadata.want_all(cx.cause);
        }
        let mut topics = shared.subscriptions.metadata_topics();
        topics.extend(self.lookups.topics());
        if self.wanted.as_ref() != Some(&topics) {
            shared.net.metadata.want_only(topics.iter().cloned(), cx.cause);
            self.wanted = Some(topics);
        }
    }

    /// After each answer to a metadata request: leaders may have changed.
    fn see_metadata(&mut self) {
        let shared = &mut self.shared;
        let updates = shared.net.metadata.updates();
        if std::mem::replace(&mut self.seen_updates, updates) == updates {
            return;
        }
        let Shared {
            net, subscriptions, ..
        } = shared;
        for (partition, state) in subscriptions.states_mut() {
            state.see_leader(shared::leader_of(net, partition));
        }
        self.match_pattern();
    }

    /// Subscribes to the topics that match the pattern, if there is one.
    fn match_pattern(&mut self) {
        let Shared {
            net,
            subscriptions,
            config,
            ..
        } = &mut self.shared;
        let Some(pattern) = subscriptions.pattern() else {
            return;
        };
        let topics = net.metadata.topics();
        let topics = topics.filter(|(name, topic)| {
            pattern.matches(name) && !(config.exclude_internal_topics && topic.internal)
        });
        let topics = topics.map(|(name, _)| name.clone()).collect();
        subscriptions.subscribe_from_pattern(topics);
    }
}
