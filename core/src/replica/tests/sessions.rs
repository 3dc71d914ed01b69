//! Fetch sessions from the follower's side.

use crate::error::ErrorCode;
use crate::protocol::StrBytes;
use crate::protocol::fetch::{
    FetchPartition, FetchSession, Fetched, FetchedPartition, FetchedRecords, FetchedTopic, Wanted,
};
use crate::types::{Offset, TopicPartition, Uuid};

const ID: Uuid = Uuid([7; 16]);

fn wanted(partition: i32, fetch_offset: Offset) -> Wanted {
    let asked = FetchPartition {
        partition,
        fetch_offset,
        ..FetchPartition::default()
    };
    (TopicPartition::new("t", partition), Some((ID, asked)))
}

fn answer(error_code: ErrorCode, session_id: i32, partitions: &[i32]) -> Fetched {
    let part = |&partition: &i32| FetchedPartition {
        partition,
        error_code: ErrorCode::None,
        high_watermark: 0,
        log_start_offset: 0,
        diverging_epoch: None,
        current_leader: None,
        records: Ok(FetchedRecords::default()),
    };
    Fetched {
        error_code,
        session_id,
        topics: vec![FetchedTopic {
            name: StrBytes::default(),
            topic_id: ID,
            partitions: partitions.iter().map(part).collect(),
        }],
        node_endpoints: Vec::new(),
    }
}

/// Session id and epoch of the next request, the partitions that it names, those that it forgets.
fn build(session: &mut FetchSession, wanted: Vec<Wanted>) -> (i32, i32, Vec<i32>, Vec<i32>) {
    let built = session.build(wanted).unwrap();
    let named = built.topics.iter().flat_map(|topic| &topic.partitions);
    let forgotten = built.forgotten.iter().flat_map(|topic| &topic.partitions);
    (
        built.session_id,
        built.session_epoch,
        named.map(|partition| partition.partition).collect(),
        forgotten.copied().collect(),
    )
}

fn opened() -> FetchSession {
    let mut session = FetchSession::default();
    let first = build(&mut session, vec![wanted(0, 0), wanted(1, 0)]);
    assert_eq!(first, (0, 0, vec![0, 1], vec![]));
    assert!(session.answered(&answer(ErrorCode::None, 5, &[0, 1])));
    session
}

#[test]
fn after_the_first_fetch_only_changes_are_said() {
    let mut session = opened();
    let gone = (TopicPartition::new("t", 0), None);
    let next = vec![gone, wanted(1, 0), wanted(2, 0)];
    assert_eq!(build(&mut session, next), (5, 1, vec![2], vec![0]));
    assert!(session.answered(&answer(ErrorCode::None, 5, &[2])));
    assert_eq!(build(&mut session, vec![wanted(1, 9)]), (5, 2, vec![1], vec![]));
    assert!(session.answered(&answer(ErrorCode::None, 5, &[])));
    assert_eq!(build(&mut session, vec![]), (5, 3, vec![], vec![]));
}

#[test]
fn a_session_that_the_leader_forgot_or_that_lost_count_starts_anew() {
    for (code, id) in [
        (ErrorCode::FetchSessionIdNotFound, 0),
        (ErrorCode::InvalidFetchSessionEpoch, 5),
    ] {
        let mut session = opened();
        build(&mut session, vec![wanted(0, 3)]);
        assert!(!session.answered(&answer(code, 0, &[])));
        assert!(session.is_full());
        let all = vec![wanted(0, 3), wanted(1, 0)];
        assert_eq!(build(&mut session, all), (id, 0, vec![0, 1], vec![]), "{code}");
    }
    let mut session = opened();
    build(&mut session, vec![]);
    session.failed();
    assert_eq!(build(&mut session, vec![wanted(0, 0)]), (5, 0, vec![0], vec![]));
}

#[test]
fn an_answer_that_names_others_or_not_all_is_not_looked_at() {
    let mut session = opened();
    build(&mut session, vec![]);
    assert!(!session.answered(&answer(ErrorCode::None, 5, &[7])));
    assert_eq!(build(&mut session, vec![wanted(0, 0), wanted(1, 0)]).1, 0);
    assert!(
        !session.answered(&answer(ErrorCode::None, 6, &[0])),
        "partition 1 is missing"
    );
}

#[test]
fn a_partition_of_a_topic_made_anew_replaces_the_old_one() {
    let mut session = opened();
    let (name, asked) = wanted(0, 0);
    let asked = asked.map(|(_, asked)| (Uuid([8; 16]), asked));
    assert_eq!(build(&mut session, vec![(name, asked)]), (5, 1, vec![0], vec![0]));
}

#[test]
fn with_nothing_to_fetch_or_to_forget_there_is_no_request() {
    let mut session = FetchSession::default();
    assert_eq!(session.build(vec![(TopicPartition::new("t", 0), None)]), None);
}
