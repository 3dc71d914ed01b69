//! What clients of a service see.

mod kill;

use CoordinationEvent as Told;

use super::super::multi::{Multi, MultiError, NodeError, OpResult};
use super::super::session::{CoordinationOp, CoordinationReply, Found, OpId, Read, WatchKind};
use super::super::testing::Files;
use super::super::tree::Stat;
use super::*;
use crate::disk::DiskOp;
use crate::error::DiskError;
use crate::ordered::OrderedMap;
use crate::trace::{Event, Fact, Trace};

/// A service on files in memory, its clock, and what its clients were told.
#[derive(Clone)]
struct World {
    service: Service,
    trace: Trace,
    files: Files,
    now: Millis,
    /// While it is held, nothing is done; operations gather.
    is_disk_held: bool,
    waiting: Vec<(Ticket, DiskOp)>,
    /// Every operation there was.
    all: Vec<(Ticket, DiskOp)>,
    told: OrderedMap<ClientId, Vec<CoordinationEvent>>,
    next_op: OpId,
}

impl World {
    fn new() -> Self {
        Self::on(Files::default(), ServiceOptions::default(), 0)
    }

    fn on(files: Files, options: ServiceOptions, now: Millis) -> Self {
        let mut trace = Trace::recording(0);
        let service = Service::open(now, files.recover().unwrap(), options, &mut trace);
        let mut world = Self {
            service,
            trace,
            files,
            now,
            is_disk_held: false,
            waiting: Vec::new(),
            all: Vec::new(),
            told: OrderedMap::new(),
            next_op: 0,
        };
        world.drain();
        world
    }

    /// kill -9, and the next life: what operations did is there.
    fn restart(&self, options: ServiceOptions) -> Self {
        Self::on(self.files.clone(), options, self.now)
    }

    fn put_in(&mut self, input: ServiceInput) {
        self.service
            .handle(self.now, input, EventId::NONE, &mut self.trace);
        self.drain();
    }

    fn drain(&mut self) {
        while let Some(output) = self.service.poll_output() {
            match output {
                ServiceOutput::Disk { ticket, op } => {
                    self.waiting.push((ticket, op.clone()));
                    self.all.push((ticket, op));
                    self.do_disk();
                }
                ServiceOutput::Event { client, event, .. } => {
                    self.told.entry(client).or_default().push(event);
                }
                ServiceOutput::Pong { .. } => {}
            }
        }
    }

    fn do_disk(&mut self) {
        if self.is_disk_held {
            return;
        }
        for (ticket, op) in std::mem::take(&mut self.waiting) {
            self.files.apply(&op, usize::MAX);
            let done = ServiceInput::DiskDone { upto: ticket };
            self.service
                .handle(self.now, done, EventId::NONE, &mut self.trace);
        }
    }

    fn let_disk_go(&mut self) {
        self.is_disk_held = false;
        self.do_disk();
        self.drain();
    }

    /// Lets time pass, stopping wherever the service wants.
    fn pass(&mut self, ms: Millis) {
        let until = self.now + ms;
        while let Some(next) = self.service.poll_timeout().filter(|next| *next <= until) {
            self.now = self.now.max(next);
            self.put_in(ServiceInput::Tick);
        }
        self.now = until;
    }

    fn connect(&mut self, client: ClientId, timeout_ms: Millis) -> SessionId {
        self.put_in(ServiceInput::Connect {
            client,
            timeout_ms,
            resume: None,
        });
        match self.told(client).pop() {
            Some(Told::Connected { session_id, .. }) => session_id,
            other => panic!("{other:?}"),
        }
    }

    fn resume(&mut self, client: ClientId, session_id: SessionId, seen: Zxid, watches: &[(&str, WatchOn)]) {
        let watches = watches.iter().map(|(path, on)| ((*path).into(), *on)).collect();
        self.put_in(ServiceInput::Connect {
            client,
            timeout_ms: 0,
            resume: Some(Resume {
                session_id,
                seen,
                watches,
            }),
        });
    }

    fn ask(&mut self, client: ClientId, op: CoordinationOp) -> OpId {
        self.next_op += 1;
        let id = self.next_op;
        self.put_in(ServiceInput::Ask { client, id, op });
        id
    }

    fn multi(&mut self, client: ClientId, multi: Multi) -> OpId {
        self.ask(client, CoordinationOp::Multi(multi))
    }

    fn read(&mut self, client: ClientId, reads: Vec<Read>) -> OpId {
        self.ask(client, CoordinationOp::Read(reads))
    }

