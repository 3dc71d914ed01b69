//! Looks at all partitions in steps, and what happens between two of them.

use super::office::{Office, name};
use crate::controller::passes::PARTITIONS_A_STEP;
use crate::controller::{ControlRequest, ControllerEvent};
use crate::ordered::OrderedSet;
use crate::protocol::ResponseBody;
use crate::protocol::control::ControlledShutdownRequest;
use crate::protocol::messages::MetadataResponse;
use crate::types::BrokerId;

/// Partitions that one step looks at, in these tests.
const A_STEP: usize = 3;

/// Eight partitions of two topics, all led by broker 2 and followed by 3 and 1.
fn office(a_step: usize) -> Office {
    let mut office = Office::stepping(3, a_step);
    let replicas: &[BrokerId] = &[2, 3, 1];
    office.create("a", &[replicas; 5]).unwrap();
    office.create("b", &[replicas; 3]).unwrap();
    office.run();
    office.heard();
    office.told.clear();
    office
}

fn states(office: &Office) -> Vec<String> {
    let all = [("a", 5), ("b", 3)];
    let all = all
        .iter()
        .flat_map(|(topic, count)| (0..*count).map(move |index| (topic, index)));
    all.map(|(topic, index)| office.state(topic, index)).collect()
}

/// Until the first step of something long has been done.
fn until_work(office: &mut Office) {
    while !office.controller.has_work() {
        assert!(office.serve(), "something long is to be done");
    }
}

/// Partitions that each step of what is long decides, the first of them done already.
fn decided_by_steps(office: &mut Office) -> Vec<usize> {
    let mut steps = vec![office.states_asked()];
    while office.controller.has_work() {
        while office.states_asked() > 0 && office.controller.has_work() {
            // What is asked is answered, which brings the next step.
            let before = office.states_asked();
            office.work();
            steps.push(office.states_asked() - before);
        }
    }
    steps
}

#[test]
fn a_step_looks_at_so_many_partitions_and_all_of_them_come_to_the_same() {
    assert_eq!(PARTITIONS_A_STEP, 10_000);
    let mut at_once = office(PARTITIONS_A_STEP);
    at_once.kill(&[2]);
    at_once.run();
    let mut office = office(A_STEP);
    office.kill(&[2]);
    until_work(&mut office);
    assert_eq!(decided_by_steps(&mut office), [3, 3, 2]);
    office.run();
    assert_eq!(states(&office), states(&at_once));
    assert_eq!(states(&office)[0], "3 1 [3, 1] of [2, 3, 1]");
}

#[test]
fn a_broker_that_is_back_hears_nothing_before_all_that_it_lost_is_decided() {
    let mut office = office(A_STEP);
    office.kill(&[2]);
    until_work(&mut office);
    office.register(2);
    office.run();
    assert!(
        states(&office)
            .iter()
            .all(|state| state.starts_with("3 1 [3, 1]"))
    );
    let mut named = OrderedSet::new();
    for (broker, word) in &office.told {
        if let (2, ControlRequest::LeaderAndIsr(word)) = (*broker, word) {
            for topic in &word.topics {
                for partition in &topic.partitions {
                    assert_eq!((partition.leader, partition.leader_epoch), (3, 1));
                    named.insert((topic.name.clone(), partition.partition_index));
                }
            }
        }
    }
    assert_eq!(named.len(), 8, "it is told all of its replicas");
}

#[test]
fn another_that_is_lost_in_the_middle_leads_nothing_in_the_end() {
    let mut office = office(A_STEP);
    office.kill(&[2]);
    until_work(&mut office);
    office.kill(&[3]);
    office.run();
    let led_by_1 = |state: &String| state.starts_with("1 ") && state.contains(" [1] of ");
    assert!(states(&office).iter().all(led_by_1), "{:?}", states(&office));
}

#[test]
fn a_broker_that_bounced_leads_nothing_as_it_did() {
    let mut office = office(A_STEP);
    office.register(2);
    office.run();
    assert!(
        states(&office)
            .iter()
            .all(|state| state.starts_with("3 1 [3, 1]")),
        "{:?}",
        states(&office)
    );
}

#[test]
fn requests_in_the_middle_are_answered_and_meet_what_is_decided() {
    let mut office = office(A_STEP);
    office.kill(&[2]);
    until_work(&mut office);
    office.delete("b");
    office.create("0-first", &[&[3, 1]]).unwrap();
    office.with(|controller, cx| controller.answer(cx, 9, MetadataResponse::default()));
    assert!(office.controller.has_work());
    office.run();
    assert!(office.answers.contains_key(&9));
    assert_eq!(office.state("0-first", 0), "3 0 [3, 1] of [3, 1]");
    assert_eq!(office.state("a", 4), "3 1 [3, 1] of [2, 3, 1]");
    assert!(
        office.controller.image().topic_even_deleting("b").is_some(),
        "a replica of it is away"
    );
    office.register(2);
    office.run();
    assert!(!office.tree.exists("/brokers/topics/b"));
}

