//! Committed offsets: who may commit, what survives, what expires.

use super::*;
use crate::error::ErrorCode;
use crate::group::request::{Answer, Commit, Deletion, Join};
use crate::types::Uuid;

const DAY_MS: i64 = 24 * 3600 * 1000;

fn outcome(groups: &mut Groups, commit: Commit) -> Result<Vec<ErrorCode>, ErrorCode> {
    let asked = groups.commit(commit);
    groups.answer(asked).map(|answer| match answer {
        Answer::Offsets(codes) => codes,
        other => panic!("{other:?}"),
    })
}

fn offset(groups: &Groups, topic: &str, partition: i32) -> Option<i64> {
    let offsets = groups.world.shard().offsets();
    offsets
        .get_committed(&key(topic, partition))
        .map(|found| found.offset)
}

#[test]
fn a_client_that_is_no_member_commits_to_a_group_of_nobody() {
    let mut groups = groups();
    let nobody = |offset| commit_of("", -1, &[("t", 0, offset)], 1_000);
    assert_eq!(outcome(&mut groups, nobody(5)), Ok(vec![ErrorCode::None]));
    assert_eq!(offset(&groups, "t", 0), Some(5));
    assert!(groups.group().is_empty() && groups.group().protocol_type().is_none());
    groups.stable_group(1);
    assert_eq!(outcome(&mut groups, nobody(6)), Err(ErrorCode::UnknownMemberId));
    let unknown = commit_of("m", 3, &[("t", 0, 1)], 1_000);
    let unknown = Commit {
        group: "another".into(),
        ..unknown
    };
    assert_eq!(
        outcome(&mut groups, unknown.clone()),
        Err(ErrorCode::GroupIdNotFound)
    );
    let old = Commit {
        knows_group_id_not_found: false,
        ..unknown
    };
    assert_eq!(outcome(&mut groups, old), Err(ErrorCode::IllegalGeneration));
}

#[test]
fn members_commit_in_their_generation() {
    let mut groups = groups();
    let members = groups.stable_group(1);
    let by = |member: &str, generation| commit_of(member, generation, &[("t", 0, 7)], 1_000);
    assert_eq!(
        outcome(&mut groups, by(&members[0], 0)),
        Err(ErrorCode::IllegalGeneration)
    );
    assert_eq!(
        outcome(&mut groups, by("nobody", 1)),
        Err(ErrorCode::UnknownMemberId)
    );
    assert_eq!(
        outcome(&mut groups, by(&members[0], 1)),
        Ok(vec![ErrorCode::None])
    );
    let fenced = Commit {
        who: crate::group::Identity {
            instance_id: Some("i".into()),
            ..identity(&members[0], 1)
        },
        ..by("", 1)
    };
    assert_eq!(outcome(&mut groups, fenced), Err(ErrorCode::UnknownMemberId));
    groups.join(join(&members[0]));
    groups.joined();
    assert_eq!(
        outcome(&mut groups, by(&members[0], 2)),
        Err(ErrorCode::RebalanceInProgress)
    );
}

#[test]
fn a_commit_is_a_sign_of_life() {
    let mut groups = groups();
    let members = groups.stable_group(1);
    for _ in 0..3 {
        groups.world.pass(9_000);
        assert!(outcome(&mut groups, commit_of(&members[0], 1, &[("t", 0, 7)], 1_000)).is_ok());
    }
    assert_eq!(groups.heartbeat(&members[0], 1), Ok(ErrorCode::None));
}

#[test]
fn metadata_has_a_limit_that_counts_for_each_offset() {
    let mut groups = groups();
    let mut commit = commit_of("", -1, &[("t", 0, 1), ("t", 1, 1)], 1_000);
    commit.offsets[0].1.metadata = "x".repeat(4_097).into();
    commit.offsets[1].1.metadata = "x".repeat(4_096).into();
    assert_eq!(
        outcome(&mut groups, commit),
        Ok(vec![ErrorCode::OffsetMetadataTooLarge, ErrorCode::None])
    );
    assert_eq!(
        (offset(&groups, "t", 0), offset(&groups, "t", 1)),
        (None, Some(1))
    );
}

#[test]
fn nobody_sees_an_offset_before_it_is_committed_and_everybody_after_a_move() {
    let mut groups = groups();
    groups.world.partition.commits_at_once = false;
    let asked = groups.commit(commit_of("", -1, &[("t", 0, 5)], 1_000));
    assert_eq!((offset(&groups, "t", 0), groups.world.answers()), (None, vec![]));
    let end = groups.world.partition.end;
    groups.world.high_watermark(end);
    assert_eq!(groups.answer(asked), Ok(Answer::Offsets(vec![ErrorCode::None])));
    groups.move_on();
    assert_eq!(offset(&groups, "t", 0), Some(5));
}

