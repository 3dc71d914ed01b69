//! What concerns every partition, done in steps.
//!
//! A controller that takes the office over, brokers that are lost, come or want to stop, a directory that
//! failed, a setting under which somebody may lead: each asks for a look at all partitions, a *pass* over
//! the topics by name. The event that asks for it does the first partitions at once, and
//! [`Controller::work`] goes on with the rest, so that nothing else waits for all of it. In a cluster of
//! less than [`PARTITIONS_A_STEP`] partitions everything is done at once.
//!
//! Between two steps other events are decided, on the image as it is then. That is sound since a
//! partition is decided on alone. Only brokers that go and come wait for their turn: who is lost is lost
//! for all partitions before it counts as back, and is told what it holds when all of it is decided.
//!
//! Invariants
//! - a step looks at no more than [`PARTITIONS_A_STEP`] partitions
//! - passes are over in the order in which they were asked for
//! - a broker that came is told nothing before it is told everything

use std::collections::VecDeque;

use super::balance::Tally;
use super::brokers::Registered;
use super::tell::Part;
use super::{CallerToken, Controller};
use crate::cx::Cx;
use crate::ordered::OrderedSet;
use crate::trace::EventId;
use crate::types::{BrokerId, TopicPartition};

/// Partitions that one step looks at, at most; as many as one word to a broker may name.
pub const PARTITIONS_A_STEP: usize = super::tell::MOST_PARTITIONS;

/// Why all partitions are looked at.
#[derive(Clone, Debug)]
pub(super) enum PassFor {
    /// The office was taken: what happened while nobody was in it.
    TakeOver,
    /// Everything is in order, and everybody is told: requests can be served.
    Serve,
    /// These brokers are registered now; no pass, but it waits for its turn.
    Registered(Registered),
    Lost(Vec<BrokerId>),
    Come(Vec<BrokerId>),
    /// The broker wants to stop; what it leads still.
    Leave {
        caller: CallerToken,
        broker: BrokerId,
        remaining: Vec<TopicPartition>,
    },
    /// Somebody may lead now who could not before.
    Elect,
    /// A directory of these brokers has failed: which replicas lay in it is asked.
    DirectoriesFailed(OrderedSet<BrokerId>),
    /// How the leaders are spread.
    Balance(Tally),
    /// These shall go back to their preferred leaders.
    Preferred(VecDeque<TopicPartition>),
    /// The broker has come: it is told of all partitions, then of its own replicas.
    Everything(BrokerId),
    Replicas(BrokerId),
}

/// The passes that are asked for and not over.
#[derive(Clone, Debug)]
pub(super) struct Passes {
    queue: VecDeque<Pass>,
    /// Partitions that one step looks at, at most.
    pub a_step: usize,
}

#[derive(Clone, Debug)]
struct Pass {
    what: PassFor,
    /// The first partition, by name and number, that is not looked at yet.
    next: TopicPartition,
    cause: EventId,
}

impl Pass {
    fn new(what: PassFor, cause: EventId) -> Self {
        Self {
            what,
            next: TopicPartition::new("", 0),
            cause,
        }
    }

    fn has_begun(&self) -> bool {
        !self.next.topic.is_empty()
    }

    fn looked_at(&mut self, names: &[TopicPartition]) {
        if let Some(last) = names.last() {
            self.next = TopicPartition::new(last.topic.clone(), last.partition + 1);
        }
    }
}

impl Default for Passes {
    fn default() -> Self {
        Self {
            queue: VecDeque::new(),
            a_step: PARTITIONS_A_STEP,
        }
    }
}

impl Passes {
    /// Forgets them all; who waits for one of them.
    pub fn abandon(&mut self) -> Vec<CallerToken> {
        let passes = std::mem::take(&mut self.queue).into_iter();
        let waits = passes.filter_map(|pass| match pass.what {
            PassFor::Leave { caller, .. } => Some(caller),
            _ => None,
        });
        waits.collect()
    }
}

impl Controller {
    /// Whether there is something to go on with.
    pub fn has_work(&self) -> bool {
        !self.passes.queue.is_empty()
    }

    /// Goes on with what is long, by one step.
    pub fn work(&mut self, cx: &mut Cx) {
        self.go_on(cx);
        self.seal_round(cx);
        self.release(cx);
    }

    /// Asks for a pass, behind those that were asked for before; the step of this event may begin it.
    pub(super) fn ask_for_pass(&mut self, cx: &Cx, what: PassFor) {
        self.passes.queue.push_back(Pass::new(what, cx.cause));
    }

    /// Before all others, as the rest of the one that is just over.
    pub(super) fn go_on_with(&mut self, cx: &Cx, what: PassFor) {
        self.passes.queue.push_front(Pass::new(what, cx.cause));
    }

    /// One step.
    pub(super) fn go_on(&mut self, cx: &mut Cx) {
        let mut budget = self.passes.a_step;
        while budget > 0
            && let Some(mut pass) = self.passes.queue.pop_front()
        {
            cx.cause = pass.cause;
            if self.pass_step(cx, &mut pass, &mut budget) {
                self.pass_over(cx, pass.what);
            } else {
                pass.cause = cx.cause;
                self.passes.queue.push_front(pass);
            }
        }
    }