    /// What the client was told since it was last asked, without the answers to multis.
    fn told(&mut self, client: ClientId) -> Vec<CoordinationEvent> {
        self.told.remove(&client).unwrap_or_default()
    }

    fn watches(&mut self, client: ClientId) -> Vec<(String, WatchKind)> {
        let told = self.told(client).into_iter();
        told.filter_map(|event| match event {
            Told::Watch { path, what } => Some((path.to_string(), what)),
            _ => None,
        })
        .collect()
    }

    fn facts(&mut self) -> Vec<Event> {
        self.trace.take()
    }

    fn has(&self, path: &str) -> bool {
        self.service.tree().exists(path)
    }
}

fn data(path: &str) -> Read {
    Read::Data {
        path: path.into(),
        watch: true,
    }
}

fn children(path: &str) -> Read {
    Read::Children {
        path: path.into(),
        watch: true,
    }
}

fn look(path: &str) -> Read {
    Read::Data {
        path: path.into(),
        watch: false,
    }
}

fn silent_ms(timeout_ms: Millis) -> ServiceOptions {
    ServiceOptions {
        min_session_timeout_ms: timeout_ms,
        ..ServiceOptions::default()
    }
}

#[test]
fn nothing_is_told_before_it_is_on_disk() {
    let mut world = World::new();
    world.connect(1, 6000);
    world.connect(2, 6000);
    world.read(2, vec![data("/a")]);
    world.told(2);
    world.is_disk_held = true;
    let made = world.multi(1, Multi::new().create("/a", "x"));
    let seen = world.read(2, vec![look("/a")]);
    world.put_in(ServiceInput::Connect {
        client: 3,
        timeout_ms: 6000,
        resume: None,
    });
    assert!(world.told.is_empty(), "{:?}", world.told);
    world.let_disk_go();
    let done = |id, result| Told::Done {
        id,
        result: Ok(result),
    };
    let created = OpResult::Created { path: "/a".into() };
    assert_eq!(
        world.told(1),
        [done(made, CoordinationReply::Multi(vec![created]))]
    );
    let (watch, answer) = (world.told(2), world.told(3));
    let event = Told::Watch {
        path: "/a".into(),
        what: WatchKind::Created,
    };
    assert_eq!(watch[0], event, "before the answer that shows it");
    assert!(matches!(&watch[1], Told::Done { id, .. } if *id == seen));
    assert!(matches!(answer[..], [Told::Connected { .. }]));
}

#[test]
fn what_was_decided_together_shares_one_sync() {
    let mut world = World::new();
    world.connect(1, 6000);
    world.all.clear();
    for n in 0..10 {
        let input = ServiceInput::Ask {
            client: 1,
            id: n,
            op: CoordinationOp::Multi(Multi::new().create(format!("/{n}"), "")),
        };
        world.service.handle(0, input, EventId::NONE, &mut world.trace);
    }
    world.drain();
    let count = |wanted: fn(&DiskOp) -> bool| world.all.iter().filter(|(_, op)| wanted(op)).count();
    assert_eq!(count(|op| matches!(op, DiskOp::Sync { .. })), 1);
    assert_eq!(count(|op| matches!(op, DiskOp::Append { .. })), 10);
    assert_eq!(world.told(1).len(), 10);
}

#[test]
fn a_session_reads_its_own_writes_and_is_told_of_them_first() {
    let mut world = World::new();
    world.connect(1, 6000);
    world.multi(1, Multi::new().create("/a", "1"));
    world.read(1, vec![data("/a"), children("/"), look("/none")]);
    world.told(1);
    let set = world.multi(1, Multi::new().set("/a", "2", Some(0)).create("/b", ""));
    let told = world.told(1);
    let watch = |path: &str, what| Told::Watch {
        path: path.into(),
        what,
    };
    assert_eq!(
        told[..2],
        [
            watch("/a", WatchKind::DataChanged),
            watch("/", WatchKind::ChildrenChanged)
        ]
    );
    assert!(matches!(&told[2], Told::Done { id, result: Ok(_) } if *id == set));
    let read = world.read(
        1,
        vec![look("/a"), children("/"), look("/none"), children("/none")],
    );
    let Some(Told::Done { id, result }) = world.told(1).pop() else {
        panic!("no answer");
    };
    let Ok(CoordinationReply::Read(found)) = result else {
        panic!("{result:?}");
    };
    let stat = Stat {
        czxid: 2,
        mzxid: 3,
        version: 1,
        ..Stat::default()
    };
    assert_eq!(id, read);
    assert_eq!(
        found,
        [
            Found::Data(Some(("2".into(), stat))),
            Found::Children(Some(vec!["a".into(), "b".into()])),
            Found::Data(None),
            Found::Children(None)
        ]
    );
}

