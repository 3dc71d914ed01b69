//! Elections that somebody asks for: a client, a tool, or the balance of leaders.

use std::collections::VecDeque;

use super::balance::Tally;
use super::partition_state::PartitionState;
use super::passes::PassFor;
use super::{CallerToken, Controller, Level};
use crate::cx::Cx;
use crate::error::{ErrorCode, Refused};
use crate::metadata::{PartitionImage, nodes};
use crate::ordered::OrderedMap;
use crate::protocol::StrBytes;
use crate::protocol::messages::elect_leaders_response::{PartitionResult, ReplicaElectionResult};
use crate::protocol::messages::{ElectLeadersResponse, message};
use crate::trace::ElectionReason;
use crate::types::{Millis, TopicPartition};

/// What is asked for (`ElectionType`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ElectionKind {
    /// The preferred replica shall lead.
    Preferred,
    /// Somebody shall lead, in sync or not, where nobody does.
    Unclean,
}

impl ElectionKind {
    pub fn from_wire(number: i8) -> Option<Self> {
        match number {
            0 => Some(Self::Preferred),
            1 => Some(Self::Unclean),
            _ => None,
        }
    }
}

/// Elections of a client under way.
#[derive(Clone, Debug)]
pub(super) struct ElectionPass {
    pub caller: CallerToken,
    kind: ElectionKind,
    /// No partition is named: all are meant.
    pub all: bool,
    /// Those that are named and not decided yet.
    left: VecDeque<TopicPartition>,
    results: OrderedMap<TopicPartition, Result<(), Refused>>,
}

/// What came of elections, as a client hears it.
pub fn elections_answer(results: OrderedMap<TopicPartition, Result<(), Refused>>) -> ElectLeadersResponse {
    let mut topics: Vec<ReplicaElectionResult> = Vec::new();
    for (name, result) in results {
        let row = message(|row: &mut PartitionResult| {
            row.partition_id = name.partition;
            let refused = result.as_ref().err();
            row.error_code = refused.map_or(0, |refused| refused.code.code());
            row.error_message = refused.and_then(|refused| refused.message.as_deref().map(StrBytes::from));
        });
        match topics.last_mut() {
            Some(topic) if *topic.topic == *name.topic => topic.partition_result.push(row),
            _ => topics.push(message(|topic: &mut ReplicaElectionResult| {
                topic.topic = StrBytes::from(&*name.topic);
                topic.partition_result = vec![row];
            })),
        }
    }
    message(|answer: &mut ElectLeadersResponse| answer.replica_election_results = topics)
}

impl Controller {
    /// Elects leaders of these partitions, or of all (`None`), and answers what came of each.
    pub fn elect_leaders(
        &mut self,
        cx: &mut Cx,
        caller: CallerToken,
        kind: ElectionKind,
        named: Option<Vec<TopicPartition>>,
    ) {
        let elections = ElectionPass {
            caller,
            kind,
            all: named.is_none(),
            left: named.unwrap_or_default().into(),
            results: OrderedMap::new(),
        };
        self.ask_for_pass(cx, PassFor::ElectFor(elections));
        self.work(cx);
    }

    /// The next of those that are named, as many as `budget` allows; true when none is left.
    pub(super) fn elect_named(&mut self, cx: &mut Cx, pass: &mut ElectionPass, budget: &mut usize) -> bool {
        let count = pass.left.len().min(*budget);
        *budget -= count;
        for name in pass.left.drain(..count) {
            let result = self.elect_leader(cx, pass.kind, &name);
            pass.results.insert(name, result);
        }
        pass.left.is_empty()
    }

    /// One of all: only what was needed is told.
    pub(super) fn elect_among_all(&mut self, cx: &mut Cx, pass: &mut ElectionPass, name: &TopicPartition) {
        if !self.partition(name).is_some_and(PartitionImage::has_state) {
            return;
        }
        let result = self.elect_leader(cx, pass.kind, name);
        let was_needed = !matches!(&result, Err(refused) if refused.code == ErrorCode::ElectionNotNeeded);
        if was_needed {
            pass.results.insert(name.clone(), result);
        }
    }

    pub(super) fn answer_elections(&mut self, cx: &mut Cx, pass: ElectionPass) {
        self.seal_round(cx);
        self.say_answer(pass.caller, elections_answer(pass.results));
    }

