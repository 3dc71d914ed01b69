//! One event each, and what follows.

use std::sync::Arc;

use super::office::{Office, name};
use crate::controller::ControllerEvent;
use crate::coordination::Multi;
use crate::error::ErrorCode;
use crate::metadata::{Decide, nodes};
use crate::protocol::ResponseBody;
use crate::protocol::control::ControlledShutdownRequest;
use crate::protocol::messages::alter_partition_request::{BrokerState, PartitionData, TopicData};
use crate::protocol::messages::{AlterPartitionRequest, MetadataResponse, message};
use crate::types::BrokerId;

/// Asks for this ISR in the name of `leader`, each member with its present epoch.
pub(super) fn alter(office: &mut Office, leader: BrokerId, isr: &[BrokerId], epochs: (i32, i32)) -> String {
    let members: Vec<(BrokerId, i64)> = isr.iter().map(|id| (*id, office.broker_epoch(*id))).collect();
    alter_with(office, leader, &members, epochs)
}

fn alter_with(
    office: &mut Office,
    leader: BrokerId,
    members: &[(BrokerId, i64)],
    epochs: (i32, i32),
) -> String {
    let id = office.controller.image().topic("a").unwrap().id;
    let request = message(|request: &mut AlterPartitionRequest| {
        request.broker_id = leader;
        request.broker_epoch = office.broker_epoch(leader);
        request.topics = vec![message(|topic: &mut TopicData| {
            topic.topic_id = id.into();
            topic.partitions = vec![message(|partition: &mut PartitionData| {
                (partition.leader_epoch, partition.partition_epoch) = epochs;
                partition.new_isr_with_epochs = members
                    .iter()
                    .map(|(broker, epoch)| {
                        message(|member: &mut BrokerState| {
                            (member.broker_id, member.broker_epoch) = (*broker, *epoch);
                        })
                    })
                    .collect();
            })];
        })];
    });
    office.answers.remove(&7);
    office.event(ControllerEvent::AlterPartition {
        caller: 7,
        version: 3,
        request,
    });
    office.run();
    let Some(ResponseBody::AlterPartition(answer)) = office.answers.get(&7) else {
        panic!("no answer");
    };
    let code = |code: i16| ErrorCode::from_code(code).unwrap().to_string();
    match answer.topics.first() {
        None => code(answer.error_code),
        Some(topic) => match &topic.partitions[0] {
            partition if partition.error_code != 0 => code(partition.error_code),
            partition => format!("{:?} at {}", partition.isr, partition.partition_epoch),
        },
    }
}

#[test]
fn a_topic_is_told_when_it_is_written_and_not_before() {
    let mut office = Office::new(3);
    office.heard();
    office.create("a", &[&[1, 2], &[3, 1]]).unwrap();
    office.with(|controller, cx| controller.answer(cx, 5, MetadataResponse::default()));
    assert_eq!(office.heard(), Vec::<String>::new());
    assert!(office.answers.is_empty());
    office.run();
    assert!(office.answers.contains_key(&5));
    assert_eq!(office.state("a", 0), "1 0 [1, 2] of [1, 2]");
    let heard = office.heard();
    let first = |broker: &str| {
        heard
            .iter()
            .find(|line| line.starts_with(broker))
            .unwrap()
            .clone()
    };
    assert_eq!(first("1"), "1: LeaderAndIsr a-0=1/0 new a-1=3/0 new");
    assert_eq!(first("2"), "2: LeaderAndIsr a-0=1/0 new");
    assert!(
        heard.contains(&"2: UpdateMetadata of [1, 2, 3] a-0=1 a-1=3".to_owned()),
        "{heard:?}"
    );
    let twice = office.create("a", &[&[1]]).unwrap_err();
    assert_eq!(twice.code, ErrorCode::TopicAlreadyExists);
}

#[test]
fn the_next_of_the_isr_leads_and_two_lost_at_once_are_both_dead() {
    let mut office = Office::new(3);
    office.create("a", &[&[1, 2, 3]]).unwrap();
    office.run();
    office.kill(&[1, 2]);
    office.run();
    assert_eq!(office.state("a", 0), "3 1 [3] of [1, 2, 3]");
    office.kill(&[3]);
    office.run();
    assert_eq!(
        office.state("a", 0),
        "-1 2 [3] of [1, 2, 3]",
        "the last of the ISR stays in it"
    );
    office.register(1);
    office.run();
    assert_eq!(
        office.state("a", 0),
        "-1 2 [3] of [1, 2, 3]",
        "who was not in sync does not lead"
    );
    office.register(3);
    office.run();
    assert_eq!(office.state("a", 0), "3 3 [3] of [1, 2, 3]");
}

