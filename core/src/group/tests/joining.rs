//! Members come, wait, get their share, and go.

use super::*;
use crate::error::ErrorCode;
use crate::group::request::Join;
use crate::group::{GroupSettings, GroupState};
use crate::trace::{Fact, GroupFact, RebalanceReason, RemovalReason, Timer};

#[test]
fn a_member_without_an_id_is_given_one_and_comes_again_with_it() {
    let mut groups = groups();
    let id = groups.id_for(join(""));
    assert!(id.starts_with("c-") && id.len() == 2 + 36, "{id}");
    assert!(groups.group().is_empty());
    let asked = groups.join(join(&id));
    assert_eq!(groups.world.answers(), [], "the others may still come");
    groups.world.pass(3_000);
    let joined = groups.joined();
    assert_eq!(joined.len(), 1);
    let (answered, joined) = &joined[0];
    assert_eq!(
        (*answered, joined.error, joined.generation),
        (asked, ErrorCode::None, 1)
    );
    assert_eq!((&joined.leader, &joined.member), (&id, &id));
    assert_eq!(joined.members.len(), 1);
    assert_eq!(joined.protocol.as_deref(), Some("range"), "what it likes best");
}

#[test]
fn an_old_client_is_taken_in_at_once() {
    let mut groups = groups();
    groups.join(Join {
        can_be_told_its_id: false,
        ..join("")
    });
    groups.world.pass(3_000);
    assert_eq!(groups.joined().len(), 1);
}

#[test]
fn the_first_generation_waits_while_more_members_come() {
    let mut groups = groups();
    let ids: Vec<_> = (0..3).map(|_| groups.id_for(join(""))).collect();
    for id in &ids {
        groups.join(join(id));
        groups.world.pass(2_000);
    }
    assert_eq!(groups.world.answers(), []);
    groups.world.pass(6_000);
    let joined = groups.joined();
    assert_eq!(joined.len(), 3);
    assert!(
        joined
            .iter()
            .all(|(_, joined)| joined.generation == 1 && joined.leader == ids[0])
    );
    let seen = joined
        .iter()
        .filter(|(_, joined)| joined.members.len() == 3)
        .count();
    assert_eq!(seen, 1, "the leader alone sees all");
}

#[test]
fn members_get_what_the_leader_gives_them_when_it_is_stored() {
    let mut groups = groups();
    let members = groups.stable_group(2);
    assert_eq!(groups.group().state(), GroupState::Stable);
    assert_eq!(groups.heartbeat(&members[1], 1), Ok(ErrorCode::None));
    let shares: Vec<_> = groups
        .group()
        .members()
        .map(|member| member.assignment.clone())
        .collect();
    assert_eq!(shares, ["share", "share"]);

    // Again, with a log that is slow to commit.
    groups.world.partition.commits_at_once = false;
    groups.join(join(&members[0]));
    groups.join(join(&members[1]));
    assert_eq!(groups.joined().len(), 2);
    groups.sync(sync(&members[1], 2, &[]));
    groups.sync(sync(&members[0], 2, &[(&members[0], b"all")]));
    assert_eq!(groups.synced(), []);
    assert_eq!(groups.group().state(), GroupState::CompletingRebalance);
    let end = groups.world.partition.end;
    groups.world.high_watermark(end);
    let synced = groups.synced();
    let shares: Vec<_> = synced
        .iter()
        .map(|(_, synced)| synced.assignment.clone())
        .collect();
    assert_eq!(
        (
            synced.len(),
            shares.contains(&"all".into()),
            shares.contains(&"".into())
        ),
        (2, true, true)
    );
}

#[test]
fn the_protocol_is_what_most_like_best_of_what_all_support() {
    let mut groups = groups();
    let likes: [&[&str]; 3] = [&["a", "b", "c"], &["b", "a"], &["b", "a", "d"]];
    for names in likes {
        let likes = Join {
            protocols: names.iter().map(|name| protocol(name)).collect(),
            ..join("")
        };
        let id = groups.id_for(likes.clone());
        groups.join(Join { member: id, ..likes });
    }
    groups.world.pass(10_000);
    assert_eq!(groups.joined()[0].1.protocol.as_deref(), Some("b"));
    let odd = Join {
        protocols: [protocol("d")].into(),
        ..join("")
    };
    let other = Join {
        protocol_type: "connect".into(),
        ..join("")
    };
    for refused in [odd, other] {
        groups.join(refused);
        assert_eq!(groups.joined()[0].1.error, ErrorCode::InconsistentGroupProtocol);
    }
}

