//! A real ZooKeeper and the service of our own, asked the same and answering the same; and what becomes
//! of a session when its ZooKeeper fails.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use CoordinationEvent as Told;
use highwater::clock::Clock;
use highwater::coordination::{CoordinationHost, Embedded, Tell, ZooKeeper, ZooKeeperConfig};
use highwater_core::coordination::{
    CoordinationEvent, CoordinationOp, CoordinationReply, Found, Multi, NodeKind, OpId, OpResult, Read,
    SessionEpoch, Stat,
};
use highwater_tests::zookeeper::TestZooKeeper;
use tokio::runtime::Runtime;

/// So long nobody waits for an event that comes.
const LONG: Duration = Duration::from_secs(60);
const SESSION_MS: i64 = 2_000;

fn tell_into(sender: Sender<(SessionEpoch, CoordinationEvent)>) -> Tell {
    let sender = Mutex::new(sender);
    Arc::new(move |session, event| drop(sender.lock().unwrap().send((session, event))))
}

/// A broker's session, asked one thing after the other.
struct Broker {
    host: Arc<dyn CoordinationHost>,
    told: Receiver<(SessionEpoch, CoordinationEvent)>,
    next_id: OpId,
    /// A runtime of its own, so that it can die without a word.
    runtime: Option<Runtime>,
}

impl Broker {
    fn of_zookeeper(connect: &str, connection_timeout_ms: i64) -> Self {
        let (sender, told) = channel();
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let config = ZooKeeperConfig {
            connect: connect.to_owned(),
            connection_timeout_ms,
        };
        Self {
            host: ZooKeeper::new(config, runtime.handle().clone(), tell_into(sender)),
            told,
            next_id: 0,
            runtime: Some(runtime),
        }
    }

    fn of_embedded(service: &Embedded) -> Self {
        let (sender, told) = channel();
        Self {
            host: service.attach(tell_into(sender)),
            told,
            next_id: 0,
            runtime: None,
        }
    }

    fn next(&self) -> CoordinationEvent {
        self.told.recv_timeout(LONG).expect("an event").1
    }

    fn open(&self, session: SessionEpoch) -> i64 {
        self.host.open(session, SESSION_MS);
        match self.next() {
            Told::Connected { session_id, .. } => session_id,
            other => panic!("{other:?}"),
        }
    }

    fn ask(&mut self, op: CoordinationOp) -> OpId {
        self.next_id += 1;
        self.host.ask(1, self.next_id, op);
        self.next_id
    }

    /// What is told up to the answer, and with it.
    fn until_answer(&self, id: OpId) -> Vec<CoordinationEvent> {
        let mut told = Vec::new();
        loop {
            let event = self.next();
            let is_answer =
                matches!(&event, Told::Done { id: of, .. } | Told::Unknown { id: of } if *of == id);
            told.push(event);
            if is_answer {
                return told;
            }
        }
    }

    fn read(&mut self, path: &str) -> Option<String> {
        let id = self.ask(look(path, false));
        match self.until_answer(id).pop() {
            Some(Told::Done {
                result: Ok(CoordinationReply::Read(found)),
                ..
            }) => match &found[..] {
                [Found::Data(data)] => data
                    .as_ref()
                    .map(|(bytes, _)| String::from_utf8_lossy(bytes).into_owned()),
                other => panic!("{other:?}"),
            },
            other => panic!("{other:?}"),
        }
    }
}

fn look(path: &str, watch: bool) -> CoordinationOp {
    CoordinationOp::Read(vec![Read::Data {
        path: path.into(),
        watch,
    }])
}

fn look_all(data: &[&str], children: &[&str]) -> CoordinationOp {
    let data = data.iter().map(|path| Read::Data {
        path: (*path).into(),
        watch: true,
    });
    let children = children.iter().map(|path| Read::Children {
        path: (*path).into(),
        watch: true,
    });
    CoordinationOp::Read(data.chain(children).collect())
}