#[test]
fn a_bounce_that_nobody_saw_costs_the_office_and_comes_back_as_a_follower() {
    let mut office = Office::new(3);
    office.create("a", &[&[2, 3]]).unwrap();
    office.run();
    office.heard();
    office.register(2);
    office.run();
    assert_eq!(office.state("a", 0), "3 1 [3] of [2, 3]");
    let heard = office.heard();
    assert!(heard.contains(&"2: LeaderAndIsr a-0=3/1".to_owned()), "{heard:?}");
    let place = |word: &str| heard.iter().position(|said| said.starts_with(word));
    let known = place("2: UpdateMetadata");
    assert!(known.is_some() && known < place("2: LeaderAndIsr"), "{heard:?}");
}

#[test]
fn after_a_kill_of_everything_leaders_begin_a_new_epoch() {
    let mut office = Office::new(2);
    office.create("a", &[&[1, 2], &[2, 1]]).unwrap();
    office.run();
    office
        .tree
        .apply(
            &Multi::new()
                .delete(nodes::broker(1), None)
                .delete(nodes::broker(2), None),
            1,
        )
        .unwrap();
    for id in [1, 2] {
        office.register(id);
    }
    office.next_controller();
    office.run();
    assert_eq!(office.state("a", 0), "1 1 [1, 2] of [1, 2]");
    assert_eq!(office.state("a", 1), "2 1 [2, 1] of [2, 1]");
    office.next_controller();
    office.run();
    assert_eq!(
        office.state("a", 0),
        "1 1 [1, 2] of [1, 2]",
        "nobody was restarted since"
    );
}

#[test]
fn alter_partition_is_judged_as_kafka_judges_it() {
    let mut office = Office::new(3);
    office.create("a", &[&[1, 2, 3]]).unwrap();
    office.run();
    assert_eq!(alter(&mut office, 1, &[1, 2], (0, 0)), "[1, 2] at 1");
    assert_eq!(
        alter(&mut office, 1, &[1, 2], (0, 0)),
        "[1, 2] at 1",
        "asked again"
    );
    assert_eq!(alter(&mut office, 1, &[1], (0, 0)), "INVALID_UPDATE_VERSION");
    assert_eq!(alter(&mut office, 1, &[1], (0, 2)), "NOT_CONTROLLER");
    assert_eq!(alter(&mut office, 1, &[1], (1, 1)), "NOT_CONTROLLER");
    assert_eq!(
        alter(&mut office, 2, &[2], (0, 1)),
        "INVALID_REQUEST",
        "it does not lead"
    );
    assert_eq!(
        alter(&mut office, 1, &[2], (0, 1)),
        "INVALID_REQUEST",
        "without the leader"
    );
    assert_eq!(
        alter(&mut office, 1, &[1, 9], (0, 1)),
        "INVALID_REQUEST",
        "no replica"
    );
    let third = office.broker_epoch(3);
    assert_eq!(alter_with(&mut office, 9, &[], (0, 1)), "STALE_BROKER_EPOCH");
    office.kill(&[3]);
    office.run();
    assert_eq!(
        alter_with(&mut office, 1, &[(1, -1), (3, third)], (0, 1)),
        "INELIGIBLE_REPLICA"
    );
    office.register(3);
    office.run();
    let old_life = [(1, -1), (2, -1), (3, third)];
    assert_eq!(
        alter_with(&mut office, 1, &old_life, (0, 1)),
        "INELIGIBLE_REPLICA"
    );
    office.controller.check_broker_epochs(false);
    assert_eq!(alter_with(&mut office, 1, &old_life, (0, 1)), "[1, 2, 3] at 2");
    office.kill(&[1]);
    office.register(1);
    office.run();
    assert_eq!(alter(&mut office, 1, &[1], (0, 2)), "FENCED_LEADER_EPOCH");
}

#[test]
fn a_leaving_broker_gives_its_leadership_away_first() {
    let mut office = Office::new(3);
    office.create("a", &[&[2, 3], &[3, 2]]).unwrap();
    office.create("b", &[&[2]]).unwrap();
    office.run();
    office.heard();
    let leave = |office: &mut Office, caller, broker_epoch| {
        let request = ControlledShutdownRequest {
            broker_id: 2,
            broker_epoch,
        };
        office.event(ControllerEvent::ControlledShutdown { caller, request });
        office.run();
        match &office.answers[&caller] {
            ResponseBody::ControlledShutdown(answer) => answer.clone(),
            other => panic!("{other:?}"),
        }
    };
    let stale = leave(&mut office, 1, 0);
    assert_eq!(stale.error_code, ErrorCode::StaleBrokerEpoch);
    let epoch = office.broker_epoch(2);
    let answer = leave(&mut office, 2, epoch);
    assert_eq!(
        (answer.error_code, answer.remaining_partitions.len()),
        (ErrorCode::None, 0)
    );
    assert_eq!(office.state("a", 0), "3 1 [3] of [2, 3]");
    assert_eq!(office.state("a", 1), "3 1 [3] of [3, 2]");
    assert_eq!(
        office.state("b", 0),
        "2 0 [2] of [2]",
        "nobody could take it over"
    );
    assert!(office.heard().contains(&"2: StopReplica a-1".to_owned()));
    assert_eq!(
        alter(&mut office, 3, &[3, 2], (1, 1)),
        "INELIGIBLE_REPLICA",
        "it is leaving"
    );
}