#[test]
fn a_refused_multi_changes_nothing_and_tells_nobody_else() {
    let mut world = World::new();
    world.connect(1, 6000);
    world.read(1, vec![data("/a")]);
    world.told(1);
    world.all.clear();
    let id = world.multi(1, Multi::new().create("/a", "").check("/none", None));
    let error = MultiError {
        index: 1,
        path: "/none".into(),
        error: NodeError::NoNode,
    };
    let result = Err(error);
    assert_eq!(world.told(1), [Told::Done { id, result }]);
    assert!(world.all.is_empty(), "nothing is written");
    let id = world.read(1, vec![look("/a"), look("no path")]);
    let bad = MultiError {
        index: 1,
        path: "no path".into(),
        error: NodeError::BadArguments,
    };
    assert_eq!(world.told(1), [Told::Done { id, result: Err(bad) }]);
}

#[test]
fn a_closed_session_takes_its_nodes_along_at_once() {
    let mut world = World::new();
    world.connect(1, 6000);
    world.connect(2, 6000);
    world.multi(2, Multi::new().create("/ids", ""));
    world.multi(
        1,
        Multi::new().create_ephemeral("/ids/1", "me").create("/stays", ""),
    );
    world.read(2, vec![data("/ids/1"), children("/ids")]);
    world.told(2);
    world.put_in(ServiceInput::Close { client: 1 });
    assert!(!world.has("/ids/1") && world.has("/stays"));
    assert_eq!(
        world.watches(2),
        [
            ("/ids/1".to_owned(), WatchKind::Deleted),
            ("/ids".to_owned(), WatchKind::ChildrenChanged)
        ]
    );
    assert_eq!(world.service.sessions().count(), 1);
    world.multi(1, Multi::new().create("/late", ""));
    assert!(!world.has("/late"), "a closed session asks in vain");
}

#[test]
fn silence_ends_a_session_and_pings_keep_it() {
    let mut world = World::new();
    let silent = world.connect(1, 5000);
    world.connect(2, 5000);
    world.multi(1, Multi::new().create_ephemeral("/1", ""));
    world.multi(2, Multi::new().create_ephemeral("/2", ""));
    world.facts();
    for _ in 0..3 {
        world.pass(1999);
        world.put_in(ServiceInput::Ping { client: 2 });
    }
    assert!(!world.has("/1") && world.has("/2"));
    assert_eq!(world.told(1).pop(), Some(Told::Expired));
    let facts = world.facts();
    let expired = facts
        .iter()
        .find(|event| matches!(event.fact, Fact::SessionExpired { session } if session == silent))
        .unwrap();
    assert_eq!(expired.at_ms, 5000, "neither sooner nor later");
    let gone = facts.iter().find(|event| event.cause == expired.id).unwrap();
    assert!(matches!(&gone.fact, Fact::CoordinationChanged { changes, .. } if changes[..] == ["delete /1"]));
}

#[test]
fn timeouts_are_agreed_within_bounds() {
    let mut world = World::on(Files::default(), silent_ms(200), 0);
    for (client, asked, agreed) in [(1, 1, 200), (2, 6000, 6000), (3, Millis::MAX, 40_000)] {
        world.put_in(ServiceInput::Connect {
            client,
            timeout_ms: asked,
            resume: None,
        });
        assert!(matches!(world.told(client)[..],
            [Told::Connected { timeout_ms, .. }] if timeout_ms == agreed));
    }
}

