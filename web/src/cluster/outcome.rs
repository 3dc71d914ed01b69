//! What a fault has cost: *was -> now -> cost*; and why the next leader is who it is.

use highwater_core::stage::{IsrHolder, IsrLine, PromiseState, Stage};
use highwater_core::trace::{ControlFact, Fact, WorldFact};
use highwater_core::types::BrokerId;

use super::pace::duration;
use super::run::Run;

/// The line under a side, once something was done to its cluster; `None` before.
pub fn outcome(run: &Run, facts: usize, now: &Stage) -> Option<String> {
    let is_fault = |at: &usize| run.event(*at).is_some_and(|event| is_fault(&event.fact));
    let fault = (0..facts).rev().find(is_fault)?;
    let before = run.stage_at(fault, fault);
    let mut cost = Vec::new();
    let lost = |stage: &Stage| {
        let promises = stage.promises.iter();
        promises
            .filter(|promise| promise.state == PromiseState::Broken)
            .count()
    };
    match lost(now).saturating_sub(lost(&before)) {
        0 => {}
        1 => cost.push("1 acknowledged record lost".to_owned()),
        count => cost.push(format!("{count} acknowledged records lost")),
    }
    cost.extend(without_leader(run, fault, facts, &before, now));
    let cost = match cost.is_empty() {
        true => "nothing so far".to_owned(),
        false => cost.join(", "),
    };
    Some(format!(
        "was: {} \u{2192} now: {} \u{2192} cost: {cost}",
        in_office(&before, now),
        in_office(now, &before)
    ))
}

/// What is done to a cluster from outside, to its harm.
fn is_fault(fact: &Fact) -> bool {
    matches!(
        fact,
        Fact::World(
            WorldFact::BrokerCrashed { .. }
                | WorldFact::BrokerStopped { .. }
                | WorldFact::BrokerPaused { .. }
                | WorldFact::CoordinationCrashed
                | WorldFact::LinkCut { .. }
                | WorldFact::DiskFilled { .. }
        )
    )
}

/// The leader in office, and its ISR.
fn office(stage: &Stage) -> Option<(&str, &[BrokerId])> {
    let crowned = stage.rows.iter().filter(|row| row.is_crowned());
    let leader = crowned.max_by_key(|row| row.epoch)?;
    let of_leader = |line: &&IsrLine| line.holder == IsrHolder::Leader(leader.broker);
    let isr = stage.isrs.iter().find(of_leader);
    Some((&leader.name, isr.map_or(&[][..], |line| &line.isr)))
}

/// Who led and who leads: `broker 1 leads, ISR 1, 2, 3`, the ISR only where it is another.
fn in_office(stage: &Stage, other: &Stage) -> String {
    let Some((leader, isr)) = office(stage) else {
        return "nobody leads".to_owned();
    };
    if office(other).is_some_and(|(_, other)| other == isr) {
        return format!("{leader} leads");
    }
    let isr: Vec<String> = isr.iter().map(ToString::to_string).collect();
    format!("{leader} leads, ISR {}", isr.join(", "))
}

/// How the partition stands, as a sentence: who leads, who is in sync, and what became of the promises.
pub fn standing(stage: &Stage) -> String {
    if let Some(producer) = &stage.producer {
        return format!("{}.", producer.say_tally());
    }
    let promises = summary(stage);
    let Some((leader, isr)) = office(stage) else {
        return format!("nobody leads, and {promises}.");
    };
    let isr: Vec<String> = isr.iter().map(ToString::to_string).collect();
    match &isr[..] {
        [alone] => format!("{leader} leads, only {alone} is in sync, and {promises}."),
        [many @ .., last] => format!(
            "{leader} leads, in sync are {} and {last}, and {promises}.",
            many.join(", ")
        ),
        [] => format!("{leader} leads, and {promises}."),
    }
}

/// How long nobody led since the fault.
fn without_leader(run: &Run, fault: usize, facts: usize, before: &Stage, now: &Stage) -> Option<String> {
    let is_led = |stage: &Stage| stage.rows.iter().any(|row| row.is_crowned());
    let after = run.stage_at(fault + 1, fault);
    if !is_led(before) || is_led(&after) {
        return None;
    }
    let since = run.ms_at(fault + 1);
    if !is_led(now) && run.ms_at(facts) == since {
        return None;
    }
    let duration = |ms| duration(ms).replace(' ', "\u{a0}");
    if !is_led(now) {
        let since = duration(run.ms_at(facts) - since);
        return Some(format!("nobody leads since {since}"));
    }
    let taken = (fault..facts).find(|&at| {
        let event = run.event(at);
        event.is_some_and(|event| {
            matches!(&event.fact, Fact::LeadershipTaken { partition, .. } if partition == run.partition())
        })
    })?;
    let gap = run.ms_at(taken + 1) - since;
    Some(format!("nobody led for {}", duration(gap)))
}

/// Of the last election: each replica with why it was taken or passed over.
pub fn why_this_leader(run: &Run, facts: usize) -> Vec<String> {
    for at in (0..facts).rev() {
        let Some(event) = run.event(at) else { continue };
        let Fact::Control(ControlFact::Elected {
            partition,
            candidates,
            ..
        }) = &event.fact
        else {
            continue;
        };
        if partition == run.partition() {
            let said = candidates.iter();
            return said
                .map(|candidate| format!("broker {}: {}", candidate.broker, candidate.verdict))
                .collect();
        }
    }
    Vec::new()
}

/// The line at the foot of a scene: what became of the promises.
pub fn summary(stage: &Stage) -> String {
    if let Some(producer) = &stage.producer {
        return producer.say_tally();
    }
    let broken = || {
        let promises = stage.promises.iter();
        promises.filter(|promise| promise.state == PromiseState::Broken)
    };
    let doubted = stage.promises.iter();
    let doubted = doubted.filter(|promise| promise.state == PromiseState::InDoubt);
    let said = match broken().count() {
        0 => {
            return match doubted.count() {
                0 => "every promise is kept".to_owned(),
                1 => "1 promise in doubt".to_owned(),
                count => format!("{count} promises in doubt"),
            };
        }
        1 => "1 promise broken".to_owned(),
        count => format!("{count} promises broken"),
    };
    match broken().all(|promise| promise.acks == 1) {
        true => format!("{said}, allowed under acks=1"),
        false => said,
    }
}