#[test]
fn a_controlled_shutdown_tells_what_nobody_can_take_over() {
    let mut office = Office::new(2);
    office.create("a", &[&[1, 2]]).unwrap();
    office.run();
    office.kill(&[2]);
    office.run();
    let request = ControlledShutdownRequest {
        broker_id: 1,
        broker_epoch: -1,
    };
    office.event(ControllerEvent::ControlledShutdown { caller: 3, request });
    office.run();
    match &office.answers[&3] {
        ResponseBody::ControlledShutdown(answer) => assert_eq!(answer.remaining_partitions, [name("a", 0)]),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_partition_moves_when_the_new_replicas_have_caught_up() {
    let mut office = Office::new(4);
    office.create("a", &[&[1, 2]]).unwrap();
    office.run();
    office.heard();
    let start = |office: &mut Office, target: Option<&[BrokerId]>| {
        let moved = office.with(|controller, cx| {
            let moved = controller.reassign(cx, &name("a", 0), target);
            controller.seal(cx);
            moved
        });
        office.run();
        moved.map_err(|refused| refused.to_string())
    };
    start(&mut office, Some(&[3, 4])).unwrap();
    assert_eq!(office.state("a", 0), "1 1 [1, 2] of [3, 4, 1, 2]");
    assert!(office.heard().contains(&"3: LeaderAndIsr a-0=1/1 new".to_owned()));
    office.next_controller();
    office.run();
    let epoch = |office: &Office| office.controller.image().topic("a").unwrap().partitions[0].leader_epoch;
    let (at, version) = (epoch(&office), office.version("a", 0));
    assert_eq!(
        alter(&mut office, 1, &[1, 2, 3], (at, version)),
        format!("[1, 2, 3] at {}", version + 1)
    );
    office.heard();
    alter(&mut office, 1, &[1, 2, 3, 4], (at, version + 1));
    assert_eq!(office.state("a", 0), format!("3 {} [3, 4] of [3, 4]", at + 1));
    let heard = office.heard();
    assert!(
        heard.contains(&"1: StopReplica a-0 delete".to_owned()),
        "{heard:?}"
    );
    assert!(office.controller.reassignments(None).is_empty());

    start(&mut office, Some(&[1])).unwrap();
    start(&mut office, None).unwrap();
    assert!(
        office.state("a", 0).ends_with("[3, 4] of [3, 4]"),
        "{}",
        office.state("a", 0)
    );
    assert_eq!(
        start(&mut office, None).unwrap_err(),
        "NO_REASSIGNMENT_IN_PROGRESS: No partition reassignment is in progress."
    );
    assert!(
        start(&mut office, Some(&[9]))
            .unwrap_err()
            .starts_with("INVALID_REPLICA_ASSIGNMENT")
    );
}

#[test]
fn what_tools_write_is_taken_up() {
    let mut office = Office::new(3);
    office.create("a", &[&[1, 2]]).unwrap();
    office.run();
    office.outside(&Multi::new().create("/brokers/topics/b", r#"{"version":1,"partitions":{"0":[2,3]}}"#));
    office.run();
    assert_eq!(office.state("b", 0), "2 0 [2, 3] of [2, 3]");
    assert!(
        !office.controller.image().topic("b").unwrap().id.is_zero(),
        "it got an id"
    );
    let assignment: nodes::TopicAssignment = nodes::read(&office.tree, "/brokers/topics/b").unwrap().unwrap();
    let mut more = assignment;
    more.partitions.insert(1, vec![3]);
    office.outside(&Multi::new().set("/brokers/topics/b", nodes::write(&more), None));
    office.run();
    assert_eq!(office.state("b", 1), "3 0 [3] of [3]");

    let wish = r#"{"version":1,"partitions":[{"topic":"a","partition":0,"replicas":[3]},{"topic":"x","partition":0,"replicas":[1]}]}"#;
    office.outside(&Multi::new().create(nodes::REASSIGN_PARTITIONS, wish));
    office.run();
    let left: nodes::Reassignments = nodes::read(&office.tree, nodes::REASSIGN_PARTITIONS)
        .unwrap()
        .unwrap();
    assert_eq!(
        left.partitions.len(),
        1,
        "the unknown one is taken out, the other is under way"
    );
    let (epoch, version) = (1, office.version("a", 0));
    alter(&mut office, 1, &[1, 2, 3], (epoch, version));
    assert!(
        office.state("a", 0).ends_with("[3] of [3]"),
        "{}",
        office.state("a", 0)
    );
    assert!(
        !office.tree.exists(nodes::REASSIGN_PARTITIONS),
        "done, and taken away"
    );

    office.outside(
        &Multi::new()
            .create("/admin/delete_topics/b", "")
            .create("/admin/delete_topics/none", ""),
    );
    office.run();
    assert!(!office.tree.exists("/brokers/topics/b") && !office.tree.exists("/admin/delete_topics/b"));
    assert!(!office.tree.exists("/admin/delete_topics/none"));
}

#[test]
fn a_bad_node_is_said_and_stops_nothing() {
    let mut office = Office::empty(2);
    let bad = Multi::new()
        .create("/brokers/topics/bad", "{")
        .create("/brokers/topics/empty", "")
        .create("/brokers/topics/gap", r#"{"version":1,"partitions":{"1":[1]}}"#)
        .create("/brokers/topics/none", r#"{"version":1,"partitions":{"0":[]}}"#)
        .create("/brokers/ids/x", "{}")
        .create("/brokers/ids/7", "[]")
        .create("/config/brokers/y", "{}")
        .create(nodes::REASSIGN_PARTITIONS, "[1")
        .create(nodes::PREFERRED_REPLICA_ELECTION, "5")
        .create("/brokers/topics/good", r#"{"version":1,"partitions":{"0":[1]}}"#);
    office.tree.apply(&bad, 1).unwrap();
    office.run();
    assert_eq!(office.resigned, None);
    assert_eq!(office.state("good", 0), "1 0 [1] of [1]");
    for path in [
        "topics/bad",
        "topics/empty",
        "topics/gap",
        "topics/none",
        "ids/x",
        "ids/7",
        "brokers/y",
        "reassign",
    ] {
        assert!(
            office.said.iter().any(|line| line.contains(path)),
            "{path}: {:?}",
            office.said
        );
    }
    assert!(!office.tree.exists(nodes::PREFERRED_REPLICA_ELECTION));
    office.create("a", &[&[1, 2]]).unwrap();
    office.outside(&Multi::new().create("/brokers/topics/later", "nonsense").set(
        "/brokers/topics/good",
        "x",
        None,
    ));
    office.run();
    assert_eq!(office.state("a", 0), "1 0 [1, 2] of [1, 2]");
    assert!(
        office.controller.image().topic("good").is_some(),
        "what was known holds on"
    );
}

#[test]
fn a_topic_is_deleted_when_every_replica_is_gone() {
    let mut office = Office::new(3);
    office.create("a", &[&[1, 2], &[2, 3]]).unwrap();
    office.run();
    let id = office.controller.image().topic("a").unwrap().id;
    office.kill(&[3]);
    office.run();
    office.heard();
    office.delete("a");
    let names = [Arc::from("a")];
    office.with(|controller, cx| {
        controller.answer_when_deleted(cx, 4, &names, 30_000, MetadataResponse::default());
    });
    office.run();
    let heard = office.heard();
    assert!(
        heard.contains(&"1: StopReplica a-0 delete".to_owned()),
        "{heard:?}"
    );
    assert!(
        heard.contains(&"1: UpdateMetadata of [1, 2] a-0=-2 a-1=-2 offline [3]".to_owned()),
        "{heard:?}"
    );
    assert!(
        office.tree.exists("/brokers/topics/a"),
        "broker 3 has its files still"
    );
    assert!(office.answers.is_empty() && office.controller.image().topic("a").is_none());
    assert_eq!(
        office.create("a", &[&[1]]).unwrap_err().code,
        ErrorCode::TopicAlreadyExists
    );
    office.next_controller();
    office.run();
    office.heard();
    office.register(3);
    office.run();
    let heard = office.heard();
    let place = |word: &str| heard.iter().position(|said| said == word);
    let told = [
        place("3: UpdateMetadata of [1, 2, 3] a-0=-2 a-1=-2"),
        place("3: LeaderAndIsr"),
        place("3: StopReplica a-1 delete"),
    ];
    assert!(told[0].is_some() && told.is_sorted(), "{heard:?}");
    assert!(!office.tree.exists("/brokers/topics/a") && !office.tree.exists("/admin/delete_topics/a"));
    office.create("a", &[&[1]]).unwrap();
    office.run();
    assert_ne!(office.controller.image().topic("a").unwrap().id, id);
    office.delete("a");
    office.with(|controller, cx| {
        controller.answer_when_deleted(cx, 6, &names, 30_000, MetadataResponse::default());
    });
    office.run();
    assert!(
        office.answers.contains_key(&6),
        "all brokers live: the name is free when the answer comes"
    );
}
