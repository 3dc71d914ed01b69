//! The runtime with a shard that counts: what waits, what leaves, what is forgotten.

use super::testing::{World, token};
use super::*;
use crate::types::Millis;

/// Counts records, and what becomes of what waited for them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Counter {
    records: u32,
    settled: Vec<Result<(), ErrorCode>>,
    is_unloaded: bool,
}

impl Shard for Counter {
    type Answer = &'static str;
    type Then = ();
    type Timer = &'static str;

    fn replay(&mut self, _: Millis, record: &Record, producer: Option<ProducerId>) {
        assert_eq!(
            record.offset,
            Offset::from(self.records),
            "every record once, in order"
        );
        assert_eq!(producer, None);
        self.records += 1;
    }

    fn end_transaction(&mut self, _: ProducerId, _: bool) {}
    fn committed(&mut self, _: Offset) {}
    fn loaded(&mut self, _: &mut Turn<Self>, _: usize) -> bool {
        true
    }

    fn unloaded(&mut self, turn: &mut Turn<Self>) {
        turn.answer(token(99), Err(ErrorCode::NotCoordinator));
    }

    fn settled(&mut self, turn: &mut Turn<Self>, (): (), outcome: Result<(), ErrorCode>) {
        self.settled.push(outcome);
        if outcome.is_ok() {
            turn.write(vec![record(1)]);
        }
    }

    fn expired(&mut self, turn: &mut Turn<Self>, timer: &'static str) {
        turn.answer(token(50), Ok(timer));
    }
}

fn record(bytes: usize) -> CoordinatorRecord {
    CoordinatorRecord {
        key: vec![b'k'; bytes].into(),
        value: None,
    }
}

fn serving() -> World<Counter> {
    World::serving(1, Counter::default())
}

#[test]
fn an_answer_leaves_when_its_records_are_committed() {
    let mut world = serving();
    world.decide(token(0), |_, turn| {
        turn.write(vec![record(1), record(1)]);
        turn.answer_when_committed(token(1), "first");
    });
    world.decide(token(0), |shard, turn| {
        assert_eq!(
            shard.records, 2,
            "the next decision sees what is not committed yet"
        );
        turn.answer_when_committed(token(2), "after it");
    });
    world.high_watermark(1);
    assert_eq!(world.answers(), []);
    world.high_watermark(2);
    assert_eq!(world.answers(), [(1, Ok("first")), (2, Ok("after it"))]);
    world.decide(token(0), |_, turn| {
        turn.answer_when_committed(token(3), "nothing to wait for");
    });
    assert_eq!(world.answers(), [(3, Ok("nothing to wait for"))]);
}

#[test]
fn what_could_not_be_appended_changes_nothing() {
    let mut world = serving();
    world.partition.refuses = Some(ErrorCode::NotEnoughReplicas);
    world.decide(token(0), |_, turn| {
        turn.write_then(vec![record(1)], ());
        turn.answer_when_committed(token(1), "never");
    });
    assert_eq!(world.answers(), [(1, Err(ErrorCode::CoordinatorNotAvailable))]);
    let shard = world.coordinators.read(0).unwrap();
    assert_eq!(shard.records, 0);
    assert_eq!(shard.settled, [Err(ErrorCode::NotEnoughReplicas)]);
}

#[test]
fn what_follows_a_commit_may_write_again() {
    let mut world = serving();
    world.decide(token(0), |_, turn| turn.write_then(vec![record(1)], ()));
    world.high_watermark(1);
    let shard = world.coordinators.read(0).unwrap();
    assert_eq!((shard.records, &shard.settled[..]), (2, &[Ok(())][..]));
}

#[test]
fn who_loses_the_leadership_answers_everybody_once() {
    let mut world = serving();
    world.decide(token(0), |_, turn| {
        turn.write_then(vec![record(1)], ());
        turn.answer_when_committed(token(1), "never");
    });
    world.resigned();
    let gone = Err(ErrorCode::NotCoordinator);
    assert_eq!(world.answers(), [(1, gone), (99, gone)]);
    world.decide(token(0), |_, _| panic!("nothing is decided here any more"));
    assert_eq!(world.answers(), [(0, gone)]);
    assert_eq!(world.partition.end, 1, "what was appended is the next leader's");
}

#[test]
fn nothing_is_decided_while_the_log_is_read_and_then_all_of_it_counts() {
    let mut world = serving();
    world.decide(token(0), |_, turn| turn.write_in_pieces(vec![record(300); 10]));
    assert!(world.partition.batches.len() > 1, "too much for one batch");
    world.elected(2, Counter::default());
    world.answers();
    world.decide(token(0), |_, _| panic!("not loaded"));
    assert_eq!(world.answers(), [(0, Err(ErrorCode::CoordinatorLoadInProgress))]);
    assert_eq!(
        world.coordinators.read(0),
        Err(ErrorCode::CoordinatorLoadInProgress)
    );
    world.load();
    assert_eq!(world.coordinators.read(0).unwrap().records, 10);
    assert_eq!(world.coordinators.epoch(0), Some(2));
    // Not committed by the former leader, so neither by this one yet.
    world.decide(token(0), |_, turn| {
        turn.answer_when_committed(token(1), "after what was found");
    });
    assert_eq!(world.answers(), []);
    world.high_watermark(10);
    assert_eq!(world.answers(), [(1, Ok("after what was found"))]);
}

#[test]
fn records_that_belong_together_are_refused_if_they_do_not_fit_together() {
    let mut world = serving();
    for records in [vec![record(300); 10], vec![record(2_000)]] {
        world.decide(token(0), |_, turn| {
            turn.write(records);
            turn.answer_when_committed(token(1), "never");
        });
        assert_eq!(world.answers(), [(1, Err(ErrorCode::UnknownServerError))]);
    }
    assert_eq!(world.partition.end, 0);
}

#[test]
fn who_waits_too_long_is_told_and_timers_come_due() {
    let mut world = serving();
    world.decide(token(0), |_, turn| {
        turn.write(vec![record(1)]);
        turn.answer_when_committed(token(1), "never");
        turn.timers.set("rings", 7_000, turn.cx.cause);
    });
    assert_eq!(
        (world.coordinators.next(), world.coordinators.due(5_999)),
        (Some(6_000), None)
    );
    world.pass(6_000);
    let late = Err(ErrorCode::CoordinatorNotAvailable);
    assert_eq!(world.answers(), [(1, late), (50, Ok("rings"))]);
    assert_eq!(world.coordinators.next(), None);
}
