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
//! Reading order: [`config`]; [`partition_state`] how far it is in one partition, `subscription` in all;
//! `lookups` offsets that leaders know; `completed_fetch` and `fetcher` records on their way;
//! `group` what it does as one of many, [`assignor`] who gets what; `shared` and `purpose` are what these parts have in common.
//!
//! Invariants
//! - a record is returned at most once as long as nobody seeks and no partition is given up
//! - only what was returned is committed by itself
//! - partitions change only while the application polls, and with a listener only after it confirmed

pub mod assignor;
mod completed_fetch;
pub mod config;
mod error;
mod event;
mod fetcher;
mod generation;
mod group;
mod lookups;
pub mod partition_state;
mod pattern;
mod purpose;
mod record;
mod requests;
mod reset_strategy;
mod shared;
mod subscription;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

pub use config::{ConsumerConfig, GroupConfig, IsolationLevel};
pub use error::ConsumerError;
pub use event::{CommitId, ConsumerEvent, QueryId, Rebalance};
pub use pattern::TopicPattern;
pub use record::{ConsumerRecord, OffsetAndMetadata, OffsetAndTimestamp};
pub use reset_strategy::{EARLIEST_TIMESTAMP, LATEST_TIMESTAMP, ResetStrategy};

pub use group::LeaveBy;

use fetcher::Fetcher;
use group::Group;
use lookups::Lookups;
use partition_state::FetchPosition;
use purpose::Purpose;
use shared::Shared;

use crate::client::network::Answer;
use crate::client::{ClientCx, ClientInput, NetworkClient};
use crate::record::Decompress;
use crate::trace::{CommitReason, ConsumerFact, PositionReason, Timer};
use crate::types::{Millis, Offset, TopicPartition};

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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Life {
    Open,
    /// The last offsets are being committed.
    Committing {
        due_ms: Millis,
    },
    /// Partitions are being given up.
    Leaving {
        due_ms: Millis,
    },
    /// The coordinator is being told.
    Ending {
        due_ms: Millis,
    },
    Closed,
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
    wanted: Option<BTreeSet<Arc<str>>>,
    due: Option<Millis>,
}

