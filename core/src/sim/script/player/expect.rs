//! What a script says must hold.

use super::{Player, tell};
use crate::sim::invariants::named;
use crate::sim::script::command::Expectation;
use crate::sim::script::pattern::Pattern;
use crate::sim::world::World;
use crate::sim::world::client::{Producer, Role};
use crate::trace::NodeId;
use crate::types::{BrokerId, Offset, TopicPartition};
use crate::view::RoleView;

impl Player {
    pub(super) fn expect(&mut self, expectation: &Expectation) -> Result<(), String> {
        match expectation {
            Expectation::Broken(name, step) => self.expect_broken(name, step.as_ref()),
            Expectation::Fact(wanted) => self.expect_fact(wanted, true),
            Expectation::NoFact(wanted) => self.expect_fact(wanted, false),
            Expectation::Leader(partition, leader) => {
                let expected = leader.as_ref().map(|leader| self.broker(leader)).transpose()?;
                same(
                    "the leader",
                    expected.as_ref(),
                    self.view.leader(partition).as_ref(),
                )
            }
            Expectation::Isr(partition, isr) => {
                let mut expected = isr.clone();
                expected.sort_unstable();
                same("the ISR", Some(&expected), self.isr(partition).as_ref())
            }
            Expectation::HighWatermark(broker, partition, offset) => {
                let id = self.broker(broker)?;
                let replica = self.view.replica(id, partition);
                same(
                    "the high watermark",
                    Some(offset),
                    replica.map(|replica| &replica.high_watermark),
                )
            }
            Expectation::LogEnd(broker, partition, offset) => {
                let id = self.broker(broker)?;
                let replica = self.view.replica(id, partition);
                same(
                    "the log end",
                    Some(offset),
                    replica.map(|replica| &replica.log_end),
                )
            }
            Expectation::Controller(expected) => {
                let found = self.world.as_ref().and_then(World::controller);
                same("the controller", expected.as_ref(), found.as_ref())
            }
            Expectation::Acknowledged(name, count) => same(
                "the records acknowledged",
                Some(count),
                self.counted(name, |p| p.acknowledged)?.as_ref(),
            ),
            Expectation::Failed(name, count) => same(
                "the records given up",
                Some(count),
                self.counted(name, |p| p.failed)?.as_ref(),
            ),
            Expectation::Position(name, offset) => {
                same("the position", Some(offset), self.position(name)?.as_ref())
            }
        }
    }

    /// The invariant, and no other before it, broke in the last command, in a step that has such a fact.
    pub(super) fn expect_broken(&mut self, name: &str, step: Option<&Pattern>) -> Result<(), String> {
        if named(name).is_none() {
            return Err(format!("there is no invariant {name}"));
        }
        if self.broke.is_none() {
            self.look_at_everything();
        }
        let Some(broke) = self.broke.take() else {
            return Err(format!("{name} did not break"));
        };
        if broke.broken.invariant.name != name {
            return Err(format!("another invariant broke: {}", broke.broken));
        }
        let trace = self.world.as_ref().map(World::trace);
        let facts = || broke.facts.clone().filter_map(|at| trace?.get(at));
        if let Some(wanted) = step
            && !facts().any(|event| wanted.matches(event))
        {
            let facts: Vec<String> = facts().map(tell).collect();
            return Err(format!(
                "{name} broke at step {}, which has no {wanted}, but: {}",
                broke.step,
                facts.join("; ")
            ));
        }
        self.has_broken = true;
        self.output
            .push(format!("broken at step {}: {}", broke.step, broke.broken.why));
        Ok(())
    }

    pub(super) fn expect_fact(&self, wanted: &Pattern, is_there: bool) -> Result<(), String> {
        let world = self.world.as_ref().ok_or("nothing has happened yet")?;
        let found = world
            .trace()
            .since(self.since)
            .find(|event| wanted.matches(event));
        match found {
            Some(_) if is_there => Ok(()),
            None if !is_there => Ok(()),
            Some(event) => Err(format!("there was {}", tell(event))),
            None => Err(format!("there was no {wanted}")),
        }
    }

    pub(super) fn isr(&self, partition: &TopicPartition) -> Option<Vec<BrokerId>> {
        let leader = self.view.leader(partition)?;
        match &self.view.replica(leader, partition)?.role {
            RoleView::Leader { isr } => {
                let mut isr = isr.clone();
                isr.sort_unstable();
                Some(isr)
            }
            _ => None,
        }
    }

    /// Of the producer of that name, or of all that have none.
    pub(super) fn counted(
        &self,
        name: &str,
        count: impl Fn(&Producer) -> u64,
    ) -> Result<Option<u64>, String> {
        let world = self.world.as_ref().ok_or("nothing has happened yet")?;
        let of = |id: NodeId| match world.client(id).map(|client| &client.role) {
            Some(Role::Producer(producer)) => Some(count(producer)),
            _ => None,
        };
        if name == "all" {
            return Ok(Some(self.clients.values().filter_map(|&id| of(id)).sum()));
        }
        Ok(of(self.client(name)?))
    }

    pub(super) fn position(&self, name: &str) -> Result<Option<Offset>, String> {
        let world = self.world.as_ref().ok_or("nothing has happened yet")?;
        Ok(
            match world.client(self.client(name)?).map(|client| &client.role) {
                Some(Role::Consumer(consumer)) => Some(consumer.position),
                _ => None,
            },
        )
    }
}

fn same<T: PartialEq + std::fmt::Debug>(
    what: &str,
    expected: Option<&T>,
    found: Option<&T>,
) -> Result<(), String> {
    if expected == found {
        return Ok(());
    }
    let show = |value: Option<&T>| value.map_or("none".to_owned(), |value| format!("{value:?}"));
    Err(format!("{what} is {}, not {}", show(found), show(expected)))
}
