//! The places where a reader can stand: each visible change of each side, in one row.
//!
//! A *stop* is a place; a *beat* is a stop at which a moment of a story comes, and a sentence is told. A
//! change that leaves the picture as it was is no stop. Where two sides are shown at once, they go on
//! together as long as their facts are the same, and by virtual time from there on.
//!
//! Invariants
//! - a side never goes back from one stop to the next
//! - every moment of every side is a beat, in its order

use std::rc::Rc;

use highwater_core::stage::Stage;
use highwater_core::types::Millis;
use highwater_core::view::ClusterView;

use super::run::Run;
use super::scenes::Order;

/// A side as it is at a stop.
#[derive(Clone, Debug)]
pub struct Glance {
    /// The place in the side's run.
    pub facts: usize,
    pub stage: Rc<Stage>,
}

/// A place.
#[derive(Clone, Debug)]
pub struct Stop {
    /// Those that are shown, from the first on.
    pub sides: Vec<Glance>,
    /// The side that has moved.
    pub moved: usize,
    /// Of that side.
    pub ms: Millis,
    /// The beat that is told, or was told last.
    pub beat: usize,
}

/// A moment, told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Beat {
    pub stop: usize,
    pub side: usize,
    /// Of that side's story.
    pub moment: usize,
    /// It is told of both sides: nothing differs yet.
    pub of_both: bool,
}

/// All stops and beats of a scene.
#[derive(Clone, Debug, Default)]
pub struct Timeline {
    pub stops: Vec<Stop>,
    pub beats: Vec<Beat>,
}

/// A stop of one side.
#[derive(Clone, Debug)]
pub struct SideStop {
    pub glance: Glance,
    pub ms: Millis,
    pub moment: Option<usize>,
}

impl Timeline {
    pub fn of(runs: &[Rc<Run>], order: Order) -> Self {
        let sides: Vec<Vec<SideStop>> = runs.iter().map(|run| told_stops(run)).collect();
        let mut timeline = Self::default();
        match (order, &sides[..]) {
            (Order::Together, [left, right]) => {
                timeline.together(left, right, common(&runs[0], &runs[1]), [&runs[0], &runs[1]]);
            }
            _ => timeline.one_after_the_other(&sides, runs),
        }
        timeline
    }

    fn push(&mut self, sides: Vec<Glance>, moved: usize, stop: &SideStop, of_both: bool) {
        if let Some(moment) = stop.moment {
            self.beats.push(Beat {
                stop: self.stops.len(),
                side: moved,
                moment,
                of_both,
            });
        }
        self.stops.push(Stop {
            sides,
            moved,
            ms: stop.ms,
            beat: self.beats.len().saturating_sub(1),
        });
    }

    fn one_after_the_other(&mut self, sides: &[Vec<SideStop>], runs: &[Rc<Run>]) {
        for (side, stops) in sides.iter().enumerate() {
            let mut before: Vec<Glance> = Vec::new();
            for stop in stops {
                if let Some(moment) = stop.moment {
                    let name = name_of(&runs[side], moment);
                    before = (0..side)
                        .filter_map(|other| same_moment(&sides[other], &runs[other], name, before.get(other)))
                        .collect();
                }
                let mut all = before.clone();
                all.push(stop.glance.clone());
                self.push(all, side, stop, false);
            }
        }
    }

    fn together(&mut self, left: &[SideStop], right: &[SideStop], common: usize, runs: [&Run; 2]) {
        let (mut left, mut right) = (left.iter().peekable(), right.iter().peekable());
        let Some(mut at) = left.peek().zip(right.peek()).map(|(a, b)| [&a.glance, &b.glance]) else {
            return;
        };
        loop {
            let (next_left, next_right) = (left.peek().copied(), right.peek().copied());
            let Some(next) = earlier(next_left, next_right) else {
                break;
            };
            let both = next_left
                .zip(next_right)
                .filter(|(a, b)| a.glance.facts == b.glance.facts && a.glance.facts <= common);
            if let Some((a, b)) = both {
                at = [&a.glance, &b.glance];
                let (stop, moved) = if a.moment.is_some() {
                    (a, 0)
                } else {
                    (b, usize::from(b.moment.is_some()))
                };
                let of_both = a.moment.zip(b.moment).is_some();
                // Each moment is told; where the two stories say different things, one after the other.
                self.push(
                    at.map(Glance::clone).into(),
                    moved,
                    stop,
                    of_both && is_said_alike(runs, a, b),
                );
                if of_both && !is_said_alike(runs, a, b) {
                    self.push(at.map(Glance::clone).into(), 1, b, false);
                }
                left.next();
                right.next();
                continue;
            }
            let moved = next;
            let (mine, others) = match moved {
                0 => (&mut left, &mut right),
                _ => (&mut right, &mut left),
            };
            let Some(stop) = mine.next() else { break };
            // The same is told of the other side at the same time: once, then, when both are there.
            let twin = stop.moment.and_then(|_| {
                let mut ahead = others.clone().take_while(|other| other.ms <= stop.ms);
                let other = ahead.find(|other| other.moment.is_some())?;
                is_said_alike([runs[moved], runs[1 - moved]], stop, other).then_some(other)
            });
            if let Some(twin) = twin {
                for other in others.by_ref() {
                    at[1 - moved] = &other.glance;
                    if other.glance.facts == twin.glance.facts {
                        break;
                    }
                    self.push(at.map(Glance::clone).into(), 1 - moved, other, false);
                }
            }
            at[moved] = &stop.glance;
            self.push(at.map(Glance::clone).into(), moved, stop, twin.is_some());
        }
    }
}

