//! A ZooKeeper that is killed, silent, away, or never there; and a broker that dies.

use std::time::Duration;

use CoordinationEvent as Told;
use highwater_core::coordination::{CoordinationEvent, CoordinationOp, Multi};
use highwater_tests::zookeeper::TestZooKeeper;

use super::broker::{Broker, SESSION_MS, look, look_all};

#[test]
fn a_broker_that_dies_is_missed_after_its_timeout() {
    let server = TestZooKeeper::start();
    let mut watcher = Broker::of_zookeeper(&server.address(), 30_000);
    watcher.open(1);
    let mut dying = Broker::of_zookeeper(&server.address(), 30_000);
    dying.open(1);
    let id = dying.ask(CoordinationOp::Multi(Multi::new().create_ephemeral("/dying", "")));
    dying.until_answer(id);
    let id = watcher.ask(look("/dying", true));
    watcher.until_answer(id);
    dying.runtime.take().unwrap().shutdown_background();
    assert!(matches!(watcher.next(), Told::Watch { path, .. } if &*path == "/dying"));
    assert_eq!(watcher.read("/dying"), None);
}

#[test]
fn a_session_and_its_watches_outlive_a_restart_of_the_server() {
    let mut server = TestZooKeeper::start();
    let mut broker = Broker::of_zookeeper(&server.address(), 30_000);
    broker.host.open(1, 30_000);
    let Told::Connected { session_id, .. } = broker.next() else {
        panic!("not connected");
    };
    let id = broker.ask(CoordinationOp::Multi(Multi::new().create_ephemeral("/mine", "1")));
    broker.until_answer(id);
    let id = broker.ask(look("/mine", true));
    broker.until_answer(id);
    server.kill();
    assert_eq!(broker.next(), Told::Disconnected);
    // Asked while nobody is there: it waits, and then happens once.
    let id = broker.ask(CoordinationOp::Multi(Multi::new().set("/mine", "2", Some(0))));
    server.start_again();
    let told = broker.until_answer(id);
    assert!(
        told.iter()
            .any(|event| matches!(event, Told::Connected { session_id: again, .. } if *again == session_id)),
        "{told:?}"
    );
    if matches!(told.last(), Some(Told::Done { result: Ok(_), .. })) {
        assert!(
            told.iter()
                .any(|event| matches!(event, Told::Watch { path, .. } if &**path == "/mine")),
            "the watch still holds: {told:?}"
        );
        assert_eq!(broker.read("/mine").as_deref(), Some("2"));
    }
}

#[test]
fn what_was_under_way_when_the_server_fell_silent_is_unknown() {
    let server = TestZooKeeper::start();
    let mut broker = Broker::of_zookeeper(&server.address(), 30_000);
    broker.open(1);
    server.pause(true);
    let id = broker.ask(CoordinationOp::Multi(Multi::new().create("/perhaps", "")));
    let told = broker.until_answer(id);
    assert_eq!(told.last(), Some(&Told::Unknown { id }), "{told:?}");
    assert!(told.contains(&Told::Disconnected), "{told:?}");
    server.pause(false);
    // Within the session or after it: a later look settles what happened.
    let mut session = 1;
    loop {
        match broker.next() {
            Told::Connected { .. } => break,
            Told::Expired => {
                session += 1;
                broker.host.open(session, SESSION_MS);
            }
            Told::Disconnected | Told::Unknown { .. } => {}
            other => panic!("{other:?}"),
        }
    }
    broker.host.ask(session, 99, look("/perhaps", false));
    assert!(matches!(
        broker.until_answer(99).last(),
        Some(Told::Done { result: Ok(_), .. })
    ));
}

#[test]
fn a_server_away_for_too_long_costs_the_session_and_the_next_one_waits_for_it() {
    let mut server = TestZooKeeper::start();
    let mut broker = Broker::of_zookeeper(&server.address(), 1_000);
    broker.open(1);
    let id = broker.ask(CoordinationOp::Multi(
        Multi::new().create("/stays", "x").create_ephemeral("/goes", ""),
    ));
    broker.until_answer(id);
    server.kill();
    assert_eq!(broker.next(), Told::Disconnected);
    assert_eq!(broker.next(), Told::Expired);
    // A broker that had a session does not give up, however short the time for the first one is.
    broker.host.open(2, SESSION_MS);
    assert!(
        broker.told.recv_timeout(Duration::from_secs(2)).is_err(),
        "nothing to tell yet"
    );
    server.start_again();
    assert!(matches!(broker.next(), Told::Connected { .. }));
    broker.host.ask(2, 99, look_all(&["/stays"], &[]));
    let told = broker.until_answer(99);
    assert!(format!("{told:?}").contains("b\"x\""), "{told:?}");
}

#[test]
fn a_server_that_is_not_there_is_given_up_on_with_one_line() {
    let broker = Broker::of_zookeeper("127.0.0.1:1/kafka", 300);
    broker.host.open(1, SESSION_MS);
    let Told::Lost { why } = broker.next() else {
        panic!("not lost");
    };
    assert!(
        why.contains("127.0.0.1:1")
            && why.contains("zookeeper.connect")
            && why.contains("300 ms")
            && !why.contains('\n'),
        "{why}"
    );
    let broker = Broker::of_zookeeper("127.0.0.1:port/kafka", 300);
    broker.host.open(1, SESSION_MS);
    assert!(
        matches!(broker.next(), Told::Lost { why } if why.contains("zookeeper.connect=127.0.0.1:port/kafka"))
    );
}