#[test]
fn a_tie_of_the_vote_goes_to_the_first_name() {
    let mut groups = groups();
    for names in [["z", "m"], ["m", "z"]] {
        let likes = Join {
            protocols: names.iter().map(|name| protocol(name)).collect(),
            ..join("")
        };
        let id = groups.id_for(likes.clone());
        groups.join(Join { member: id, ..likes });
    }
    groups.world.pass(10_000);
    assert_eq!(groups.joined()[0].1.protocol.as_deref(), Some("m"));
}

#[test]
fn a_join_that_its_own_member_overtakes_is_answered() {
    let mut groups = groups();
    let members = groups.stable_group(2);
    // A leader that comes again begins a rebalance.
    let first = groups.join(join(&members[0]));
    let second = groups.join(join(&members[0]));
    let answers = groups.joined();
    let told: Vec<_> = answers
        .iter()
        .map(|(asked, joined)| (*asked, joined.error))
        .collect();
    assert_eq!(told, [(first, ErrorCode::RebalanceInProgress)]);
    groups.join(join(&members[1]));
    let joined = groups.joined();
    assert!(
        joined
            .iter()
            .any(|(asked, joined)| *asked == second && joined.generation == 2)
    );
}

#[test]
fn a_new_member_makes_the_others_come_again_and_who_does_not_is_out() {
    let mut groups = groups();
    let members = groups.stable_group(2);
    let third = groups.id_for(join(""));
    groups.join(join(&third));
    assert_eq!(
        groups.heartbeat(&members[0], 1),
        Ok(ErrorCode::RebalanceInProgress)
    );
    groups.join(join(&members[0]));
    assert_eq!(groups.world.answers(), [], "one is missing");
    // Beating all the while does not help it.
    for _ in 0..6 {
        groups.world.pass(4_900);
        assert_eq!(
            groups.heartbeat(&members[1], 1),
            Ok(ErrorCode::RebalanceInProgress)
        );
    }
    groups.world.facts();
    groups.world.pass(1_000);
    let joined = groups.joined();
    assert_eq!(joined.len(), 2);
    assert!(joined.iter().all(|(_, joined)| joined.generation == 2));
    assert_eq!(groups.heartbeat(&members[1], 1), Err(ErrorCode::UnknownMemberId));
    let facts = groups.world.facts();
    let removed = facts.iter().find_map(|event| match &event.fact {
        Fact::Group(GroupFact::MemberRemoved { member, why, .. }) => Some((member.clone(), *why)),
        _ => None,
    });
    assert_eq!(removed, Some((members[1].to_string(), RemovalReason::DidNotJoin)));
}

#[test]
fn a_generation_follows_from_the_rebalance_that_began_it() {
    let mut groups = groups();
    let members = groups.stable_group(1);
    groups.world.facts();
    groups.leave(&[leaving(&members[0])]);
    let facts = groups.world.facts();
    let started = facts.iter().find(|event| {
        let why = RebalanceReason::MembersLeft {
            members: vec![members[0].to_string()],
        };
        let started = GroupFact::RebalanceStarted {
            group: GROUP.into(),
            generation: 1,
            why,
        };
        event.fact == Fact::Group(started)
    });
    let formed = facts
        .iter()
        .find(|event| matches!(event.fact, Fact::Group(GroupFact::GenerationFormed { .. })));
    assert_eq!(formed.unwrap().cause, started.unwrap().id);
}

#[test]
fn who_falls_silent_is_out_and_the_rest_rebalance() {
    let mut groups = groups();
    let members = groups.stable_group(2);
    groups.world.pass(6_000);
    assert_eq!(groups.heartbeat(&members[0], 1), Ok(ErrorCode::None));
    groups.world.pass(4_500);
    assert_eq!(
        groups.heartbeat(&members[0], 1),
        Ok(ErrorCode::RebalanceInProgress)
    );
    assert_eq!(groups.heartbeat(&members[1], 1), Err(ErrorCode::UnknownMemberId));
    groups.join(join(&members[0]));
    assert_eq!(groups.joined()[0].1.generation, 2);
}

#[test]
fn who_leaves_is_out_at_once_and_an_empty_group_stays_for_its_offsets() {
    let mut groups = groups();
    let members = groups.stable_group(2);
    let nobody = leaving("nobody");
    assert_eq!(
        groups.leave(&[leaving(&members[1]), nobody]),
        [ErrorCode::None, ErrorCode::UnknownMemberId]
    );
    assert_eq!(
        groups.heartbeat(&members[0], 1),
        Ok(ErrorCode::RebalanceInProgress)
    );
    assert_eq!(groups.leave(&[leaving(&members[0])]), [ErrorCode::None]);
    assert_eq!(
        (groups.group().state(), groups.group().generation()),
        (GroupState::Empty, 2)
    );
    assert_eq!(
        groups.group().protocol_type().map(|kind| &**kind),
        Some("consumer")
    );
}

