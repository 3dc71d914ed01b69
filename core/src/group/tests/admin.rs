//! What operators do with groups: list and delete.

use super::*;
use crate::coordinator::testing::token;
use crate::error::ErrorCode;
use crate::group::listing::Filter;
use crate::group::request::Answer;

fn listed(groups: &Groups, states: &[&str], types: &[&str]) -> usize {
    let filter = Filter::new(states.iter().copied(), types.iter().copied());
    groups.world.shard().list(&filter).count()
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
