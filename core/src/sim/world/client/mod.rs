//! Who uses the cluster, as a script says.
//!
//! A client is a value like a broker: it is told of answers and of time, and says what it wants to
//! send. A consumer is the one of the core, with an application that reads by it. Producers and the
//! administrator are simple clients that behave on the wire as Kafka's own do where it matters for what
//! is safe: they learn from Metadata who leads, learn again when an answer says that it was wrong, and
//! try again what may be tried again.

mod admin;
mod application;
mod consumer;
mod metadata;
mod process;
mod producer;

use std::collections::BTreeMap;

use bytes::Bytes;

pub use admin::{Admin, AdminTask};
pub use application::{Act, Commits, ConsumerOptions};
pub use consumer::Consumer;
pub use producer::{Producer, ProducerOptions, read_value};

use metadata::Metadata;

use crate::client::{ClientInput, ClientOutput as Wish};
use crate::protocol::{
    ApiKey, RequestBody, RequestHeader, ResponseBody, SendId, SentAs, decode_response, encode_request,
};
use crate::trace::{Event, EventId, NodeId, WorldFact};
use crate::types::{BrokerId, Millis};

/// A failed request is tried again after so long (`retry.backoff.ms`).
const RETRY_BACKOFF_MS: Millis = 100;
/// Default of `request.timeout.ms`.
pub const REQUEST_TIMEOUT_MS: Millis = 30_000;

/// What a client is handed when it is its turn.
pub struct ClientCx<'a> {
    pub now: Millis,
    /// What happens now follows from that.
    pub cause: EventId,
    pub out: &'a mut Vec<ClientOutput>,
}

/// What a client wants.
#[derive(Debug)]
pub enum ClientOutput {
    Send {
        broker: BrokerId,
        id: SendId,
        sent: SentAs,
        /// False for a produce with acks=0.
        answered: bool,
        frame: Bytes,
    },
    Fact(WorldFact),
}

/// A client's machine.
#[derive(Clone, Debug)]
pub struct ClientNode {
    pub id: NodeId,
    /// Its process was killed.
    pub is_dead: bool,
    /// When it wants to be called.
    due: Option<Millis>,
    wire: Wire,
    metadata: Metadata,
    pub role: Role,
    /// What it knew of last: its timers follow from it.
    pub(super) last: EventId,
}

/// What the client is there for.
#[derive(Clone, Debug)]
pub enum Role {
    Producer(Producer),
    Consumer(Box<Consumer>),
    Admin(Admin),
}

/// Requests that are not answered yet.
#[derive(Clone, Debug)]
struct Wire {
    client: NodeId,
    next: SendId,
    awaited: BTreeMap<SendId, (SentAs, Purpose)>,
}

/// What a request was sent for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    Metadata,
    Own,
}

impl Wire {
    fn send(
        &mut self,
        cx: &mut ClientCx,
        broker: BrokerId,
        version: i16,
        body: &RequestBody,
        purpose: Purpose,
    ) -> SendId {
        self.next += 1;
        let id = self.next;
        let api = body.api();
        let header = RequestHeader {
            api,
            version,
            correlation_id: id as i32,
            client_id: Some(format!("client-{}", self.client).into()),
        };
        let answered = !matches!(body, RequestBody::Produce(produce) if produce.acks == 0);
        let sent = SentAs { api, version };
        // A request that its version cannot carry is never made here.
        if let Ok(frame) = encode_request(&header, body) {
            if answered {
                self.awaited.insert(id, (sent, purpose));
            }
            cx.out.push(ClientOutput::Send {
                broker,
                id,
                sent,
                answered,
                frame,
            });
        }
        id
    }
}

impl ClientNode {
    pub fn new(id: NodeId, brokers: Vec<BrokerId>, role: Role) -> Self {
        Self {
            id,
            is_dead: false,
            due: None,
            wire: Wire {
                client: id,
                next: 0,
                awaited: BTreeMap::new(),
            },
            metadata: Metadata::new(brokers),
            role,
            last: EventId::NONE,
        }
    }

