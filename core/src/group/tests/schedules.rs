//! Drawn schedules: members come, go, fall silent and speak out of turn, the log commits late, the
//! coordinator moves. Whatever happens, what a group promises holds.

use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::error::ErrorCode;
use crate::group::request::Answer;
use crate::ordered::{OrderedMap, OrderedSet};

#[derive(Clone, Debug)]
enum Step {
    JoinAnew,
    /// A static member starts, or starts again.
    JoinAs(u8),
    JoinAgain(u8),
    Sync(u8),
    Heartbeat(u8),
    Leave(u8),
    Commit(u8, i64),
    Pass(u16),
    Committed,
    /// Appends fail, or work again.
    Refuse(bool),
    Move,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => Just(Step::JoinAnew),
        2 => (0u8..3).prop_map(Step::JoinAs),
        8 => (0u8..8).prop_map(Step::JoinAgain),
        8 => (0u8..8).prop_map(Step::Sync),
        4 => (0u8..8).prop_map(Step::Heartbeat),
        2 => (0u8..8).prop_map(Step::Leave),
        4 => (0u8..8, 0i64..1000).prop_map(|(member, offset)| Step::Commit(member, offset)),
        6 => (1u16..9_000).prop_map(Step::Pass),
        4 => Just(Step::Committed),
        1 => any::<bool>().prop_map(Step::Refuse),
        1 => Just(Step::Move),
    ];
    proptest::collection::vec(step, 0..120)
}

/// What was seen so far.
#[derive(Default)]
struct Ghost {
    /// Every id that was ever given, and the last generation that its owner heard of.
    members: Vec<(Arc<str>, i32)>,
    /// Requests that are owed an answer.
    open: OrderedSet<u32>,
    leaders: OrderedMap<i32, Arc<str>>,
    generation: i32,
    /// The offset of each commit under way, and the last that was acknowledged.
    commits: OrderedMap<u32, i64>,
    acknowledged: Option<i64>,
}

impl Ghost {
    fn member(&self, number: u8) -> Option<(Arc<str>, i32)> {
        let count = self.members.len();
        let back = usize::from(number);
        count
            .checked_sub(1 + back % count.max(1))
            .map(|at| self.members[at].clone())
    }

    fn take_answers(&mut self, groups: &mut Groups) {
        for (asked, answer) in groups.world.answers() {
            assert!(self.open.remove(&asked), "request {asked} is answered once");
            let commit = self.commits.remove(&asked);
            match answer {
                Ok(Answer::Joined(joined)) => self.joined(&joined),
                Ok(Answer::Offsets(codes)) if codes == [ErrorCode::None] => self.acknowledged = commit,
                _ => {}
            }
        }
    }

    fn joined(&mut self, joined: &crate::group::Joined) {
        let known = self.members.iter_mut().find(|(id, _)| *id == joined.member);
        match known {
            Some(known) => known.1 = known.1.max(joined.generation),
            None if !joined.member.is_empty() => {
                self.members.push((joined.member.clone(), joined.generation));
            }
            None => {}
        }
        if joined.error != ErrorCode::None {
            return;
        }
        if !joined.members.is_empty() && !joined.skip_assignment {
            let leader = self
                .leaders
                .entry(joined.generation)
                .or_insert(joined.leader.clone());
            let is_static = joined.members.iter().any(|member| member.instance_id.is_some());
            // A static leader's next life leads on.
            assert!(
                *leader == joined.leader || is_static,
                "one leader in generation {}",
                joined.generation
            );
            assert!(joined.members.iter().any(|member| member.id == joined.leader));
        }
    }
}

fn check(groups: &Groups, ghost: &mut Ghost) {
    let Some(group) = groups.world.shard().group(GROUP) else {
        return;
    };
    assert!(group.generation() >= ghost.generation, "generations only grow");
    ghost.generation = group.generation();
    assert_eq!(
        group.is_empty(),
        group.is_empty() && group.members().count() == 0,
        "nobody is in an empty group"
    );
    if let Some(leader) = group.leader() {
        assert!(
            group.members().any(|member| member.id == *leader),
            "the leader is a member"
        );
    }
    let awaiting = group
        .members()
        .filter(|member| member.awaiting_join.is_some())
        .count();
    assert_eq!(awaiting, group.awaiting_join);
    for member in group.members() {
        let waits = member.awaiting_join.iter().chain(&member.awaiting_sync);
        for token in waits {
            assert!(ghost.open.contains(&token.part), "who waits has asked");
        }
        assert!(!group.pending_join.contains(&member.id));
        if let Some(instance) = &member.instance_id {
            assert_eq!(group.static_members.get(instance), Some(&member.id));
        }
    }
}

fn play(steps: Vec<Step>) {
    let mut groups = groups();
    groups.world.partition.commits_at_once = false;
    let mut ghost = Ghost::default();
    for step in steps {
        let now = groups.world.now;
        let asked = match step {
            Step::JoinAnew => Some(groups.join(join(""))),
            Step::JoinAs(number) => Some(groups.join(static_join(&format!("s{number}")))),
            Step::JoinAgain(number) => ghost.member(number).map(|(id, _)| groups.join(join(&id))),
            Step::Sync(number) => ghost.member(number).map(|(id, generation)| {
                let everybody: Vec<_> = ghost.members.iter().map(|(id, _)| (&**id, &b"x"[..])).collect();
                let mut sync = sync(&id, generation, &everybody);
                sync.protocol = None;
                groups.sync(sync)
            }),
            Step::Heartbeat(number) => ghost
                .member(number)
                .map(|(id, generation)| groups.ask_heartbeat(&identity(&id, generation))),
            Step::Leave(number) => ghost
                .member(number)
                .map(|(id, _)| groups.ask_leave(&[leaving(&id)])),
            Step::Commit(number, offset) => ghost.member(number).map(|(id, generation)| {
                let asked = groups.commit(commit_of(&id, generation, &[("t", 0, offset)], now));
                ghost.commits.insert(asked, offset);
                asked
            }),
            Step::Pass(ms) => {
                groups.world.pass(ms.into());
                None
            }
            Step::Committed => {
                let end = groups.world.partition.end;
                groups.world.high_watermark(end);
                None
            }
            Step::Refuse(refuses) => {
                groups.world.partition.refuses = refuses.then_some(ErrorCode::NotEnoughReplicas);
                None
            }
            Step::Move => {
                groups.world.resigned();
                ghost.take_answers(&mut groups);
                groups
                    .world
                    .elected(2, crate::group::GroupShard::new(0, groups.settings.clone()));
                groups.world.load();
                ghost.generation = 0;
                ghost.leaders.clear();
                assert!(
                    ghost.open.is_empty(),
                    "everybody hears of the move: {:?}",
                    ghost.open
                );
                None
            }
        };
        ghost.open.extend(asked);
        ghost.take_answers(&mut groups);
        check(&groups, &mut ghost);
    }
    // What was acknowledged is there, or something that was committed after it.
    let end = groups.world.partition.end;
    groups.world.high_watermark(end);
    ghost.take_answers(&mut groups);
    let before = groups.world.shard().offsets().get(&key("t", 0)).cloned();
    assert!(ghost.acknowledged.is_none() || before.is_some());
    groups.move_on();
    let after = groups.world.shard().offsets().get(&key("t", 0)).cloned();
    assert_eq!(before, after, "the state is the replay of the log");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn whatever_happens_a_group_keeps_its_promises(steps in steps()) {
        play(steps);
    }
}