/// Which side comes next.
fn earlier(left: Option<&SideStop>, right: Option<&SideStop>) -> Option<usize> {
    match (left, right) {
        (None, None) => None,
        (Some(_), None) => Some(0),
        (None, Some(_)) => Some(1),
        (Some(left), Some(right)) => Some(usize::from(right.ms < left.ms)),
    }
}

fn is_said_alike(runs: [&Run; 2], left: &SideStop, right: &SideStop) -> bool {
    let said = |run: &Run, stop: &SideStop| {
        let told = run.teller()?.told().get(stop.moment?)?;
        told.say.clone().ok()
    };
    said(runs[0], left) == said(runs[1], right)
}

fn name_of(run: &Run, moment: usize) -> &str {
    let moments = run.teller().map(|teller| &teller.story().moments);
    let found = moments.and_then(|moments| moments.get(moment));
    found.map_or("", |moment| &moment.name)
}

/// The side at its moment of that name; else where it was, or at its end.
fn same_moment(stops: &[SideStop], run: &Run, name: &str, was: Option<&Glance>) -> Option<Glance> {
    let is_it = |stop: &&SideStop| stop.moment.is_some_and(|moment| name_of(run, moment) == name);
    let found = stops.iter().find(is_it).map(|stop| &stop.glance);
    found.or(was).or(stops.last().map(|stop| &stop.glance)).cloned()
}

/// Facts that two runs have in common, from the first on.
fn common(one: &Run, other: &Run) -> usize {
    let all = one.facts().min(other.facts());
    // As bytes: to compare them field by field is code of its own in the page.
    let as_bytes = |run: &Run, at| run.event(at).map(|event| event.to_json());
    let differs = |&at: &usize| as_bytes(one, at) != as_bytes(other, at);
    (0..all).find(differs).unwrap_or(all)
}

/// The stops of a run from the first moment of its story to the last.
fn told_stops(run: &Run) -> Vec<SideStop> {
    let told = run.teller().map_or(&[][..], |teller| teller.told());
    let (Some(first), Some(last)) = (told.first(), told.last()) else {
        return Vec::new();
    };
    stops(run, first.facts, last.facts)
}

/// The stops of a run between two places, both included.
pub fn stops(run: &Run, from: usize, to: usize) -> Vec<SideStop> {
    let told = run.teller().map_or(&[][..], |teller| teller.told());
    let mut view: ClusterView = run.view_at(from.saturating_sub(1));
    let mut stops: Vec<SideStop> = Vec::new();
    for at in from.saturating_sub(1)..to {
        let Some(event) = run.event(at) else { break };
        view.apply(&event);
        let facts = at + 1;
        let moment = told.iter().position(|told| told.facts == facts);
        let is_visible = run.is_visible(at);
        if !is_visible && moment.is_none() && facts != from {
            continue;
        }
        let last = told.iter().rev().find(|told| told.facts <= facts);
        let cut_since = last.map_or(0, |last| last.cut_since);
        let stage = Stage::of(&view, &run.options(cut_since));
        let before = stops.last().map(|stop| &stop.glance.stage);
        if moment.is_none() && before.is_some_and(|before| before.is_same_but_for_messages(&stage)) {
            continue;
        }
        let stage = match before {
            Some(before) => stage.sharing(before),
            None => stage,
        };
        stops.push(SideStop {
            glance: Glance {
                facts,
                stage: Rc::new(stage),
            },
            ms: run.ms_at(facts),
            moment,
        });
    }
    stops
}
