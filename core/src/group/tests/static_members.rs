//! Members that keep their place over a restart (KIP-345).

use super::*;
use crate::error::ErrorCode;
use crate::group::request::{Identity, Join, Leaving};
use crate::group::{GroupState, Protocol};

/// A stable group of static members "one" and "two"; their ids, the leader's first.
fn static_group(groups: &mut Groups) -> Vec<std::sync::Arc<str>> {
    for instance in ["one", "two"] {
        groups.join(static_join(instance));
    }
    groups.world.pass(9_000);
    let joined = groups.joined();
    let leader = joined[0].1.leader.clone();
    let mut ids: Vec<_> = joined.into_iter().map(|(_, joined)| joined.member).collect();
    ids.sort_by_key(|id| *id != leader);
    groups.sync(sync(&ids[1], 1, &[]));
    groups.sync(sync(&ids[0], 1, &[(&ids[0], b"0"), (&ids[1], b"1")]));
    assert_eq!(groups.synced().len(), 2);
    assert_eq!(groups.group().state(), GroupState::Stable);
    ids
}

fn instance_of(groups: &Groups, id: &str) -> String {
    let mut members = groups.group().members();
    let member = members.find(|member| &*member.id == id).unwrap();
    member.instance_id.as_deref().unwrap().to_owned()
}

#[test]
fn a_restart_moves_nothing_and_fences_the_former_life() {
    let mut groups = groups();
    let ids = static_group(&mut groups);
    let follower = instance_of(&groups, &ids[1]);
    assert!(ids[1].starts_with(&follower));
    groups.join(static_join(&follower));
    let joined = groups.joined();
    let joined = &joined[0].1;
    assert_eq!(
        (joined.error, joined.generation, joined.skip_assignment),
        (ErrorCode::None, 1, false)
    );
    assert_ne!(joined.member, ids[1]);
    assert_eq!(groups.group().state(), GroupState::Stable);
    let mut asks = sync(&joined.member, 1, &[]);
    asks.instance_id = Some(follower.as_str().into());
    groups.sync(asks);
    assert_eq!(groups.synced()[0].1.assignment, "1", "its old share");
    let former = Identity {
        instance_id: Some(follower.as_str().into()),
        ..identity(&ids[1], 1)
    };
    assert_eq!(groups.heartbeat_as(&former), Err(ErrorCode::FencedInstanceId));
    assert_eq!(groups.heartbeat(&ids[1], 1), Err(ErrorCode::UnknownMemberId));
}

#[test]
fn a_leader_that_restarts_is_told_to_leave_the_shares_alone() {
    let mut groups = groups();
    let ids = static_group(&mut groups);
    let leader = instance_of(&groups, &ids[0]);
    groups.join(static_join(&leader));
    let joined = groups.joined()[0].1.clone();
    assert!(joined.skip_assignment && joined.leader == joined.member && joined.members.len() == 2);
    // One that cannot be told so hears that another leads.
    groups.join(Join {
        can_skip_assignment: false,
        ..static_join(&leader)
    });
    let again = groups.joined()[0].1.clone();
    assert_eq!((again.leader, again.members.len()), (joined.member, 0));
}

#[test]
fn another_protocol_begins_a_rebalance() {
    let mut groups = groups();
    let ids = static_group(&mut groups);
    let follower = instance_of(&groups, &ids[1]);
    let other: [Protocol; 1] = [protocol("sticky")];
    groups.join(Join {
        protocols: other.into(),
        ..static_join(&follower)
    });
    assert_eq!(groups.world.answers(), []);
    assert_eq!(groups.group().state(), GroupState::PreparingRebalance);
}

#[test]
fn a_replacement_that_cannot_be_stored_leaves_the_former_life_in_place() {
    let mut groups = groups();
    let ids = static_group(&mut groups);
    let follower = instance_of(&groups, &ids[1]);
    groups.world.partition.refuses = Some(ErrorCode::NotEnoughReplicas);
    groups.join(static_join(&follower));
    assert_eq!(groups.joined()[0].1.error, ErrorCode::CoordinatorNotAvailable);
    groups.world.partition.refuses = None;
    assert_eq!(groups.heartbeat(&ids[1], 1), Ok(ErrorCode::None));
}

#[test]
fn it_waits_for_static_members_as_long_as_their_sessions_do() {
    let mut groups = groups();
    let ids = static_group(&mut groups);
    let leader = Join {
        member: ids[0].clone(),
        ..static_join(&instance_of(&groups, &ids[0]))
    };
    groups.join(leader);
    assert_eq!(groups.world.answers(), []);
    groups.world.pass(9_000);
    assert_eq!(groups.world.answers(), []);
    // Its session ends before the rebalance timeout.
    groups.world.pass(1_500);
    assert_eq!(groups.joined()[0].1.members.len(), 1);
}

#[test]
fn an_operator_sends_one_away_by_its_instance() {
    let mut groups = groups();
    let ids = static_group(&mut groups);
    let by_instance = |instance: &str| Leaving {
        member: "".into(),
        instance_id: Some(instance.into()),
    };
    let wrong = Leaving {
        instance_id: Some(instance_of(&groups, &ids[0]).as_str().into()),
        ..leaving(&ids[1])
    };
    let follower = by_instance(&instance_of(&groups, &ids[1]));
    assert_eq!(
        groups.leave(&[wrong, by_instance("three"), follower]),
        [
            ErrorCode::FencedInstanceId,
            ErrorCode::UnknownMemberId,
            ErrorCode::None
        ]
    );
    assert_eq!(groups.group().members().count(), 1);
}