impl Consumer {
    /// A consumer that reads nothing yet. `decompress`: the decoders of the host.
    pub fn new(config: ConsumerConfig, decompress: &'static dyn Decompress) -> Self {
        let net = NetworkClient::new(&config.client, MAX_IN_FLIGHT, config.allow_auto_create_topics);
        let fetcher = Fetcher::new(&config, decompress);
        let group = config.group.as_ref().map(|group| Group::new(&config, group));
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

    // ---- what is read

    /// Reads these topics, as one of the group. In place of the topics before; none is like
    /// [`unsubscribe`](Self::unsubscribe).
    ///
    /// # Errors
    /// There is no group, a name is empty, or the consumer reads by pattern or by hand.
    pub fn subscribe(
        &mut self,
        cx: &mut ClientCx,
        topics: BTreeSet<Arc<str>>,
        listener: RebalanceListener,
    ) -> Result<(), ConsumerError> {
        self.check_open()?;
        let group = self.group.as_mut().ok_or(ConsumerError::NoGroup)?;
        if topics.is_empty() {
            return self.unsubscribe(cx);
        }
        if let Some(topic) = topics.iter().find(|topic| topic.trim().is_empty()) {
            return Err(ConsumerError::InvalidTopic {
                topic: topic.to_string(),
            });
        }
        let names: Vec<String> = topics.iter().map(|topic| topic.to_string()).collect();
        self.shared.subscriptions.subscribe(topics)?;
        group.has_listener = listener == RebalanceListener::Present;
        self.shared
            .emit(cx, || ConsumerFact::Subscribed { topics: names });
        self.go_on(cx);
        Ok(())
    }

    /// Reads every topic whose whole name matches, also those that come later.
    ///
    /// # Errors
    /// There is no group, or the consumer reads by name or by hand.
    pub fn subscribe_pattern(
        &mut self,
        cx: &mut ClientCx,
        pattern: TopicPattern,
        listener: RebalanceListener,
    ) -> Result<(), ConsumerError> {
        self.check_open()?;
        let group = self.group.as_mut().ok_or(ConsumerError::NoGroup)?;
        let topics = vec![pattern.as_str().to_owned()];
        self.shared.subscriptions.subscribe_pattern(pattern)?;
        group.has_listener = listener == RebalanceListener::Present;
        self.shared.emit(cx, || ConsumerFact::Subscribed { topics });
        self.shared.net.metadata.want_all(cx.cause);
        self.match_pattern();
        self.go_on(cx);
        Ok(())
    }

    /// Gives everything up and leaves the group.
    ///
    /// # Errors
    /// The consumer is closed.
    pub fn unsubscribe(&mut self, cx: &mut ClientCx) -> Result<(), ConsumerError> {
        self.check_open()?;
        self.unsubscribing = true;
        if let Some(group) = &mut self.group {
            group.begin_leaving(&mut self.shared, cx, "the consumer unsubscribed from all topics");
        }
        self.go_on(cx);
        Ok(())
    }

    /// The topics that are read, by name or by pattern.
    pub fn subscription(&self) -> BTreeSet<Arc<str>> {
        match self.shared.subscriptions.is_by_group() {
            true => self.shared.subscriptions.topics().clone(),
            false => BTreeSet::new(),
        }
    }

    /// Takes these partitions, and no others, without a group.
    ///
    /// # Errors
    /// The consumer is subscribed to topics.
    pub fn assign(
        &mut self,
        cx: &mut ClientCx,
        partitions: BTreeSet<TopicPartition>,
    ) -> Result<(), ConsumerError> {
        self.check_open()?;
        self.shared.subscriptions.assign_by_hand(partitions)?;
        let Shared {
            fetcher,
            subscriptions,
            ..
        } = &mut self.shared;
        fetcher.retain_assigned(subscriptions);
        self.go_on(cx);
        Ok(())
    }

    pub fn assignment(&self) -> BTreeSet<TopicPartition> {
        self.shared.subscriptions.assigned()
    }

    // ---- positions

    /// Goes on from that offset. With the epoch of the record before it, if that is known, a log that was
    /// cut since is noticed.
    ///
    /// # Errors
    /// The partition is not assigned, or the offset negative.
    pub fn seek(
        &mut self,
        cx: &mut ClientCx,
        partition: &TopicPartition,
        to: &OffsetAndMetadata,
    ) -> Result<(), ConsumerError> {
        if to.offset < 0 {
            return Err(ConsumerError::NegativeOffset { offset: to.offset });
        }
        let position = FetchPosition {
            offset: to.offset,
            offset_epoch: to.leader_epoch,
            current_leader: self.shared.leader(partition),
        };
        self.shared
            .subscriptions
            .assigned_mut(partition)?
            .seek_unvalidated(position);
        if let Some(epoch) = to.leader_epoch {
            self.shared.net.metadata.saw_epoch(partition, epoch, cx.cause);
        }
        self.shared.emit(cx, || ConsumerFact::PositionSet {
            partition: partition.clone(),
            offset: to.offset,
            why: PositionReason::Seek,
        });
        self.go_on(cx);
        Ok(())
    }

    /// Goes on where that strategy says (`seekToBeginning`, `seekToEnd`), once the leader has told.
    ///
    /// # Errors
    /// One of them is not assigned.
    pub fn seek_to(
        &mut self,
        cx: &mut ClientCx,
        partitions: &[TopicPartition],
        strategy: ResetStrategy,
    ) -> Result<(), ConsumerError> {
        for partition in partitions {
            self.shared.subscriptions.assigned_mut(partition)?.reset(strategy);
        }
        self.go_on(cx);
        Ok(())
    }

    /// Next to be read; `None` while that is not known, or being checked.
    pub fn position(&self, partition: &TopicPartition) -> Option<Offset> {
        let state = self.shared.subscriptions.get(partition)?;
        state.valid_position().map(|position| position.offset)
    }

    /// How many records are left to be read, as far as the last fetch told.
    pub fn lag(&self, partition: &TopicPartition) -> Option<i64> {
        let state = self.shared.subscriptions.get(partition)?;
        let end = match self.shared.config.isolation_level {
            IsolationLevel::ReadUncommitted => state.high_watermark,
            IsolationLevel::ReadCommitted => state.last_stable_offset,
        };
        Some(end? - state.position()?.offset)
    }

    /// Returns nothing of these until they are resumed. They stay assigned.
    ///
    /// # Errors
    /// One of them is not assigned.
    pub fn pause(&mut self, partitions: &[TopicPartition]) -> Result<(), ConsumerError> {
        self.set_paused(partitions, true)
    }

    /// # Errors
    /// One of them is not assigned.
    pub fn resume(&mut self, cx: &mut ClientCx, partitions: &[TopicPartition]) -> Result<(), ConsumerError> {
        self.set_paused(partitions, false)?;
        self.go_on(cx);
        Ok(())
    }

    fn set_paused(&mut self, partitions: &[TopicPartition], paused: bool) -> Result<(), ConsumerError> {
        for partition in partitions {
            self.shared.subscriptions.assigned_mut(partition)?.paused = paused;
        }
        Ok(())
    }

    pub fn paused(&self) -> BTreeSet<TopicPartition> {
        let states = self.shared.subscriptions.states();
        let paused = states.filter(|(_, state)| state.paused);
        paused.map(|(partition, _)| partition.clone()).collect()
    }

    // ---- offsets that leaders know

    /// For each partition the first record whose time is not before the one given. The answer is an event.
    ///
    /// # Errors
    /// A time is negative.
    pub fn offsets_for_times(
        &mut self,
        cx: &mut ClientCx,
        times: BTreeMap<TopicPartition, Millis>,
    ) -> Result<QueryId, ConsumerError> {
        match times.values().find(|time| **time < 0) {
            Some(time) => Err(ConsumerError::NegativeTimestamp { timestamp: *time }),
            None => Ok(self.look_up(cx, times)),
        }
    }

    /// The log start offsets. The answer is an event.
    pub fn beginning_offsets(&mut self, cx: &mut ClientCx, partitions: &[TopicPartition]) -> QueryId {
        self.look_up(cx, ends(partitions, EARLIEST_TIMESTAMP))
    }

    /// The high watermarks, or with `read_committed` the last stable offsets. The answer is an event.
    pub fn end_offsets(&mut self, cx: &mut ClientCx, partitions: &[TopicPartition]) -> QueryId {
        self.look_up(cx, ends(partitions, LATEST_TIMESTAMP))
    }

    fn look_up(&mut self, cx: &mut ClientCx, asked: BTreeMap<TopicPartition, Millis>) -> QueryId {
        self.next_query += 1;
        let due_ms = cx.now + self.shared.config.default_api_timeout_ms;
        self.lookups.ask(self.next_query, asked, due_ms);
        self.go_on(cx);
        self.next_query
    }

    // ---- commits

    /// Commits these offsets, or with `None` what was returned so far, and tries again until it is done or
    /// `default.api.timeout.ms` is over. The outcome is an event.
    ///
    /// # Errors
    /// There is no group, or an offset is negative.
    pub fn commit_sync(
        &mut self,
        cx: &mut ClientCx,
        offsets: Option<BTreeMap<TopicPartition, OffsetAndMetadata>>,
    ) -> Result<CommitId, ConsumerError> {
        self.commit(cx, offsets, CommitReason::Sync)
    }

    /// The same, tried once: the next commit covers what this one could not. The outcome is an event.
    ///
    /// # Errors
    /// There is no group, or an offset is negative.
    pub fn commit_async(
        &mut self,
        cx: &mut ClientCx,
        offsets: Option<BTreeMap<TopicPartition, OffsetAndMetadata>>,
    ) -> Result<CommitId, ConsumerError> {
        self.commit(cx, offsets, CommitReason::Async)
    }

    fn commit(
        &mut self,
        cx: &mut ClientCx,
        offsets: Option<BTreeMap<TopicPartition, OffsetAndMetadata>>,
        reason: CommitReason,
    ) -> Result<CommitId, ConsumerError> {
        self.check_open()?;
        let group = self.group.as_mut().ok_or(ConsumerError::NoGroup)?;
        let offsets = offsets.unwrap_or_else(|| self.shared.subscriptions.all_consumed());
        if let Some(negative) = offsets.values().find(|offset| offset.offset < 0) {
            return Err(ConsumerError::NegativeOffset {
                offset: negative.offset,
            });
        }
        let due_ms = cx.now + self.shared.config.default_api_timeout_ms;
        let id = group.commit(offsets, reason, due_ms);
        self.go_on(cx);
        Ok(id)
    }

    /// The offsets that the group committed. The answer is an event.
    ///
    /// # Errors
    /// There is no group.
    pub fn committed(
        &mut self,
        cx: &mut ClientCx,
        partitions: BTreeSet<TopicPartition>,
    ) -> Result<QueryId, ConsumerError> {
        self.check_open()?;
        let group = self.group.as_mut().ok_or(ConsumerError::NoGroup)?;
        self.next_query += 1;
        let due_ms = cx.now + self.shared.config.default_api_timeout_ms;
        group.ask_committed(self.next_query, partitions, due_ms);
        self.go_on(cx);
        Ok(self.next_query)
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

    // ---- the end

    /// Commits what was returned (with auto-commit), gives everything up and leaves the group, within that
    /// time; [`ConsumerEvent::Closed`] says when it is done.
    pub fn close(&mut self, cx: &mut ClientCx, timeout_ms: Millis, leave_by: LeaveBy) {
        if self.life != Life::Open {
            return;
        }
        let due_ms = cx.now.saturating_add(timeout_ms);
        self.life = Life::Committing { due_ms };
        self.shared.polling = false;
        if let Some(group) = &mut self.group {
            group.leave_by = leave_by;
            let offsets = self.shared.subscriptions.all_consumed();
            if group.config.auto_commit && !offsets.is_empty() {
                group.commit(offsets, CommitReason::Close, due_ms);
            }
        }
        self.go_on(cx);
    }

    pub fn is_closed(&self) -> bool {
        self.life == Life::Closed
    }

    fn check_open(&self) -> Result<(), ConsumerError> {
        match self.life {
            Life::Open => Ok(()),
            _ => Err(ConsumerError::Closed),
        }
    }

    /// What is due of closing or unsubscribing.
    fn end(&mut self, cx: &mut ClientCx) {
        let has_left = self.group.as_ref().is_none_or(|group| group.left);
        if self.unsubscribing && has_left {
            self.unsubscribing = false;
            self.shared.subscriptions.unsubscribe();
            self.shared.polling = false;
            self.shared.again = true;
            if let Some(group) = &mut self.group {
                group.forget_subscription();
            }
            self.shared.emit(cx, || ConsumerFact::Unsubscribed);
        }
        let is_over = |due_ms: Millis| due_ms <= cx.now;
        self.life = match self.life {
            Life::Committing { due_ms } => {
                let waits = self.group.as_ref().is_some_and(Group::has_commits);
                if waits && !is_over(due_ms) {
                    self.shared.wake_at(due_ms);
                    return;
                }
                if let Some(group) = &mut self.group {
                    group.begin_leaving(&mut self.shared, cx, "the consumer is being closed");
                }
                Life::Leaving { due_ms }
            }
            Life::Leaving { due_ms } if has_left => {
                let Shared { net, fetcher, .. } = &mut self.shared;
                fetcher.close(cx, net);
                Life::Ending { due_ms }
            }
            Life::Ending { due_ms } => {
                let waits = self.group.as_ref().is_some_and(Group::is_leaving);
                if waits && !is_over(due_ms) {
                    self.shared.wake_at(due_ms);
                    return;
                }
                self.shared.emit(cx, || ConsumerFact::Closed);
                self.shared.events.push_back(ConsumerEvent::Closed);
                Life::Closed
            }
            Life::Open | Life::Leaving { .. } | Life::Closed => return,
        };
        self.shared.again = true;
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
        self.shared.polling = true;
        self.lookups.polled();
        for (_, state) in self.shared.subscriptions.states_mut() {
            state.awaits_poll = false;
        }
        self.go_on(cx);
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
                let Shared {
                    net,
                    subscriptions,
                    fetcher,
                    ..
                } = shared;
                for error in fetcher.answered(cx, net, subscriptions, node, result) {
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

fn ends(partitions: &[TopicPartition], timestamp: Millis) -> BTreeMap<TopicPartition, Millis> {
    partitions
        .iter()
        .map(|partition| (partition.clone(), timestamp))
        .collect()
}
