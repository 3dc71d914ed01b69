//! Stages of small clusters, told fact by fact.

use super::*;
use crate::ordered::OrderedSet;
use crate::trace::{ClientKind, Event, EventId, Fact, HighWatermarkBasis, Site, WorldFact};
use crate::types::{BrokerId, LeaderEpoch};

const PRODUCER: u32 = 102;

fn partition() -> TopicPartition {
    TopicPartition::new("orders", 0)
}

/// A view, as it is told.
#[derive(Default)]
struct Telling(ClusterView);

impl Telling {
    fn tell(&mut self, node: u32, fact: Fact) {
        self.0.apply(&Event {
            id: EventId { node, seq: 1 },
            cause: EventId::NONE,
            at_ms: 0,
            fact,
            site: Site::default(),
        });
    }

    fn of(&mut self, broker: BrokerId, fact: Fact) {
        self.tell(broker as u32, fact);
    }

    fn world(&mut self, fact: WorldFact) {
        self.tell(0, Fact::World(fact));
    }

    /// Brokers 1 to 3 with an empty log, led by 1 in epoch 0, and a producer.
    fn three() -> Self {
        let mut telling = Self::default();
        telling.world(WorldFact::CoordinationStarted);
        for broker in 1..=3 {
            telling.world(WorldFact::BrokerStarted { broker });
            telling.of(broker, opened(0));
        }
        telling.leads(1, 0, &[1, 2, 3]);
        for broker in 2..=3 {
            telling.follows(broker, 1, 0);
        }
        telling.world(WorldFact::ClientStarted {
            client: PRODUCER,
            kind: ClientKind::Producer { acks: 1 },
        });
        telling
    }

    fn leads(&mut self, broker: BrokerId, epoch: LeaderEpoch, isr: &[BrokerId]) {
        self.of(
            broker,
            Fact::LeadershipTaken {
                partition: partition(),
                epoch,
                start_offset: 0,
                isr: isr.to_vec(),
                replicas: vec![1, 2, 3],
            },
        );
    }

    fn follows(&mut self, broker: BrokerId, leader: BrokerId, epoch: LeaderEpoch) {
        let partition = partition();
        self.of(
            broker,
            Fact::LeaderFollowed {
                partition,
                epoch,
                leader,
            },
        );
    }

    fn writes(&mut self, broker: BrokerId, base: Offset, last: Offset, epoch: LeaderEpoch) {
        self.of(
            broker,
            Fact::BatchAppended {
                partition: partition(),
                base_offset: base,
                last_offset: last,
                segment: 0,
                position: 0,
                size_bytes: 70,
                epoch,
            },
        );
        let (partition, log_end) = (partition(), last + 1);
        self.of(broker, Fact::BatchWritten { partition, log_end });
    }

    fn high_watermark(&mut self, broker: BrokerId, to: Offset) {
        self.of(
            broker,
            Fact::HighWatermarkMoved {
                partition: partition(),
                from: 0,
                to,
                by: HighWatermarkBasis::LogCut,
            },
        );
    }

    fn told(&mut self, base_offset: Offset, count: u32, acks: i16) {
        self.world(WorldFact::RecordsAcknowledged {
            client: PRODUCER,
            partition: partition(),
            base_offset,
            first: 0,
            count,
            acks,
        });
    }

    fn crashes(&mut self, broker: BrokerId) {
        self.world(WorldFact::BrokerCrashed {
            broker,
            power_lost: false,
        });
    }

    fn stage(&self, cut_since: usize) -> Stage {
        let options = StageOptions {
            picture: Picture::Replicas,
            partition: partition(),
            most_columns: MOST_COLUMNS,
            cut_since,
        };
        Stage::of(&self.0, &options)
    }
}

fn opened(log_end: Offset) -> Fact {
    Fact::ReplicaOpened {
        partition: partition(),
        log_start: 0,
        log_end,
        high_watermark: 0,
        epochs: vec![(0, 0)],
    }
}

/// Two records everywhere, known to be safe to the leader alone; a third on the leader, acknowledged.
fn promised() -> Telling {
    let mut telling = Telling::three();
    for broker in 1..=3 {
        telling.writes(broker, 0, 1, 0);
    }
    telling.high_watermark(1, 2);
    telling.writes(1, 2, 2, 0);
    telling.told(0, 2, 1);
    telling.told(2, 1, 1);
    telling
}