    /// Nothing is awaited and nothing is left to do.
    pub fn is_idle(&self) -> bool {
        self.is_dead
            || match &self.role {
                Role::Producer(producer) => producer.is_idle(),
                Role::Consumer(consumer) => consumer.is_idle(),
                Role::Admin(admin) => admin.is_idle(),
            }
    }

    /// The facts and wishes of a client of the core since the last call.
    pub(super) fn take(&mut self) -> (Vec<Event>, Vec<Wish>) {
        match &mut self.role {
            Role::Consumer(consumer) => consumer.process.take(),
            _ => Default::default(),
        }
    }

    pub(super) fn next_timeout(&self) -> Option<Millis> {
        self.due
    }

    /// To be called when something was done to it: it is asked for its time-out much more often.
    pub(super) fn note_timeout(&mut self) {
        if self.is_dead {
            self.due = None;
            return;
        }
        let own = match &self.role {
            Role::Producer(producer) => producer.next_timeout(&self.metadata),
            Role::Consumer(consumer) => {
                self.due = consumer.next_timeout();
                return;
            }
            Role::Admin(admin) => admin.next_timeout(),
        };
        let metadata = self.metadata.next_timeout();
        self.due = [own, metadata].into_iter().flatten().min();
    }

    pub(super) fn tick(&mut self, cx: &mut ClientCx) {
        if let Role::Consumer(consumer) = &mut self.role {
            return consumer.tick(cx.now, cx.cause);
        }
        self.metadata.tick(cx, &mut self.wire);
        self.go_on(cx);
    }

    /// Something happened to a client of the core.
    pub(super) fn handle(&mut self, cx: &mut ClientCx, input: &ClientInput) {
        if let Role::Consumer(consumer) = &mut self.role {
            consumer.handle(cx.now, cx.cause, input);
        }
    }

    /// Its application does that.
    ///
    /// # Errors
    /// It is no consumer, or one that cannot do it.
    pub(super) fn act(&mut self, cx: &mut ClientCx, act: &Act) -> Result<(), String> {
        match &mut self.role {
            Role::Consumer(consumer) => consumer.act(cx.now, cx.cause, act),
            _ => Err(format!("client {} is no consumer", self.id)),
        }
    }

    /// An answer came to a simple client, or (`None`) will not come.
    pub(super) fn answered(&mut self, cx: &mut ClientCx, id: SendId, answer: Option<&Bytes>) {
        let Some((sent, purpose)) = self.wire.awaited.remove(&id) else {
            return;
        };
        let body = answer.and_then(|frame| decode(frame, sent));
        match purpose {
            Purpose::Metadata => self.metadata.answered(cx, body),
            Purpose::Own => match &mut self.role {
                Role::Producer(producer) => producer.answered(cx, &mut self.metadata, self.id, id, body),
                Role::Consumer(_) => {}
                Role::Admin(admin) => admin.answered(cx, &mut self.metadata, self.id, body),
            },
        }
        self.tick(cx);
    }

    pub(super) fn go_on(&mut self, cx: &mut ClientCx) {
        let Self {
            id,
            wire,
            metadata,
            role,
            ..
        } = self;
        match role {
            Role::Producer(producer) => producer.go_on(cx, wire, metadata, *id),
            Role::Consumer(_) => return,
            Role::Admin(admin) => admin.go_on(cx, wire, metadata),
        }
        metadata.tick(cx, wire);
    }
}

fn decode(frame: &Bytes, sent: SentAs) -> Option<ResponseBody> {
    let SentAs { api, version } = sent;
    decode_response(api, version, frame.clone())
        .ok()
        .map(|response| response.body)
}

/// The version of each API that the clients speak: one that names topics.
fn version_of(api: ApiKey) -> i16 {
    match api {
        ApiKey::Produce | ApiKey::Fetch | ApiKey::Metadata => 12,
        ApiKey::CreateTopics => 7,
        ApiKey::DeleteTopics => 5,
        ApiKey::InitProducerId => 4,
        ApiKey::ElectLeaders => 2,
        ApiKey::IncrementalAlterConfigs => 1,
        _ => 0,
    }
}