#[test]
fn a_session_outlives_its_connection_and_learns_what_it_missed() {
    let mut world = World::new();
    let session = world.connect(1, 6000);
    world.connect(2, 6000);
    world.multi(2, Multi::new().create("/a", "").create("/b", "").create("/c", ""));
    world.multi(1, Multi::new().create_ephemeral("/1", ""));
    world.read(
        1,
        vec![
            data("/a"),
            data("/b"),
            data("/new"),
            data("/never"),
            children("/c"),
        ],
    );
    let seen = world.service.tree().zxid();
    world.put_in(ServiceInput::Disconnected { client: 1 });
    world.multi(2, Multi::new().set("/a", "x", None).create("/new", ""));
    world.multi(2, Multi::new().create("/c/child", ""));
    world.told(1);
    world.pass(5000);
    world.put_in(ServiceInput::Ping { client: 2 });
    let watches = [
        ("/a", WatchOn::Data),
        ("/b", WatchOn::Data),
        ("/new", WatchOn::Absent),
        ("/never", WatchOn::Absent),
        ("/c", WatchOn::Children),
        ("/gone", WatchOn::Data),
    ];
    world.resume(3, session, seen, &watches);
    let told = world.told(3);
    let connected = Told::Connected {
        session_id: session,
        timeout_ms: 6000,
    };
    assert_eq!(told[0], connected);
    let missed = [
        ("/a", WatchKind::DataChanged),
        ("/new", WatchKind::Created),
        ("/c", WatchKind::ChildrenChanged),
        ("/gone", WatchKind::Deleted),
    ]
    .map(|(path, what)| Told::Watch {
        path: path.into(),
        what,
    });
    assert_eq!(told[1..], missed);
    world.multi(2, Multi::new().set("/b", "", None).create("/never", ""));
    assert_eq!(
        world.watches(3),
        [
            ("/b".to_owned(), WatchKind::DataChanged),
            ("/never".to_owned(), WatchKind::Created)
        ],
        "what it brought along still holds"
    );
    world.pass(5999);
    assert!(world.has("/1"), "its time began anew when it came back");
    world.pass(1);
    assert!(!world.has("/1"));
    world.resume(4, session, seen, &[]);
    assert_eq!(world.told(4), [Told::Expired]);
}

#[test]
fn a_session_moves_to_the_connection_that_took_it_up_last() {
    let mut world = World::new();
    let session = world.connect(1, 6000);
    world.read(1, vec![data("/a")]);
    world.told(1);
    world.resume(2, session, 0, &[]);
    assert_eq!(world.told(1), [Told::Disconnected]);
    world.multi(1, Multi::new().create("/a", ""));
    assert!(!world.has("/a"), "the old connection speaks for nobody");
    world.multi(2, Multi::new().create("/a", ""));
    assert!(world.has("/a"));
    assert_eq!(world.watches(1), []);
}

#[test]
fn a_restart_keeps_sessions_until_their_time_is_up_anew() {
    let mut world = World::new();
    let session = world.connect(1, 6000);
    world.multi(1, Multi::new().create_ephemeral("/1", ""));
    world.pass(5000);
    let mut next = world.restart(ServiceOptions::default());
    next.pass(5999);
    assert!(next.has("/1"));
    next.resume(7, session, 0, &[]);
    next.pass(5000);
    next.multi(7, Multi::new().create_ephemeral("/more", ""));
    assert_eq!(
        next.service.tree().get("/more").unwrap().stat.ephemeral_owner,
        session
    );
    next.pass(6000);
    assert!(!next.has("/1") && !next.has("/more"));

    let other = world.restart(ServiceOptions {
        expire_all_on_start: true,
        ..ServiceOptions::default()
    });
    assert!(!other.has("/1"), "nobody can come back to it");
    let again = other.restart(ServiceOptions::default());
    assert!(!again.has("/1") && again.service.sessions().count() == 0);
}

#[test]
fn where_the_connection_tells_who_lives_silence_means_nothing() {
    let options = ServiceOptions {
        silence_expires: false,
        ..ServiceOptions::default()
    };
    let mut world = World::on(Files::default(), options, 0);
    world.connect(1, 6000);
    world.multi(1, Multi::new().create_ephemeral("/1", ""));
    world.pass(100_000);
    assert!(world.has("/1"));
    world.put_in(ServiceInput::Disconnected { client: 1 });
    world.pass(6000);
    assert!(!world.has("/1"));
}

#[test]
fn a_failed_disk_ends_the_service_and_everybody_is_told() {
    let mut world = World::new();
    world.connect(1, 6000);
    world.is_disk_held = true;
    world.multi(1, Multi::new().create("/a", ""));
    world.put_in(ServiceInput::DiskFailed {
        error: DiskError::Full,
    });
    let lost = |told: &[CoordinationEvent]| matches!(told, [Told::Lost { why }] if why.contains("no space"));
    assert!(lost(&world.told(1)), "and the multi is never acknowledged");
    world.multi(1, Multi::new().create("/b", ""));
    assert!(world.told(1).is_empty());
    world.put_in(ServiceInput::Connect {
        client: 2,
        timeout_ms: 6000,
        resume: None,
    });
    assert!(lost(&world.told(2)));
    assert_eq!(world.service.poll_timeout(), None);
}

#[test]
fn two_copies_of_a_service_go_their_own_ways() {
    let mut world = World::new();
    world.connect(1, 6000);
    let mut other = world.clone();
    world.multi(1, Multi::new().create("/here", ""));
    other.multi(1, Multi::new().create_ephemeral("/there", ""));
    assert!(world.has("/here") && !world.has("/there"));
    assert!(other.has("/there") && !other.has("/here"));
}