fn cell(stage: &Stage, broker: BrokerId, offset: Offset) -> Option<Cell> {
    let row = stage.rows.iter().find(|row| row.broker == broker)?;
    row.cells.iter().find(|cell| cell.offset == offset).copied()
}

#[test]
fn a_cell_is_committed_as_its_own_replica_knows_it() {
    let stage = promised().stage(0);
    assert!(cell(&stage, 1, 1).unwrap().committed && !cell(&stage, 2, 1).unwrap().committed);
    assert!(
        !cell(&stage, 1, 2).unwrap().committed,
        "behind the high watermark"
    );
    assert_eq!(cell(&stage, 2, 2), None);
    let leader = &stage.rows[0];
    assert_eq!(
        (leader.role_line(), leader.in_isr),
        ("leader, epoch 0".to_owned(), Some(true))
    );
    assert!(cell(&stage, 1, 0).unwrap().first_of_batch && !cell(&stage, 1, 1).unwrap().first_of_batch);
}

#[test]
fn what_a_leader_heard_is_on_its_row_and_dies_with_it() {
    let mut telling = promised();
    telling.of(
        1,
        Fact::FollowerProgressed {
            partition: partition(),
            replica: 2,
            log_end: 2,
        },
    );
    let heard = telling.stage(0).rows[0].heard.clone();
    let at = |broker, log_end| Heard { broker, log_end };
    assert_eq!(heard, [at(2, Some(2)), at(3, None)]);
    telling.crashes(1);
    let row = telling.stage(0).rows[0].clone();
    assert_eq!(
        (row.role_line().as_str(), row.heard.len()),
        ("crashed, was leader", 0)
    );
    assert_eq!(row.cells.len(), 3, "its log stays, as last known");
    telling.world(WorldFact::BrokerStarted { broker: 1 });
    let row = telling.stage(0).rows[0].clone();
    assert_eq!(
        (row.role, row.is_crowned()),
        (Role::Untold, false),
        "nobody has told it yet"
    );
}

#[test]
fn a_promise_is_in_doubt_when_its_record_is_nowhere_and_broken_when_a_leader_lacks_it() {
    let state = |telling: &Telling| telling.stage(0).promises[2].state;
    let mut telling = promised();
    assert_eq!(state(&telling), PromiseState::Kept);
    telling.crashes(1);
    assert_eq!(state(&telling), PromiseState::InDoubt);
    let marks = |telling: &Telling| {
        let cell = cell(&telling.stage(0), 1, 2).unwrap();
        (cell.in_doubt, cell.lost)
    };
    assert_eq!(marks(&telling), (true, false), "no leader has decided yet");
    let mut back = Telling(telling.0.clone());
    back.world(WorldFact::BrokerStarted { broker: 1 });
    back.of(1, opened(3));
    assert_eq!(state(&back), PromiseState::Kept, "the leader came back in time");
    telling.leads(2, 1, &[2, 3]);
    assert_eq!(state(&telling), PromiseState::Broken);
    assert_eq!(marks(&telling), (false, true));
    assert_eq!(telling.stage(0).promises[1].state, PromiseState::Kept);
    telling.world(WorldFact::BrokerStarted { broker: 1 });
    telling.of(1, opened(3));
    assert_eq!(state(&telling), PromiseState::Broken, "a broken promise stays");
}

#[test]
fn a_rewritten_offset_has_a_new_label_and_keeps_the_old_one_for_its_moment() {
    let mut telling = promised();
    telling.crashes(1);
    telling.leads(2, 1, &[2, 3]);
    telling.writes(2, 2, 2, 1);
    telling.world(WorldFact::BrokerStarted { broker: 1 });
    telling.of(1, opened(3));
    let before = telling.0.memory.facts;
    let (partition, from, to) = (partition(), 3, 2);
    telling.of(1, Fact::LogTruncated { partition, from, to });
    let cut = cell(&telling.stage(before), 1, 2).unwrap();
    assert_eq!(
        (cut.record, cut.cut.map(|record| record.label())),
        (None, Some("r2".to_owned()))
    );
    assert!(cut.lost && cut.acknowledged);
    telling.writes(1, 2, 2, 1);
    let rewritten = cell(&telling.stage(before), 1, 2).unwrap();
    assert_eq!(
        rewritten.record.map(|record| record.label()),
        Some("r3".to_owned())
    );
    assert_eq!(rewritten.record, cell(&telling.stage(0), 2, 2).unwrap().record);
    assert!(rewritten.cut.is_some() && !rewritten.acknowledged);
    assert_eq!(
        cell(&telling.stage(before + 1), 1, 2).unwrap().cut,
        None,
        "the next moment"
    );
}

