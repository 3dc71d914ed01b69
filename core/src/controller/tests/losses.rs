//! What is decided when something is lost or refused: leaders, directories, the office; and leaders that
//! go back to where they belong.

use super::events::alter;
use super::office::{Office, name};
use crate::controller::{ControllerEvent, ElectionKind};
use crate::coordination::Multi;
use crate::error::ErrorCode;
use crate::metadata::{Decide, nodes};
use crate::protocol::messages::MetadataResponse;

#[test]
fn an_unclean_leader_is_elected_only_when_that_is_allowed() {
    let mut office = Office::new(3);
    office.create("a", &[&[2, 3]]).unwrap();
    office.run();
    office.kill(&[3]);
    office.run();
    office.kill(&[2]);
    office.register(3);
    office.run();
    assert_eq!(office.state("a", 0), "-1 2 [2] of [2, 3]");
    let results = office.with(|controller, cx| {
        let results = controller.elect_leaders(
            cx,
            ElectionKind::Preferred,
            Some(vec![name("a", 0), name("b", 0)]),
        );
        controller.seal(cx);
        results
    });
    let codes: Vec<_> = results
        .into_values()
        .map(|result| result.unwrap_err().code)
        .collect();
    assert_eq!(
        codes,
        [
            ErrorCode::PreferredLeaderNotAvailable,
            ErrorCode::UnknownTopicOrPartition
        ]
    );
    let topic = office.controller.image().topic("a").unwrap().clone();
    let settings = [("unclean.leader.election.enable".to_owned(), "true".to_owned())].into();
    let multi = crate::metadata::configs::set_topic(&topic, settings);
    office.with(|controller, cx| {
        controller.decide(cx, &multi).unwrap();
        controller.seal(cx);
    });
    office.run();
    assert_eq!(office.state("a", 0), "3 3 [3] of [2, 3]");
    assert!(
        office
            .said
            .iter()
            .any(|line| line.contains("records may be lost"))
    );
    let state: nodes::PartitionState = nodes::read(&office.tree, "/brokers/topics/a/partitions/0/state")
        .unwrap()
        .unwrap();
    assert_eq!(state.leader_recovery_state, 1);
}

#[test]
fn a_deposed_controller_fails_its_first_write_and_tells_nobody() {
    let mut office = Office::new(2);
    office.create("a", &[&[1, 2]]).unwrap();
    office.run();
    office.heard();
    office.depose();
    office.create("b", &[&[1, 2]]).unwrap();
    office.with(|controller, cx| controller.answer(cx, 9, MetadataResponse::default()));
    office.run();
    assert_eq!(
        office.resigned.as_deref(),
        Some("another controller was elected since")
    );
    assert_eq!(office.abandoned, [9]);
    assert_eq!(office.heard(), Vec::<String>::new());
    assert!(!office.tree.exists("/brokers/topics/b"));
    office.with(|controller, cx| controller.answer(cx, 10, MetadataResponse::default()));
    assert_eq!(office.abandoned, [9, 10]);
}

#[test]
fn an_outcome_that_is_not_known_is_read() {
    for happened in [true, false] {
        let mut office = Office::new(2);
        office.create("a", &[&[1, 2]]).unwrap();
        office.with(|controller, cx| controller.answer(cx, 9, MetadataResponse::default()));
        office.lose(happened);
        assert!(office.answers.is_empty());
        office.run();
        assert_eq!(office.answers.contains_key(&9), happened);
        assert_eq!(office.resigned.is_none(), happened);
    }
}

#[test]
fn leaders_go_back_where_they_belong() {
    let mut office = Office::new(3);
    office.create("a", &[&[2, 3]]).unwrap();
    office.run();
    office.kill(&[2]);
    office.run();
    office.register(2);
    office.run();
    assert_eq!(alter(&mut office, 3, &[3, 2], (1, 1)), "[3, 2] at 2");
    office.now = office.controller.poll_timeout().unwrap();
    assert_eq!(office.now, 5_000);
    office.event(ControllerEvent::Tick);
    office.run();
    assert_eq!(office.state("a", 0), "2 2 [3, 2] of [2, 3]");
    assert_eq!(office.controller.poll_timeout(), Some(305_000));
}

#[test]
fn a_preferred_election_that_a_tool_asks_for() {
    let mut office = Office::new(3);
    office.create("a", &[&[2, 3]]).unwrap();
    office.run();
    office.kill(&[2]);
    office.run();
    office.register(2);
    office.run();
    alter(&mut office, 3, &[3, 2], (1, 1));
    let wish = r#"{"version":1,"partitions":[{"topic":"a","partition":0},{"topic":"x","partition":0}]}"#;
    for round in 0..2 {
        office.outside(&Multi::new().create(nodes::PREFERRED_REPLICA_ELECTION, wish));
        office.run();
        assert_eq!(office.state("a", 0), "2 2 [3, 2] of [2, 3]", "round {round}");
        assert!(!office.tree.exists(nodes::PREFERRED_REPLICA_ELECTION));
    }
}

#[test]
fn a_failed_directory_moves_leadership_away() {
    let mut office = Office::new(3);
    office.create("a", &[&[2, 3]]).unwrap();
    office.create("b", &[&[2]]).unwrap();
    office.run();
    office.failed.insert((2, name("a", 0)));
    let event = nodes::write(&nodes::LogDirEvent::failure(2));
    office.outside(&Multi::new().create_sequential("/log_dir_event_notification/log_dir_event_", event));
    office.run();
    assert_eq!(office.state("a", 0), "3 1 [3] of [2, 3]");
    assert_eq!(office.state("b", 0), "2 0 [2] of [2]");
    assert_eq!(
        office.tree.children(nodes::LOG_DIR_EVENTS).count(),
        0,
        "dealt with"
    );
    let heard = office.heard();
    assert!(
        heard.iter().any(|line| line.contains("a-0=3 offline [2]")),
        "{heard:?}"
    );
}

#[test]
fn a_broker_that_cannot_be_reached_hears_everything_later_and_in_order() {
    let mut office = Office::new(2);
    office.mute.insert(2);
    office.create("a", &[&[2, 1]]).unwrap();
    office.run();
    office.mute.clear();
    office.heard();
    office.now = office.controller.poll_timeout().unwrap();
    office.event(ControllerEvent::Tick);
    office.run();
    let heard = office.heard();
    let mine: Vec<_> = heard.iter().filter(|line| line.starts_with("2:")).collect();
    assert_eq!(
        mine,
        ["2: LeaderAndIsr a-0=2/0 new", "2: UpdateMetadata of [1, 2] a-0=2"]
    );
}
