//! What others write: ISRs as brokers wrote them before AlterPartition, settings, and what is left over.

use super::events::alter;
use super::office::Office;
use crate::coordination::Multi;
use crate::metadata::nodes;

const ISR_CHANGE: &str = "/isr_change_notification/isr_change_";

fn announce(bytes: &'static str) -> Multi {
    Multi::new().create_sequential(ISR_CHANGE, bytes)
}

#[test]
fn an_isr_that_another_wrote_is_told_to_all_and_its_announcement_taken_away() {
    let mut office = Office::new(3);
    office.create("a", &[&[1, 2], &[2, 3]]).unwrap();
    office.run();
    office.heard();
    let state = r#"{"controller_epoch":1,"leader":1,"version":1,"leader_epoch":0,"isr":[1]}"#;
    office.outside(&Multi::new().set(nodes::partition_state("a", 0), state, Some(0)));
    let named = r#"{"version":1,"partitions":[{"topic":"a","partition":0},{"topic":"none","partition":3}]}"#;
    office.outside(&announce(named));
    office.run();
    assert_eq!(
        office.heard(),
        [1, 2, 3].map(|id| format!("{id}: UpdateMetadata of [1, 2, 3] a-0=1"))
    );
    assert_eq!(office.tree.children(nodes::ISR_CHANGES).count(), 0);
    assert_eq!(
        alter(&mut office, 1, &[1, 2], (0, 1)),
        "[1, 2] at 2",
        "the next change builds on it"
    );
}

#[test]
fn an_announcement_that_cannot_be_read_is_said_and_taken_away() {
    let mut office = Office::new(2);
    office.create("a", &[&[1, 2]]).unwrap();
    office.run();
    office.heard();
    office.outside(&announce("{").create_sequential(nodes::log_dir_event_prefix(), "[]"));
    office.run();
    for parent in [nodes::ISR_CHANGES, nodes::LOG_DIR_EVENTS] {
        assert_eq!(office.tree.children(parent).count(), 0, "{parent}");
        assert!(
            office.said.iter().any(|line| line.contains(parent)),
            "{:?}",
            office.said
        );
    }
    assert_eq!((office.resigned.clone(), office.heard().len()), (None, 0));
}

#[test]
fn settings_that_another_wrote_may_allow_an_unclean_election() {
    let mut office = Office::new(2);
    office.create("a", &[&[1, 2]]).unwrap();
    office.create("b", &[&[1, 2]]).unwrap();
    office.run();
    office.kill(&[2]);
    office.run();
    office.register(2);
    office.kill(&[1]);
    office.run();
    assert_eq!(office.state("a", 0), "-1 2 [1] of [1, 2]");
    let config = r#"{"version":1,"config":{"unclean.leader.election.enable":"true"}}"#;
    office.outside(&Multi::new().set(nodes::topic_config("a"), config, None));
    office.run();
    assert_eq!(
        office.state("a", 0),
        "-1 2 [1] of [1, 2]",
        "nobody has announced it"
    );
    office.with(|controller, _| controller.config_changed("topics/a"));
    office.run();
    assert_eq!(office.state("a", 0), "2 3 [2] of [1, 2]");
    assert_eq!(
        office.state("b", 0),
        "-1 2 [1] of [1, 2]",
        "others keep to what is safe"
    );
    let warned =
        |line: &String| line.contains("broker 2, which is not in the ISR, was elected leader of a-0");
    assert!(office.said.iter().any(warned), "{:?}", office.said);

    office.outside(&Multi::new().create("/config/brokers/<default>", config));
    office.with(|controller, _| controller.config_changed("brokers/<default>"));
    office.run();
    assert_eq!(office.state("b", 0), "2 3 [2] of [1, 2]");
}

#[test]
fn a_new_topic_has_its_own_settings_whatever_an_earlier_one_left() {
    let mut office = Office::empty(1);
    let path = nodes::topic_config("a");
    let left = r#"{"version":1,"config":{"retention.ms":"1"}}"#;
    let written_twice = Multi::new().create(&*path, left).set(&*path, left, None);
    office.tree.apply(&written_twice, 1).unwrap();
    office.run();
    office.create("a", &[&[1]]).unwrap();
    office.run();
    let node = office.tree.get(&path).unwrap();
    assert_eq!(
        (&*node.data, node.stat.version),
        (&br#"{"version":1,"config":{}}"#[..], 0)
    );
    let topic = office.controller.image().topic("a").unwrap();
    assert_eq!((topic.configs.len(), topic.config_version), (0, Some(0)));
    office.delete("a");
    office.run();
    assert!(!office.tree.exists(&path));
}