#[test]
fn columns_that_are_the_same_everywhere_fold_when_there_are_too_many() {
    let mut telling = Telling::three();
    for broker in 1..=3 {
        for base in 0..20 {
            telling.writes(broker, base, base, 0);
        }
        telling.high_watermark(broker, 18);
    }
    let stage = telling.stage(0);
    assert_eq!(stage.offsets, 10..22);
    assert_eq!(stage.folded, Some(Folded { from: 0, to: 10 }));
    let mut behind = Telling(telling.0.clone());
    behind.of(
        3,
        Fact::LogTruncated {
            partition: partition(),
            from: 20,
            to: 4,
        },
    );
    assert_eq!(behind.stage(usize::MAX).offsets.start, 4, "what differs is shown");
}

#[test]
fn a_fetch_is_idle_until_there_is_something_to_fetch() {
    let mut telling = Telling::three();
    let fetch = |packet, from| WorldFact::PacketSent {
        packet,
        from,
        to: 1,
        what: "Fetch".to_owned(),
        bytes: 60,
        carries: Vec::new(),
    };
    telling.world(fetch(1, 2));
    let stage = telling.stage(0);
    assert_eq!((stage.messages.len(), stage.idle.count), (0, 1));
    telling.writes(1, 0, 0, 0);
    let stage = telling.stage(0);
    assert_eq!(stage.idle.count, 0);
    assert_eq!(
        stage.messages[0].say(),
        "fetch from 0: a Fetch request on its way from broker 2 to broker 1"
    );
    telling.world(WorldFact::LinkCut { from: 2, to: 1 });
    assert!(telling.stage(0).messages[0].held);
}

#[test]
fn every_element_has_a_key_of_its_own_and_says_something() {
    let mut telling = promised();
    telling.world(WorldFact::LinkCut { from: 2, to: 1 });
    telling.crashes(1);
    telling.leads(2, 1, &[2, 3]);
    let elements = telling.stage(0).elements();
    let keys: OrderedSet<&str> = elements.iter().map(|element| element.key.as_str()).collect();
    assert_eq!(keys.len(), elements.len(), "{elements:?}");
    assert!(elements.iter().all(|element| !element.say.is_empty()));
}

#[test]
fn any_change_of_the_picture_is_heard() {
    let stage = promised().stage(0);
    let told = stage.describe();
    let changed = |change: fn(&mut Row)| {
        let mut other = stage.clone();
        change(Arc::make_mut(&mut other.rows[0]));
        other.describe()
    };
    assert_ne!(changed(|row| row.marks[0].offset += 1), told);
    assert_ne!(changed(|row| row.role = Role::Follower), told);
    assert_ne!(changed(|row| row.cells[0].offset += 1), told);
    assert_ne!(changed(|row| row.cells[2].acknowledged = false), told);
    assert_ne!(changed(|row| row.cells[0].committed = false), told);
    let mut swapped = stage.clone();
    swapped.rows.swap(0, 1);
    assert_ne!(swapped.describe(), told);
    let mut uncrowned = stage.clone();
    uncrowned.figures[1].leads = None;
    assert_ne!(uncrowned.describe(), told);
}

#[test]
fn a_row_that_has_not_changed_is_the_same_one() {
    let mut telling = promised();
    let before = telling.stage(0);
    telling.high_watermark(2, 1);
    let after = telling.stage(0).sharing(&before);
    assert!(Arc::ptr_eq(&before.rows[2], &after.rows[2]));
    assert!(!Arc::ptr_eq(&before.rows[1], &after.rows[1]));
}

fn changed(changes: &[(&str, &str, i64)]) -> Fact {
    Fact::CoordinationChanged {
        zxid: 1,
        changes: changes.iter().map(|(change, ..)| (*change).to_owned()).collect(),
        data: changes.iter().map(|(_, data, _)| (*data).to_owned()).collect(),
        owners: changes.iter().map(|(.., owner)| *owner).collect(),
    }
}