#[test]
fn who_missed_the_answer_hears_it_again_and_the_leader_begins_anew() {
    let mut groups = groups();
    let members = groups.stable_group(2);
    groups.join(join(&members[1]));
    let joined = groups.joined();
    assert_eq!((joined[0].1.generation, joined[0].1.members.len()), (1, 0));
    groups.join(join(&members[0]));
    assert_eq!(
        groups.world.answers(),
        [],
        "the leader makes everybody come again"
    );
    assert_eq!(groups.group().state(), GroupState::PreparingRebalance);
}

#[test]
fn who_never_syncs_is_out() {
    let mut groups = groups();
    let members = groups.stable_group(2);
    groups.join(join(&members[0]));
    groups.join(join(&members[1]));
    groups.joined();
    groups.sync(sync(&members[0], 2, &[]));
    groups.synced();
    for _ in 0..4 {
        groups.world.pass(9_000);
        let _ = (groups.heartbeat(&members[0], 2), groups.heartbeat(&members[1], 2));
    }
    assert_eq!(groups.heartbeat(&members[1], 2), Err(ErrorCode::UnknownMemberId));
    assert_eq!(
        groups.heartbeat(&members[0], 2),
        Ok(ErrorCode::RebalanceInProgress)
    );
}

#[test]
fn a_request_of_the_past_is_told_so() {
    let mut groups = groups();
    let members = groups.stable_group(1);
    assert_eq!(
        groups.heartbeat(&members[0], 0),
        Err(ErrorCode::IllegalGeneration)
    );
    groups.sync(sync(&members[0], 2, &[]));
    assert_eq!(groups.synced()[0].1.error, ErrorCode::IllegalGeneration);
    groups.sync(sync("nobody", 1, &[]));
    assert_eq!(groups.synced()[0].1.error, ErrorCode::UnknownMemberId);
    let mut odd = sync(&members[0], 1, &[]);
    odd.protocol = Some("sticky".into());
    groups.sync(odd);
    assert_eq!(groups.synced()[0].1.error, ErrorCode::InconsistentGroupProtocol);
    groups.join(join("nobody"));
    assert_eq!(groups.joined()[0].1.error, ErrorCode::UnknownMemberId);
}

#[test]
fn a_full_group_takes_nobody_more() {
    let mut groups = groups_with(GroupSettings {
        max_size: 2,
        ..settings()
    });
    groups.stable_group(2);
    groups.join(join(""));
    assert_eq!(groups.joined()[0].1.error, ErrorCode::GroupMaxSizeReached);
}

#[test]
fn sessions_have_bounds_and_groups_names() {
    let settings = GroupSettings::default();
    let asks = |group: &str, session_timeout_ms| {
        settings.check_join(&Join {
            group: group.into(),
            session_timeout_ms,
            ..join("")
        })
    };
    assert_eq!(asks("g", 6_000), Ok(()));
    assert_eq!(asks("", 6_000), Err(ErrorCode::InvalidGroupId));
    assert_eq!(asks("g", 5_999), Err(ErrorCode::InvalidSessionTimeout));
    assert_eq!(asks("g", 1_800_001), Err(ErrorCode::InvalidSessionTimeout));
}

#[test]
fn clients_that_never_come_again_leave_nothing_behind() {
    let mut groups = groups();
    for _ in 0..10_000 {
        groups.join(join(""));
    }
    assert_eq!(groups.group().pending_join.len(), 10_000);
    groups.world.answers();
    groups.world.pass(i64::from(SESSION_MS));
    assert_eq!(groups.group().pending_join.len(), 0);
    assert_eq!(
        groups.world.coordinators.next(),
        Some(601_000),
        "only the look for expired offsets"
    );
}

#[test]
fn a_group_goes_on_after_a_move_of_its_coordinator() {
    let mut groups = groups();
    let members = groups.stable_group(2);
    groups.move_on();
    assert_eq!(groups.group().state(), GroupState::Stable);
    assert_eq!(groups.group().leader(), Some(&members[0]));
    assert_eq!(groups.heartbeat(&members[1], 1), Ok(ErrorCode::None));
    groups.sync(sync(&members[1], 1, &[]));
    assert_eq!(groups.synced()[0].1.assignment, "share");
    // A member that does not find it in time is out.
    groups.world.pass(9_000);
    assert_eq!(groups.heartbeat(&members[1], 1), Ok(ErrorCode::None));
    groups.world.pass(2_000);
    assert_eq!(
        groups.heartbeat(&members[1], 1),
        Ok(ErrorCode::RebalanceInProgress)
    );
}