/// One thing that happens in the script.
enum Step {
    Ask(&'static str, CoordinationOp),
    /// Of the first broker, for good.
    CloseA,
}

/// Everything that two brokers can ask, and every way to be refused.
fn script() -> Vec<Step> {
    use NodeKind::{EphemeralSequential, PersistentSequential};
    use Step::{Ask, CloseA};
    let multi = |broker, multi| Ask(broker, CoordinationOp::Multi(multi));
    let new = Multi::new;
    vec![
        Ask("a", look_all(&["/ids", "/absent"], &["/", "/ids"])),
        multi("b", new().create("/ids", "parent").create("/ids/x", "")),
        Ask("a", look_all(&["/ids", "/ids/x"], &["/", "/ids", "/ids/x"])),
        Ask("b", look_all(&["/ids", "/ids"], &["/ids"])),
        multi(
            "a",
            new()
                .create_ephemeral("/ids/a", "me")
                .set("/ids", "changed", Some(0)),
        ),
        multi(
            "b",
            new()
                .set("/ids", "again", None)
                .check("/ids", Some(2))
                .delete("/ids/x", Some(0)),
        ),
        Ask("a", look_all(&["/ids", "/ids/a", "/ids/x"], &["/ids"])),
        // Refused, each for its own reason, after operations that would have worked.
        multi("b", new().create("/new", "").create("/ids", "")),
        multi("b", new().create("/new", "").create("/no/child", "")),
        multi("b", new().create("/ids/a/child", "")),
        multi("b", new().create_as(EphemeralSequential, "/ids/a/n", "")),
        multi("b", new().set("/ids", "x", Some(1))),
        multi("b", new().set("/none", "x", None)),
        multi("b", new().delete("/ids", None)),
        multi("b", new().delete("/ids", Some(7))),
        multi("b", new().delete("/none", None)),
        multi("b", new().check("/ids", Some(9)).create("/new", "")),
        multi("b", new().check("/none", None)),
        multi("b", new().create("no slash", "")),
        multi("b", new().create("/a//b", "")),
        multi("b", new().create("/a/../b", "")),
        multi("b", new().create("/x", vec![b'x'; 2_000_000])),
        Ask("b", look("no slash", true)),
        Ask("a", look("/new", false)),
        // Numbers count what ever came, not what is there.
        multi(
            "a",
            new().create("/q", "").create_sequential("/q/n_", "0").create_as(
                EphemeralSequential,
                "/q/e_",
                "1",
            ),
        ),
        multi(
            "b",
            new()
                .delete("/q/n_0000000000", None)
                .create_as(PersistentSequential, "/q/n_", "2"),
        ),
        multi(
            "b",
            new()
                .create_sequential("/q/", "3")
                .create("/q/plain", "4")
                .create_sequential("/q/n_", "5"),
        ),
        Ask("b", look_all(&["/q", "/q/n_0000000002"], &["/q"])),
        multi(
            "a",
            new()
                .delete("/q/plain", None)
                .create("/q/plain", "")
                .delete("/q/plain", None),
        ),
        Ask("b", look_all(&["/q"], &["/q"])),
        // A multi that undoes itself is seen all the same.
        multi(
            "a",
            new()
                .create("/brief", "")
                .set("/brief", "x", Some(0))
                .delete("/brief", Some(1)),
        ),
        Ask(
            "b",
            look_all(&["/brief", "/ids/a", "/q/e_0000000001"], &["/", "/ids", "/q"]),
        ),
        multi("a", new().create("/brief", "").delete("/brief", None)),
        // A session's end takes its nodes, under one change.
        CloseA,
        Ask(
            "b",
            look_all(&["/ids/a", "/q/e_0000000001", "/ids", "/q"], &["/", "/ids", "/q"]),
        ),
        multi(
            "b",
            new().create_ephemeral("/ids/a", "b's").check("/ids/a", Some(0)),
        ),
        Ask("b", look("/ids/a", false)),
        multi("b", new().delete("/ids/a", None).delete("/ids", None)),
        Ask("b", look_all(&["/ids"], &["/ids", "/"])),
        multi("b", new()),
    ]
}

/// Plays the script with two brokers; answers what each was told after each step, in a form in which
/// session and change numbers are those of their first appearance.
fn play(brokers: [Broker; 2]) -> Vec<String> {
    let mut names = Names::default();
    let [mut a, mut b] = brokers;
    names.sessions.push(a.open(1));
    names.sessions.push(b.open(1));
    let mut told = Vec::new();
    let mut a_is_open = true;
    for (number, step) in script().into_iter().enumerate() {
        let is_close = matches!(step, Step::CloseA);
        match step {
            Step::Ask(who, op) => {
                let broker = if who == "a" { &mut a } else { &mut b };
                let id = broker.ask(op);
                told.extend(
                    broker
                        .until_answer(id)
                        .into_iter()
                        .map(|event| (number, who, event)),
                );
            }
            Step::CloseA => {
                a.host.close(1);
                let settled = a.host.settled();
                match &a.runtime {
                    Some(runtime) => runtime.block_on(settled),
                    None => tokio::runtime::Builder::new_current_thread()
                        .build()
                        .unwrap()
                        .block_on(settled),
                }
                a_is_open = false;
            }
        }
        // Behind an answer to a read there is no watch event that the read's tree would have fired.
        for (who, broker) in [("a", &mut a), ("b", &mut b)] {
            if who == "a" && !a_is_open {
                continue;
            }
            let id = broker.ask(look("/barrier", false));
            let mut events = broker.until_answer(id);
            events.pop();
            // In which of its nodes a session's end begins is left to chance there.
            if is_close {
                events.sort_by_key(|event| format!("{event:?}"));
            }
            told.extend(events.into_iter().map(|event| (number, who, event)));
        }
    }
    for (_, _, event) in &told {
        names.note(event);
    }
    let told = told.into_iter();
    told.map(|(number, who, event)| format!("{number} {who}: {}", names.plain(event)))
        .collect()
}

/// Numbers that differ from service to service, by their order.
#[derive(Default)]
struct Names {
    sessions: Vec<i64>,
    zxids: BTreeSet<i64>,
}

impl Names {
    fn stats(event: &mut CoordinationEvent) -> Vec<&mut Stat> {
        let Told::Done {
            result: Ok(reply), ..
        } = event
        else {
            return Vec::new();
        };
        match reply {
            CoordinationReply::Multi(results) => results
                .iter_mut()
                .filter_map(|result| match result {
                    OpResult::Set(stat) => Some(stat),
                    _ => None,
                })
                .collect(),
            CoordinationReply::Read(found) => found
                .iter_mut()
                .filter_map(|found| match found {
                    Found::Data(Some((_, stat))) => Some(stat),
                    _ => None,
                })
                .collect(),
        }
    }

