//! Brokers at a service of their own process, on real files.

use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use CoordinationEvent as Told;
use highwater_core::coordination::{CoordinationReply, Found, Multi, Read, WatchKind};

use super::*;

/// So long nobody waits for an event that comes.
const LONG: Duration = Duration::from_secs(60);

/// A broker that writes down what it is told.
struct Broker {
    host: Arc<dyn CoordinationHost>,
    told: Receiver<(SessionEpoch, CoordinationEvent)>,
}

impl Broker {
    fn at(service: &Embedded) -> Self {
        let (send, told) = channel();
        let send = Mutex::new(send);
        let tell = move |session, event| drop(send.lock().send((session, event)));
        Self {
            host: service.attach(Arc::new(tell)),
            told,
        }
    }

    fn next(&self) -> CoordinationEvent {
        self.told.recv_timeout(LONG).unwrap().1
    }

    fn open(&self) {
        self.host.open(1, 300);
        assert!(matches!(self.next(), Told::Connected { .. }));
    }

    fn multi(&self, multi: Multi) {
        self.host.ask(1, 7, CoordinationOp::Multi(multi));
    }

    fn look(&self, path: &str) -> Option<String> {
        let path = path.into();
        let read = Read::Data { path, watch: true };
        self.host.ask(1, 8, CoordinationOp::Read(vec![read]));
        loop {
            if let Told::Done { id: 8, result } = self.next() {
                let Ok(CoordinationReply::Read(found)) = result else {
                    panic!("{result:?}");
                };
                let [Found::Data(data)] = &found[..] else {
                    panic!("{found:?}");
                };
                return data
                    .as_ref()
                    .map(|(bytes, _)| String::from_utf8_lossy(bytes).into_owned());
            }
        }
    }
}

fn service(directory: &Path) -> Embedded {
    Embedded::open(directory, Embedded::options(), Clock::system()).unwrap()
}

#[test]
fn brokers_see_each_other_come_and_go() {
    let directory = tempfile::tempdir().unwrap();
    let service = service(directory.path());
    let (one, two) = (Broker::at(&service), Broker::at(&service));
    one.open();
    two.open();
    assert_eq!(two.look("/one"), None);
    one.multi(Multi::new().create_ephemeral("/one", "here"));
    let watch = |what| Told::Watch {
        path: "/one".into(),
        what,
    };
    assert_eq!(two.next(), watch(WatchKind::Created));
    assert_eq!(two.look("/one").as_deref(), Some("here"));
    one.host.close(1);
    assert_eq!(two.next(), watch(WatchKind::Deleted));
    assert_eq!(two.look("/one"), None);
    drop(one);
    two.multi(Multi::new().create_ephemeral("/two", "here"));
    let three = Broker::at(&service);
    three.open();
    while three.look("/two").is_none() {}
    drop(two);
    let gone = Told::Watch {
        path: "/two".into(),
        what: WatchKind::Deleted,
    };
    assert_eq!(three.next(), gone, "its time ran out");
}

#[test]
fn what_was_acknowledged_is_there_in_the_next_life_and_no_session_is() {
    let directory = tempfile::tempdir().unwrap();
    let first = service(directory.path());
    let broker = Broker::at(&first);
    broker.open();
    broker.multi(
        Multi::new()
            .create("/stays", "data")
            .create_ephemeral("/goes", ""),
    );
    assert!(matches!(broker.next(), Told::Done { .. }));
    // A copy of the files, as a kill at this moment would leave them.
    let killed = tempfile::tempdir().unwrap();
    for name in [LOG_PATH, SNAPSHOT_PATH] {
        let _ = std::fs::copy(directory.path().join(name), killed.path().join(name));
    }
    let next = service(killed.path());
    let broker = Broker::at(&next);
    broker.open();
    assert_eq!(broker.look("/stays").as_deref(), Some("data"));
    assert_eq!(broker.look("/goes"), None);
}

#[test]
fn a_directory_that_fails_is_told_to_every_broker() {
    // Nothing can be made there, not even by root.
    let service = service(Path::new("/proc"));
    let broker = Broker::at(&service);
    broker.host.open(1, 300);
    assert!(matches!(broker.next(), Told::Lost { why } if why.contains("directory failed")));
}

#[test]
fn damaged_files_are_an_error_that_names_them() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join(SNAPSHOT_PATH), b"no snapshot").unwrap();
    let opened = Embedded::open(directory.path(), Embedded::options(), Clock::system());
    let why = opened.err().unwrap().to_string();
    assert!(
        why.contains(SNAPSHOT_PATH) && why.contains(directory.path().to_str().unwrap()),
        "{why}"
    );
}

#[tokio::test]
async fn settled_means_that_a_close_is_done() {
    let directory = tempfile::tempdir().unwrap();
    let service = service(directory.path());
    let (one, two) = (Broker::at(&service), Broker::at(&service));
    one.open();
    two.open();
    one.multi(Multi::new().create_ephemeral("/one", ""));
    assert!(matches!(one.next(), Told::Done { .. }));
    one.host.close(1);
    one.host.settled().await;
    assert_eq!(two.look("/one"), None);
}