/// The three in sessions 11 to 13; 3 is the controller, which 1 and 2 watch.
fn with_a_tree() -> Telling {
    let mut telling = Telling::three();
    let coordination = |telling: &mut Telling, fact| telling.tell(crate::trace::COORDINATION, fact);
    for broker in 1..=3 {
        let session = broker + 10;
        coordination(
            &mut telling,
            Fact::SessionOpened {
                session,
                timeout_ms: 2000,
            },
        );
        coordination(
            &mut telling,
            changed(&[(&format!("create /brokers/ids/{broker}"), "{}", session)]),
        );
    }
    let holder = r#"{"version":2,"brokerid":3,"timestamp":"0","kraftControllerEpoch":-1}"#;
    coordination(
        &mut telling,
        changed(&[
            ("create /controller", holder, 13),
            ("create /controller_epoch", "1", 0),
        ]),
    );
    let watch = |session, path: &str, children| Fact::WatchSet {
        session,
        path: path.to_owned(),
        children,
    };
    coordination(&mut telling, watch(11, "/controller", false));
    coordination(&mut telling, watch(12, "/controller", false));
    coordination(&mut telling, watch(13, "/brokers/ids", true));
    telling
}

fn tree_said(telling: &Telling, cut_since: usize) -> Vec<String> {
    let options = StageOptions {
        picture: Picture::Tree,
        partition: partition(),
        most_columns: MOST_COLUMNS,
        cut_since,
    };
    let tree = Stage::of(&telling.0, &options).tree.unwrap();
    tree.elements().into_iter().map(|element| element.say).collect()
}

#[test]
fn the_tree_says_who_holds_what_and_who_watches() {
    let telling = with_a_tree();
    assert_eq!(
        tree_said(&telling, 0),
        [
            "broker 1 is up, connected in session 11",
            "broker 2 is up, connected in session 12",
            "broker 3 is up, connected in session 13",
            "/controller_epoch: 1",
            "broker 1 watches /controller, and will be told once",
            "broker 2 watches /controller, and will be told once",
            "/controller: broker 3, goes with session 13",
            "/brokers/ids/1, goes with session 11",
            "/brokers/ids/2, goes with session 12",
            "/brokers/ids/3, goes with session 13",
            "broker 3 watches which nodes are under /brokers/ids, and will be told once",
        ]
    );
    assert!(telling.stage(0).tree.is_none(), "only where it is to be seen");
}

#[test]
fn what_went_with_a_session_is_on_stage_until_the_moment_ends() {
    let mut telling = with_a_tree();
    let since = telling.0.memory.facts;
    let coordination = crate::trace::COORDINATION;
    telling.crashes(3);
    telling.tell(coordination, Fact::SessionDisconnected { session: 13 });
    let said = tree_said(&telling, since);
    assert!(
        said.contains(
            &"broker 3 is down, nobody is connected in session 13, which ends after 2000 ms of silence"
                .to_owned()
        )
    );
    assert!(
        !said.iter().any(|say| say.starts_with("broker 3 watches")),
        "{said:?}"
    );
    telling.tell(coordination, Fact::SessionExpired { session: 13 });
    telling.tell(
        coordination,
        changed(&[("delete /brokers/ids/3", "", 13), ("delete /controller", "", 13)]),
    );
    telling.tell(
        coordination,
        Fact::WatchFired {
            session: 11,
            path: "/controller".to_owned(),
            what: crate::trace::WatchKind::Deleted,
        },
    );
    let said = tree_said(&telling, since);
    for say in [
        "broker 3 is down, session 13 is over",
        "/controller: broker 3, gone with session 13",
        "/brokers/ids/3, gone with session 13",
        "broker 1 was told of a change: it watched /controller, and does no more",
        "broker 2 watches /controller, and will be told once",
    ] {
        assert!(said.contains(&say.to_owned()), "{say}: {said:?}");
    }
    let later = tree_said(&telling, telling.0.memory.facts);
    for gone in ["gone with", "is over", "was told"] {
        assert!(!later.iter().any(|say| say.contains(gone)), "{gone}: {later:?}");
    }
    let holder = r#"{"version":2,"brokerid":1,"timestamp":"0","kraftControllerEpoch":-1}"#;
    telling.tell(coordination, changed(&[("create /controller", holder, 11)]));
    let keys: Vec<String> = Stage::of(
        &telling.0,
        &StageOptions {
            picture: Picture::Tree,
            partition: partition(),
            most_columns: MOST_COLUMNS,
            cut_since: since,
        },
    )
    .elements()
    .into_iter()
    .map(|element| element.key)
    .collect();
    let unique: OrderedSet<&String> = keys.iter().collect();
    assert_eq!(
        unique.len(),
        keys.len(),
        "the old holder's node and the new one's: {keys:?}"
    );
}