    /// Looks at as many partitions as `budget` allows; true when the pass is over.
    fn pass_step(&mut self, cx: &mut Cx, pass: &mut Pass, budget: &mut usize) -> bool {
        match &mut pass.what {
            PassFor::Serve | PassFor::Registered(_) => return true,
            PassFor::Everything(_) | PassFor::Replicas(_) => return self.tell_step(pass, budget),
            PassFor::Preferred(names) => {
                let count = names.len().min(*budget);
                *budget -= count;
                for name in names.drain(..count).collect::<Vec<_>>() {
                    self.elect_preferred(cx, &name);
                }
                return names.is_empty();
            }
            _ => {}
        }
        let names = self.partitions_from(&pass.next, *budget, false);
        let is_over = names.len() < *budget;
        *budget -= names.len();
        pass.looked_at(&names);
        for name in &names {
            self.look_at(cx, &mut pass.what, name);
        }
        is_over
    }

    fn look_at(&mut self, cx: &mut Cx, what: &mut PassFor, name: &TopicPartition) {
        match what {
            PassFor::TakeOver => self.take_over(cx, name),
            PassFor::Lost(lost) => self.replica_lost(cx, name, lost),
            PassFor::Come(come) => self.replica_back(cx, name, come),
            PassFor::Leave {
                broker, remaining, ..
            } => {
                if self.leave_partition(cx, name, *broker) {
                    remaining.push(name.clone());
                }
            }
            PassFor::Elect => self.elect_if_missing(cx, name),
            PassFor::DirectoriesFailed(brokers) => self.ask_what_failed(name, brokers),
            PassFor::Balance(tally) => {
                if let Some(partition) = self.partition(name) {
                    tally.count(name, partition);
                }
            }
            // No looks at all partitions.
            PassFor::Serve
            | PassFor::Registered(_)
            | PassFor::Preferred(_)
            | PassFor::Everything(_)
            | PassFor::Replicas(_) => {}
        }
    }

    /// All partitions were looked at.
    fn pass_over(&mut self, cx: &mut Cx, what: PassFor) {
        match what {
            PassFor::TakeOver => {
                self.taken_over(cx);
                self.go_on_with(cx, PassFor::Serve);
                for broker in self.coming.iter().rev().copied().collect::<Vec<_>>() {
                    self.go_on_with(cx, PassFor::Everything(broker));
                }
            }
            PassFor::Serve => self.serve(cx),
            PassFor::Registered(registered) => {
                let lost = self.lost_among(cx, &registered);
                if lost.is_empty() {
                    self.take_up_registered(cx, registered);
                } else {
                    self.go_on_with(cx, PassFor::Registered(registered));
                    self.brokers_lost(&lost);
                    self.go_on_with(cx, PassFor::Lost(lost));
                }
            }
            PassFor::Lost(lost) => self.loss_decided(cx, &lost),
            PassFor::Come(come) => {
                self.coming_decided(cx, &come);
                for broker in come.into_iter().rev() {
                    self.go_on_with(cx, PassFor::Everything(broker));
                }
            }
            PassFor::Leave {
                caller, remaining, ..
            } => self.answer_leaving(cx, caller, Ok(remaining)),
            PassFor::Balance(tally) => {
                let names = self.imbalanced(tally);
                self.go_on_with(cx, PassFor::Preferred(names.into()));
            }
            PassFor::Elect
            | PassFor::DirectoriesFailed(_)
            | PassFor::Preferred(_)
            | PassFor::Everything(_)
            | PassFor::Replicas(_) => {}
        }
    }

    /// Tells a broker that has come the next part of everything; all of it at once, if that is one step's
    /// work.
    fn tell_step(&mut self, pass: &mut Pass, budget: &mut usize) -> bool {
        let (broker, all) = match pass.what {
            PassFor::Everything(broker) => (broker, true),
            PassFor::Replicas(broker) => (broker, false),
            _ => return true,
        };
        let names = self.partitions_from(&pass.next, budget.saturating_add(1), all);
        let fits = names.len() <= *budget;
        if all && !pass.has_begun() {
            if !fits && *budget < self.passes.a_step {
                // With a whole step it may.
                *budget = 0;
                return false;
            }
            self.begin_to_tell(broker);
            if fits {
                *budget -= names.len();
                self.batch.everything_to(broker);
                return true;
            }
        }
        let names = names.get(..names.len().min(*budget)).unwrap_or_default();
        *budget -= names.len();
        pass.looked_at(names);
        self.batch.part_to(broker, self.part_of(names, broker, all));
        if fits && all {
            *pass = Pass::new(PassFor::Replicas(broker), pass.cause);
        }
        fits && !all
    }

    /// From now on the broker hears what happens.
    fn begin_to_tell(&mut self, broker: BrokerId) {
        let epoch = self.image.broker(broker).map_or(-1, |broker| broker.epoch);
        self.channels.open(broker, epoch);
        self.coming.remove(&broker);
        self.batch.take_back(broker, &mut self.aside);
    }

    fn part_of(&self, names: &[TopicPartition], broker: BrokerId, all: bool) -> Part {
        if all {
            return Part::Metadata(names.to_vec());
        }
        let is_replica = |name: &&TopicPartition| {
            let partition = self.partition(name);
            partition.is_some_and(|partition| partition.replicas.contains(&broker))
        };
        Part::Replicas(names.iter().filter(is_replica).cloned().collect())
    }

    /// Up to `most` partitions from this one on, by topic and number; those of topics that are being deleted
    /// only if asked for.
    fn partitions_from(
        &self,
        from: &TopicPartition,
        most: usize,
        even_deleting: bool,
    ) -> Vec<TopicPartition> {
        let topics = self.image.all_topics_from(&from.topic);
        let topics = topics.filter(|topic| even_deleting || !self.image.is_deleting(&topic.name));
        let names = topics.flat_map(|topic| {
            let first = match topic.name == from.topic {
                true => from.partition,
                false => 0,
            };
            (first..topic.partitions.len() as i32).map(|index| TopicPartition::new(topic.name.clone(), index))
        });
        names.take(most).collect()
    }
}