#[test]
fn who_resigns_in_the_middle_does_no_more_of_it() {
    let mut office = office(A_STEP);
    let leaving = ControlledShutdownRequest {
        broker_id: 2,
        broker_epoch: -1,
    };
    office.event(ControllerEvent::ControlledShutdown {
        caller: 9,
        request: leaving,
    });
    assert!(office.controller.has_work());
    let before = office.depose();
    assert!(office.serve(), "the first step's write");
    assert!(office.resigned.is_some());
    assert!(!office.controller.has_work());
    assert_eq!(office.abandoned, [9]);
    assert!(!office.work());
    assert!(office.told.is_empty());
    let _ = before;
    office.next_controller();
    office.run();
    assert!(states(&office).iter().all(|state| state.starts_with("2 0 ")));
}

#[test]
fn a_broker_that_leaves_is_answered_when_all_is_decided() {
    let mut office = office(A_STEP);
    office.create("c", &[&[2]]).unwrap();
    office.create("d", &[&[2, 3]]).unwrap();
    office.run();
    let leave = |office: &mut Office, broker_id: BrokerId| {
        let request = ControlledShutdownRequest {
            broker_id,
            broker_epoch: -1,
        };
        office.event(ControllerEvent::ControlledShutdown { caller: 9, request });
        assert!(office.controller.has_work());
        assert!(!office.answers.contains_key(&9));
        office.run();
        match office.answers.remove(&9) {
            Some(ResponseBody::ControlledShutdown(answer)) => answer.remaining_partitions,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(leave(&mut office, 2), []);
    assert!(
        states(&office)
            .iter()
            .all(|state| state.starts_with("3 1 [3, 1]"))
    );
    assert_eq!(leave(&mut office, 3), [name("d", 0)], "nobody else can lead it");
    assert!(states(&office).iter().all(|state| state.starts_with("1 2 [1]")));
}

#[test]
fn a_new_controller_serves_when_everything_is_in_order_and_told() {
    let mut office = office(A_STEP);
    office.next_controller();
    office.kill(&[2]);
    let mut steps = 0;
    while !office.controller.is_serving() {
        assert!(office.create("c", &[&[1]]).is_err(), "not yet");
        steps += usize::from(office.controller.has_work());
        assert!(office.serve() || office.work());
        assert!(office.states_asked() <= A_STEP);
    }
    assert!(steps > 4, "{steps} steps");
    office.run();
    assert!(
        states(&office)
            .iter()
            .all(|state| state.starts_with("3 1 [3, 1]"))
    );
    let mut of_3 = OrderedSet::new();
    for (broker, word) in &office.told {
        let topics: Vec<(String, usize)> = match word {
            ControlRequest::UpdateMetadata(word) => {
                let topics = word.topics.iter();
                topics
                    .map(|topic| (topic.name.to_string(), topic.partitions.len()))
                    .collect()
            }
            ControlRequest::LeaderAndIsr(word) => {
                if *broker == 3 {
                    of_3.extend(word.topics.iter().flat_map(|topic| {
                        let each = topic.partitions.iter();
                        each.map(|partition| (topic.name.clone(), partition.partition_index))
                    }));
                }
                let topics = word.topics.iter();
                topics
                    .map(|topic| (topic.name.to_string(), topic.partitions.len()))
                    .collect()
            }
            ControlRequest::StopReplica(_) => Vec::new(),
        };
        let count: usize = topics.iter().map(|(_, count)| count).sum();
        assert!(count <= A_STEP, "{topics:?}");
    }
    assert_eq!(of_3.len(), 8, "it is told all of its replicas");
}

#[test]
fn replicas_that_are_new_when_a_controller_comes_are_told_as_new() {
    for a_step in [A_STEP, PARTITIONS_A_STEP] {
        let mut office = office(a_step);
        let node = r#"{"version":1,"partitions":{"0":[3,1],"1":[3,1],"2":[3,1],"3":[3,1]}}"#;
        office.next_controller();
        let made = crate::coordination::Multi::new().create("/brokers/topics/0-made", node);
        office.outside(&made);
        office.run();
        let mut new = OrderedSet::new();
        for (broker, word) in &office.told {
            if let ControlRequest::LeaderAndIsr(word) = word {
                for topic in &word.topics {
                    let each = topic.partitions.iter().filter(|partition| partition.is_new);
                    new.extend(
                        each.map(|partition| (*broker, topic.name.clone(), partition.partition_index)),
                    );
                }
            }
        }
        let wanted: OrderedSet<_> = [1, 3]
            .into_iter()
            .flat_map(|broker| (0..4).map(move |index| (broker, "0-made".into(), index)))
            .collect();
        assert_eq!(new, wanted, "steps of {a_step}");
    }
}
