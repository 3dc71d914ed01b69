//! What a script says must hold.

use super::{Player, tell};
use crate::sim::World;
use crate::sim::invariants::named;
use crate::sim::script::command::{Expectation, Wanted};
use crate::sim::script::pattern::Pattern;
use crate::sim::script::query::{NONE, list_in_order};

impl Player {
    pub(super) fn expect(&mut self, expectation: &Expectation) -> Result<(), String> {
        match expectation {
            Expectation::Broken(name, step) => self.expect_broken(name, step.as_ref()),
            Expectation::Fact(wanted) => self.expect_fact(wanted, true),
            Expectation::NoFact(wanted) => self.expect_fact(wanted, false),
            Expectation::Is(query, wanted) => {
                let sight = self.sight()?;
                let wanted = match wanted {
                    Wanted::None => NONE.to_owned(),
                    Wanted::Number(number) => number.to_string(),
                    Wanted::Broker(broker) => sight.broker(broker)?.to_string(),
                    Wanted::Brokers(brokers) => list_in_order(brokers),
                };
                let found = sight.answer(query)?;
                if found == wanted {
                    return Ok(());
                }
                Err(format!("{} is {found}, not {wanted}", query.subject()))
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
}
