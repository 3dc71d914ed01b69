//! A broker's session with either service, and the words to ask in.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use CoordinationEvent as Told;
use highwater::coordination::{CoordinationHost, Embedded, Tell, ZooKeeper, ZooKeeperConfig};
use highwater_core::coordination::{
    CoordinationEvent, CoordinationOp, CoordinationReply, Found, OpId, Read, SessionEpoch,
};
use tokio::runtime::Runtime;

/// So long nobody waits for an event that comes.
pub const LONG: Duration = Duration::from_secs(60);
pub const SESSION_MS: i64 = 2_000;

pub fn tell_into(sender: Sender<(SessionEpoch, CoordinationEvent)>) -> Tell {
    let sender = Mutex::new(sender);
    Arc::new(move |session, event| drop(sender.lock().unwrap().send((session, event))))
}

/// A broker's session, asked one thing after the other.
pub struct Broker {
    pub host: Arc<dyn CoordinationHost>,
    pub told: Receiver<(SessionEpoch, CoordinationEvent)>,
    next_id: OpId,
    /// A runtime of its own, so that it can die without a word.
    pub runtime: Option<Runtime>,
}

impl Broker {
    pub fn of_zookeeper(connect: &str, connection_timeout_ms: i64) -> Self {
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

    pub fn of_embedded(service: &Embedded) -> Self {
        let (sender, told) = channel();
        Self {
            host: service.attach(tell_into(sender)),
            told,
            next_id: 0,
            runtime: None,
        }
    }

    pub fn next(&self) -> CoordinationEvent {
        self.told.recv_timeout(LONG).expect("an event").1
    }

    pub fn open(&self, session: SessionEpoch) -> i64 {
        self.host.open(session, SESSION_MS);
        match self.next() {
            Told::Connected { session_id, .. } => session_id,
            other => panic!("{other:?}"),
        }
    }

    pub fn ask(&mut self, op: CoordinationOp) -> OpId {
        self.next_id += 1;
        self.host.ask(1, self.next_id, op);
        self.next_id
    }

    /// What is told up to the answer, and with it.
    pub fn until_answer(&self, id: OpId) -> Vec<CoordinationEvent> {
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

    pub fn read(&mut self, path: &str) -> Option<String> {
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

pub fn look(path: &str, watch: bool) -> CoordinationOp {
    CoordinationOp::Read(vec![Read::Data {
        path: path.into(),
        watch,
    }])
}

pub fn look_all(data: &[&str], children: &[&str]) -> CoordinationOp {
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