    fn elect_leader(
        &mut self,
        cx: &mut Cx,
        kind: ElectionKind,
        name: &TopicPartition,
    ) -> Result<(), Refused> {
        let unknown = |message: String| Refused::new(ErrorCode::UnknownTopicOrPartition, message);
        let topic = self.image.topic(&name.topic);
        let topic = topic.ok_or_else(|| unknown(format!("No such topic as {}", name.topic)))?;
        let partition = topic
            .partition(name.partition)
            .filter(|partition| partition.has_state());
        let partition = partition.ok_or_else(|| unknown(format!("No such partition as {name}")))?;
        let (is_needed, reason) = match kind {
            ElectionKind::Preferred => (
                partition.replicas.first() != Some(&partition.leader),
                ElectionReason::Preferred,
            ),
            ElectionKind::Unclean => (
                PartitionState::of(Some(partition), |id| self.is_online(id, name)).wants_leader(),
                ElectionReason::Offline,
            ),
        };
        if !is_needed {
            let why = "Leader election not needed for topic partition.";
            return Err(Refused::new(ErrorCode::ElectionNotNeeded, why));
        }
        if self.elect(cx, reason, name, kind == ElectionKind::Unclean) {
            return Ok(());
        }
        Err(match kind {
            ElectionKind::Preferred => Refused::new(
                ErrorCode::PreferredLeaderNotAvailable,
                "The preferred leader was not available.",
            ),
            ElectionKind::Unclean => Refused::new(
                ErrorCode::EligibleLeadersNotAvailable,
                "Eligible topic partition leaders are not available.",
            ),
        })
    }

    /// Elections that a tool wrote to `/admin/preferred_replica_election`.
    pub(super) fn wanted_elections(&mut self, cx: &mut Cx) {
        const PATH: &str = nodes::PREFERRED_REPLICA_ELECTION;
        let wish: Result<Option<nodes::NamedPartitions>, _> = nodes::read(&self.mirror, PATH);
        match wish {
            Ok(Some(wish)) => {
                // No more than one node can name.
                for name in wish.partitions {
                    match self.elect_leader(cx, ElectionKind::Preferred, &name) {
                        Err(why) if why.code != ErrorCode::ElectionNotNeeded => {
                            self.say(
                                Level::Error,
                                format!("{name} is not led by its preferred replica: {why}"),
                            );
                        }
                        _ => {}
                    }
                }
            }
            Ok(None) => {}
            Err(bad) => self.say(Level::Error, bad.to_string()),
        }
        self.take_wish_away(PATH);
    }

    /// Moves leadership back where brokers lead too little of what prefers them.
    pub(super) fn balance_leaders(&mut self, cx: &mut Cx) {
        self.ask_for_pass(cx, PassFor::Balance(Tally::default()));
        let seconds = self.number("leader.imbalance.check.interval.seconds", 300);
        self.schedule_balance(cx, seconds.saturating_mul(1000));
    }

    /// All partitions are counted: which should go back.
    pub(super) fn imbalanced(&self, tally: Tally) -> Vec<TopicPartition> {
        tally.imbalanced(self.number("leader.imbalance.per.broker.percentage", 10))
    }

    /// Lets the preferred leader of the partition lead, if it is fit to.
    pub(super) fn elect_preferred(&mut self, cx: &mut Cx, name: &TopicPartition) {
        let is_fit = self.partition(name).is_some_and(|partition| {
            let preferred = partition.replicas.first().filter(|&&preferred| {
                let is_up = self.is_online(preferred, name) && !self.shutting_down.contains(&preferred);
                is_up && partition.isr.contains(&preferred) && partition.leader != preferred
            });
            preferred.is_some()
        });
        if is_fit {
            self.elect(cx, ElectionReason::Preferred, name, false);
        }
    }

    pub(super) fn schedule_balance(&mut self, cx: &mut Cx, in_ms: Millis) {
        let is_on = self.config.value("auto.leader.rebalance.enable") == Some("true");
        self.balance_at = is_on.then(|| cx.now.saturating_add(in_ms));
    }

    fn number(&self, key: &str, otherwise: i64) -> i64 {
        let set = self.config.value(key).and_then(|value| value.trim().parse().ok());
        set.unwrap_or(otherwise)
    }
}
