//! Elections that somebody asks for: a client, a tool, or the balance of leaders.

use super::balance::Tally;
use super::partition_state::PartitionState;
use super::passes::PassFor;
use super::{Controller, Level};
use crate::cx::Cx;
use crate::error::{ErrorCode, Refused};
use crate::metadata::nodes;
use crate::ordered::OrderedMap;
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

impl Controller {
    /// Elects leaders of these partitions, or of all (`None`); each with what came of it.
    pub fn elect_leaders(
        &mut self,
        cx: &mut Cx,
        kind: ElectionKind,
        partitions: Option<Vec<TopicPartition>>,
    ) -> OrderedMap<TopicPartition, Result<(), Refused>> {
        let partitions =
            partitions.unwrap_or_else(|| self.partitions_where(|_, partition| partition.has_state()));
        let results = partitions.into_iter().map(|name| {
            let result = self.elect_leader(cx, kind, &name);
            (name, result)
        });
        results.collect()
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
                for (name, result) in self.elect_leaders(cx, ElectionKind::Preferred, Some(wish.partitions)) {
                    match result {
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
