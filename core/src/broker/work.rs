//! Long requests in short steps.
//!
//! No call may do unbounded work: a request over thousands of partitions does its first few at once
//! and queues the rest. The host calls [`Broker::work`](super::Broker::work) until nothing is left,
//! and may let other input in between. A controller in this broker has steps of its own
//! ([`Controller::work`](crate::controller::Controller::work)); each call does one of them.
//!
//! Invariants
//! - a produce never overtakes a produce that is queued
//! - a step either ends its operation or puts it back

use std::collections::VecDeque;

use super::State;
use super::cluster::WordUnderWay;
use super::groups::{GettingReady, Listing};
use super::produce::ProduceUnderWay;
use super::timers::Sweep;
use crate::cx::Cx;
use crate::full::FULL;
use crate::replica::ParkedId;

/// Partitions or groups that a request may do at once, before the rest is queued.
const AT_ONCE: usize = 64;

/// The rest of something long.
#[derive(Clone, Debug)]
pub(super) enum Step {
    Produce(Box<ProduceUnderWay>),
    /// A fetch that has partitions left to plan.
    Fetch(ParkedId),
    /// A look at every partition, such as retention.
    Sweep(Sweep),
    /// A controller's word that has partitions left.
    Word(Box<WordUnderWay>),
    /// Groups that are being made ready.
    Groups(GettingReady),
    /// A ListGroups that has groups left.
    ListGroups(Box<Listing>),
}

impl State {
    /// Does a step now, as far as it may, unless something that must not be overtaken is queued.
    pub(super) fn run_or_queue(&mut self, cx: &mut Cx, step: Step) {
        let overtakes = |queued: &Step| matches!((queued, &step), (Step::Produce(_), Step::Produce(_)));
        if self.steps.iter().any(overtakes) {
            self.steps.push_back(step);
            return;
        }
        let mut budget = AT_ONCE;
        if let Some(rest) = self.run(cx, step, &mut budget) {
            self.steps.push_back(rest);
        }
    }

    /// Does about `budget` partitions' or groups' worth of queued work; true while more is queued.
    pub(super) fn work(&mut self, cx: &mut Cx, mut budget: usize) -> bool {
        while budget > 0
            && let Some(step) = self.steps.pop_front()
        {
            if let Some(rest) = self.run(cx, step, &mut budget) {
                self.steps.push_front(rest);
            }
        }
        self.words_go_on(cx);
        self.controller_works(cx);
        !self.steps.is_empty() || self.controller_has_work()
    }

    /// What is left of the step, if the budget did not reach.
    fn run(&mut self, cx: &mut Cx, step: Step, budget: &mut usize) -> Option<Step> {
        match step {
            Step::Produce(mut under_way) => {
                if !self.produce_step(cx, &mut under_way, budget) {
                    return Some(Step::Produce(under_way));
                }
                self.produce_appended(*under_way);
                None
            }
            Step::Fetch(id) => (!self.fetch_step(cx, id, budget)).then_some(Step::Fetch(id)),
            Step::Word(mut under_way) => {
                if !self.word_step(cx, &mut under_way, budget) {
                    return Some(Step::Word(under_way));
                }
                self.word_done(cx, *under_way);
                None
            }
            Step::Groups(_) | Step::ListGroups(_) if !FULL => None,
            Step::Groups(ready) => (!self.groups_step(cx, ready, budget)).then_some(Step::Groups(ready)),
            Step::ListGroups(mut listing) => {
                if !self.list_step(&mut listing, budget) {
                    return Some(Step::ListGroups(listing));
                }
                self.listed(*listing);
                None
            }
            Step::Sweep(sweep) => self.sweep_step(cx, sweep, budget).map(Step::Sweep),
        }
    }
}

/// Steps that wait, in order.
pub(super) type Steps = VecDeque<Step>;