    fn note(&mut self, event: &CoordinationEvent) {
        for stat in Self::stats(&mut event.clone()) {
            self.zxids.extend([stat.czxid, stat.mzxid]);
        }
    }

    fn plain(&self, mut event: CoordinationEvent) -> String {
        let rank: BTreeMap<i64, i64> = self.zxids.iter().copied().zip(1..).collect();
        for stat in Self::stats(&mut event) {
            stat.czxid = rank[&stat.czxid];
            stat.mzxid = rank[&stat.mzxid];
            if stat.ephemeral_owner != 0 {
                let owner = self
                    .sessions
                    .iter()
                    .position(|session| *session == stat.ephemeral_owner);
                stat.ephemeral_owner = owner.map_or(-1, |index| index as i64 + 1);
            }
        }
        format!("{event:?}")
    }
}

#[test]
fn our_own_service_answers_as_zookeeper_does() {
    let server = TestZooKeeper::start();
    let connect = format!("{}/a/chroot", server.address());
    let theirs = play([(); 2].map(|()| Broker::of_zookeeper(&connect, 30_000)));
    let directory = tempfile::tempdir().unwrap();
    let service = Embedded::open(directory.path(), Embedded::options(), Clock::system()).unwrap();
    let ours = play([(); 2].map(|()| Broker::of_embedded(&service)));
    assert!(theirs.len() > 50, "the script has become short: {}", theirs.len());
    for (ours, theirs) in ours.iter().zip(&theirs) {
        assert_eq!(ours, theirs);
    }
    assert_eq!(ours.len(), theirs.len());
}

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