#[test]
fn who_waits_when_the_coordinator_moves_is_told() {
    let mut groups = groups();
    let members = groups.stable_group(2);
    let asked = groups.join(join(&members[0]));
    groups.world.resigned();
    assert_eq!(groups.joined()[0].1.error, ErrorCode::NotCoordinator);
    assert!(asked > 0);
}

#[test]
fn an_assignment_that_cannot_be_stored_begins_another_rebalance() {
    let mut groups = groups();
    let members = groups.stable_group(1);
    groups.join(join(&members[0]));
    groups.joined();
    groups.world.partition.refuses = Some(ErrorCode::NotEnoughReplicas);
    groups.sync(sync(&members[0], 2, &[(&members[0], b"all")]));
    assert_eq!(groups.synced()[0].1.error, ErrorCode::CoordinatorNotAvailable);
    assert_eq!(groups.group().state(), GroupState::PreparingRebalance);
}

#[test]
fn an_assignment_that_is_given_up_follows_from_its_request() {
    let mut groups = groups();
    let members = groups.stable_group(1);
    groups.join(join(&members[0]));
    groups.joined();
    groups.world.partition.commits_at_once = false;
    groups.world.facts();
    let asked = groups.world.because(Fact::TimerDue {
        timer: Timer::Consumer,
    });
    groups.sync(sync(&members[0], 2, &[(&members[0], b"all")]));
    groups.world.pass(5_000);
    assert_eq!(groups.synced()[0].1.error, ErrorCode::CoordinatorNotAvailable);
    let facts = groups.world.facts();
    let why = RebalanceReason::AssignmentNotStored;
    let ended = facts.iter().find(|event| {
        let fact = Fact::Group(GroupFact::RebalanceStarted {
            group: GROUP.into(),
            generation: 2,
            why: why.clone(),
        });
        event.fact == fact
    });
    let due = facts
        .iter()
        .find(|event| Some(event.id) == ended.map(|ended| ended.cause));
    assert_eq!(due.map(|due| due.cause), Some(asked));
}

#[test]
fn a_group_whose_first_record_cannot_be_written_never_was() {
    let mut groups = groups();
    groups.world.partition.refuses = Some(ErrorCode::NotEnoughReplicas);
    groups.join(join(""));
    assert!(groups.world.shard().group(GROUP).is_none());
}

#[test]
fn ten_thousand_who_never_come_again_cost_little_and_are_forgotten() {
    const MANY: usize = 10_000;
    let mut groups = groups();
    for _ in 0..MANY {
        groups.id_for(join(""));
        assert!(groups.world.facts().len() <= 3, "each costs the same");
    }
    // A name is kept of each, and one record of the group: no member, no generation, nobody to wait for.
    assert_eq!(groups.group().pending_join.len(), MANY);
    assert!(groups.group().members.is_empty());
    assert_eq!(groups.group().state(), GroupState::Empty);
    assert_eq!(groups.world.partition.end, 1);

    groups.world.pass(SESSION_MS.into());
    assert!(groups.group().pending_join.is_empty());
    let removed = groups.world.facts();
    let never = removed.iter().filter(|event| {
        matches!(&event.fact, Fact::Group(GroupFact::MemberRemoved { why, .. }) if *why == RemovalReason::NeverJoined)
    });
    assert_eq!(never.count(), MANY);
    assert_eq!(groups.world.partition.end, 1, "nothing is written of them");
}

#[test]
fn ten_thousand_groups_of_nobody_go_with_the_next_looks_for_offsets() {
    const MANY: usize = 10_000;
    let mut groups = groups();
    for number in 0..MANY {
        let group = format!("g{number}").into();
        groups.id_for(Join { group, ..join("") });
    }
    assert_eq!(groups.world.partition.end, MANY as i64, "a record each");
    groups.world.pass(SESSION_MS.into());
    // Slices of the look come a little apart.
    let look_ms = groups.settings.offsets_retention_check_interval_ms;
    groups.world.pass(look_ms + 1_000);
    assert!(groups.world.shard().groups.is_empty());
    groups.move_on();
    assert!(groups.world.shard().groups.is_empty());
}
