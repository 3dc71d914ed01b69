//! What operators do with groups: list and delete.

use super::*;
use crate::coordinator::testing::token;
use crate::error::ErrorCode;
use crate::group::listing::Filter;
use crate::group::request::Answer;

fn listed(groups: &Groups, states: &[&str], types: &[&str]) -> usize {
    let filter = Filter::new(states.iter().copied(), types.iter().copied());
    let all = groups.world.shard().after(None);
    all.filter(|group| filter.takes(group)).count()
}

#[test]
fn groups_are_listed_by_state_and_type_whatever_the_case() {
    let mut groups = groups();
    let members = groups.stable_group(1);
    assert_eq!(listed(&groups, &[], &[]), 1);
    assert_eq!(listed(&groups, &["stable", "Empty"], &["CLASSIC"]), 1);
    assert_eq!(listed(&groups, &["Empty"], &[]), 0);
    assert_eq!(listed(&groups, &[], &["consumer"]), 0);
    groups.leave(&[leaving(&members[0])]);
    assert_eq!(listed(&groups, &["EMPTY"], &[]), 1);
}

#[test]
fn only_a_group_of_nobody_is_deleted_and_its_offsets_with_it() {
    let mut groups = groups();
    let members = groups.stable_group(1);
    groups.commit(commit_of(&members[0], 1, &[("t", 0, 5)], 1_000));
    let delete = |groups: &mut Groups| {
        let names = ["other".into(), GROUP.into()];
        groups.world.decide(token(500), |shard, turn| {
            shard.delete_groups(turn, token(500), &names);
        });
        groups.answer(500)
    };
    let refused = Answer::Deleted(vec![ErrorCode::GroupIdNotFound, ErrorCode::NonEmptyGroup]);
    assert_eq!(delete(&mut groups), Ok(refused));
    groups.leave(&[leaving(&members[0])]);
    let done = Answer::Deleted(vec![ErrorCode::GroupIdNotFound, ErrorCode::None]);
    assert_eq!(delete(&mut groups), Ok(done));
    assert_eq!(
        (listed(&groups, &[], &[]), groups.world.shard().offsets().len()),
        (0, 0)
    );
    groups.move_on();
    assert_eq!(
        (listed(&groups, &[], &[]), groups.world.shard().offsets().len()),
        (0, 0)
    );
}

#[test]
fn groups_are_made_ready_a_few_at_a_time_and_then_serve() {
    let mut groups = groups();
    for number in 0..5 {
        let mut commit = commit_of("", -1, &[("t", 0, 5)], 1_000);
        commit.group = format!("g{number}").into();
        commit.offsets[0].0.group = commit.group.clone();
        groups.commit(commit);
    }
    let empty = crate::group::GroupShard::new(0, groups.settings.clone());
    groups.world.elected(2, empty);
    groups.world.answers();
    let step = |groups: &mut Groups| {
        groups
            .world
            .with(|coordinators, cx, partition| coordinators.loaded(cx, 0, partition, 2))
    };
    groups.world.with(|coordinators, cx, partition| {
        coordinators.loaded_batches(cx.now, 0, &partition.batches, partition);
    });
    for served in [false, false, true] {
        groups.world.decide(token(700), |shard, turn| {
            shard.delete_groups(turn, token(700), &["none".into()]);
        });
        let refused = groups.world.answers().pop();
        assert_eq!(refused, Some((700, Err(ErrorCode::CoordinatorLoadInProgress))));
        assert_eq!(step(&mut groups), served);
    }
    assert_eq!(listed(&groups, &[], &[]), 5);
}