#[test]
fn offsets_are_deleted_where_nobody_reads() {
    let mut groups = groups();
    assert!(outcome(&mut groups, commit_of("", -1, &[("t", 0, 5), ("u", 0, 6)], 1_000)).is_ok());
    let members = groups.stable_group(1);
    let delete = |groups: &mut Groups, offsets: &[(&str, i32)]| {
        let deletion = Deletion {
            group: GROUP.into(),
            offsets: offsets
                .iter()
                .map(|&(topic, partition)| key(topic, partition))
                .collect(),
        };
        let asked = 1_000;
        let asked = crate::coordinator::testing::token(asked);
        groups
            .world
            .decide(asked, |shard, turn| shard.delete_offsets(turn, asked, &deletion));
        groups.answer(asked.part)
    };
    let codes = vec![
        ErrorCode::GroupSubscribedToTopic,
        ErrorCode::None,
        ErrorCode::None,
    ];
    assert_eq!(
        delete(&mut groups, &[("t", 0), ("u", 0), ("u", 9)]),
        Ok(Answer::Offsets(codes))
    );
    assert_eq!(
        (offset(&groups, "t", 0), offset(&groups, "u", 0)),
        (Some(5), None)
    );
    groups.leave(&[leaving(&members[0])]);
    assert!(delete(&mut groups, &[("t", 0)]).is_ok());
    assert_eq!(offset(&groups, "t", 0), None);
    groups.move_on();
    assert_eq!(offset(&groups, "t", 0), None, "a tombstone is read as one");
}

#[test]
fn offsets_of_clients_that_are_no_members_expire_after_their_commit() {
    let mut groups = groups();
    let now = groups.world.now;
    assert!(outcome(&mut groups, commit_of("", -1, &[("t", 0, 5)], now)).is_ok());
    groups.world.pass(6 * DAY_MS);
    let now = groups.world.now;
    assert!(outcome(&mut groups, commit_of("", -1, &[("t", 1, 5)], now)).is_ok());
    groups.world.pass(DAY_MS + 600_000);
    assert_eq!(
        (offset(&groups, "t", 0), offset(&groups, "t", 1)),
        (None, Some(5))
    );
    groups.world.pass(6 * DAY_MS);
    assert!(
        groups.world.shard().group(GROUP).is_none(),
        "with its last offset the group goes"
    );
}

#[test]
fn offsets_of_a_group_expire_after_its_last_member_has_left_and_never_before() {
    let mut groups = groups();
    let patient = |member: &str| Join {
        session_timeout_ms: 1_800_000,
        ..join(member)
    };
    let id = groups.id_for(patient(""));
    groups.join(patient(&id));
    groups.world.pass(3_000);
    groups.joined();
    groups.sync(sync(&id, 1, &[(&id, b"all")]));
    groups.synced();
    let members = [id];
    let commit = commit_of(&members[0], 1, &[("t", 0, 5), ("u", 0, 5)], 1_000);
    assert!(outcome(&mut groups, commit).is_ok());
    for _ in 0..9 * 24 * 3 {
        groups.world.pass(1_200_000);
        assert_eq!(groups.heartbeat(&members[0], 1), Ok(ErrorCode::None));
    }
    assert_eq!(offset(&groups, "t", 0), Some(5), "the topic is read");
    assert_eq!(offset(&groups, "u", 0), None, "nobody reads it any more");
    groups.leave(&[leaving(&members[0])]);
    groups.world.pass(7 * DAY_MS - 1_000);
    assert_eq!(offset(&groups, "t", 0), Some(5));
    groups.world.pass(700_000);
    assert_eq!(offset(&groups, "t", 0), None);
    groups.move_on();
    assert!(groups.world.shard().group(GROUP).is_none());
}

#[test]
fn an_old_client_says_itself_when_its_offset_expires() {
    let mut groups = groups();
    let mut commit = commit_of("", -1, &[("t", 0, 5)], 1_000);
    commit.offsets[0].1.expire_timestamp_ms = Some(1_000 + DAY_MS);
    assert!(outcome(&mut groups, commit).is_ok());
    groups.move_on();
    groups.world.pass(DAY_MS - 1_000);
    assert_eq!(offset(&groups, "t", 0), Some(5));
    groups.world.pass(700_000);
    assert_eq!(offset(&groups, "t", 0), None);
}

#[test]
fn the_offsets_of_a_deleted_topic_go_and_those_of_its_namesake_stay() {
    let mut groups = groups();
    let [old, new] = [Uuid([1; 16]), Uuid([2; 16])];
    let mut commit = commit_of("", -1, &[("t", 0, 5), ("t", 1, 6), ("u", 0, 7)], 1_000);
    commit.offsets[0].1.topic_id = old;
    commit.offsets[1].1.topic_id = new;
    assert!(outcome(&mut groups, commit).is_ok());
    let many: Vec<_> = (0..2_500).map(|partition| ("s", partition, 1)).collect();
    assert!(outcome(&mut groups, commit_of("", -1, &many, 1_000)).is_ok());
    let asked = crate::coordinator::testing::token(0);
    groups
        .world
        .decide(asked, |shard, turn| shard.topic_deleted(turn, "t".into(), old));
    groups
        .world
        .decide(asked, |shard, turn| shard.topic_deleted(turn, "s".into(), old));
    groups.world.pass(20);
    assert_eq!(
        (offset(&groups, "t", 0), offset(&groups, "t", 1)),
        (None, Some(6))
    );
    assert_eq!(
        (offset(&groups, "u", 0), groups.world.shard().offsets().len()),
        (Some(7), 2)
    );
}

#[test]
fn names_that_no_record_can_hold_are_refused() {
    let mut groups = groups();
    let long: std::sync::Arc<str> = "x".repeat(40_000).into();
    let mut commit = commit_of("", -1, &[("t", 0, 5)], 1_000);
    commit.offsets[0].0.group = long.clone();
    assert_eq!(outcome(&mut groups, commit), Err(ErrorCode::UnknownServerError));
    let asked = groups.join(Join {
        client_id: long,
        ..join("")
    });
    assert_eq!(groups.answer(asked), Err(ErrorCode::UnknownServerError));
}
