//! A consumer and the application that it reads for.
//!
//! The consumer is the one that the command line runs. The application polls, takes its time over what
//! it is given, polls again, and says what of it is *processed*: only the world can know that. When it
//! commits decides what a death in the middle means: before it processes, records may be lost; after,
//! some may be processed twice; by itself leaves it to `enable.auto.commit`.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use super::application::{Act, Commits, ConsumerOptions};
use super::process::Process;
use crate::client::{ClientCx, ClientInput};
use crate::config::Settings;
use crate::consumer::{
    CommitId, Consumer as Client, ConsumerConfig, ConsumerError, ConsumerEvent, ConsumerRecord, LeaveBy,
    RebalanceListener,
};
use crate::record::compression::PURE_RUST;
use crate::sim::world::node::address_of;
use crate::trace::{EventId, Fact, NodeId, WorldFact};
use crate::types::{BrokerId, Millis, Offset, TopicPartition};

/// An application that hears an error polls again so much later.
const ERROR_PAUSE_MS: Millis = 1_000;
/// How long a close may take.
const CLOSE_MS: Millis = 30_000;

/// Records of one partition that follow each other.
#[derive(Clone, Debug)]
struct Piece {
    partition: TopicPartition,
    from: Offset,
    to: Offset,
    count: u32,
}

/// What the application is at.
#[derive(Clone, Debug)]
enum Work {
    /// It polls, and is given nothing yet.
    Polling,
    /// What it was given is processed when this commit is done.
    CommittingFirst(CommitId, VecDeque<Piece>),
    /// From then on these are processed.
    Processing(Millis, VecDeque<Piece>),
    /// It polls again when this commit is done.
    CommittingLast(CommitId),
}

#[derive(Clone, Debug)]
pub struct Consumer {
    pub(super) process: Process,
    application: Application,
}

/// The application, and the consumer that it holds.
#[derive(Clone, Debug)]
struct Application {
    id: NodeId,
    client: Client,
    commits: Commits,
    takes_ms: Millis,
    work: Work,
    /// False: it is busy with something else.
    polls: bool,
    /// A poll is open, and more comes of it by itself.
    waits: bool,
    not_before: Millis,
}

impl Consumer {
    /// # Errors
    /// A setting that a consumer cannot have, in one line.
    pub fn new(
        id: NodeId,
        seed: u64,
        brokers: &[BrokerId],
        options: &ConsumerOptions,
    ) -> Result<Self, String> {
        let bootstrap: Vec<String> = brokers.iter().map(|id| address_of(*id)).collect();
        let mut settings = Settings::from([
            ("bootstrap.servers".to_owned(), bootstrap.join(",")),
            ("client.id".to_owned(), format!("client-{id}")),
        ]);
        settings.extend(options.settings.iter().cloned());
        let config = ConsumerConfig::read(&settings).map_err(|error| error.to_string())?;
        Ok(Self {
            process: Process::new(seed, id),
            application: Application {
                id,
                client: Client::new(config, &PURE_RUST),
                commits: options.commits,
                takes_ms: options.takes_ms,
                work: Work::Polling,
                polls: true,
                waits: false,
                not_before: 0,
            },
        })
    }

    /// The partitions that it has, each with the next offset that it reads.
    pub fn positions(&self) -> BTreeMap<TopicPartition, Option<Offset>> {
        let client = &self.application.client;
        if client.is_closed() {
            return BTreeMap::new();
        }
        let at = |partition: TopicPartition| {
            let reached = client.reached(&partition);
            (partition, reached)
        };
        client.assignment().into_iter().map(at).collect()
    }

    /// Nothing is left to do but to wait for records, in a group that is complete.
    pub fn is_idle(&self) -> bool {
        let Application {
            client, work, polls, ..
        } = &self.application;
        let is_member = !client.subscription().is_empty();
        let rests = matches!(work, Work::Polling) && (!is_member || client.is_stable());
        client.is_closed() || !polls || rests
    }

    pub(super) fn next_timeout(&self) -> Option<Millis> {
        let own = self.application.next_timeout();
        own.into_iter()
            .chain(self.application.client.poll_timeout())
            .min()
    }

    /// The application does that now.
    ///
    /// # Errors
    /// What the consumer answers when it cannot be done.
    pub(super) fn act(&mut self, now: Millis, cause: EventId, act: &Act) -> Result<(), String> {
        let cx = &mut self.process.cx(now, cause);
        let done = self.application.act(cx, act);
        self.application.go_on(cx);
        done.map_err(|error| error.to_string())
    }

    pub(super) fn handle(&mut self, now: Millis, cause: EventId, input: &ClientInput) {
        let cx = &mut self.process.cx(now, cause);
        self.application.client.handle(cx, input);
        self.application.go_on(cx);
    }

    pub(super) fn tick(&mut self, now: Millis, cause: EventId) {
        let cx = &mut self.process.cx(now, cause);
        let client = &mut self.application.client;
        if client.poll_timeout().is_some_and(|due| due <= now) {
            client.handle(cx, &ClientInput::Tick);
        }
        self.application.go_on(cx);
    }
}

impl Application {
    fn next_timeout(&self) -> Option<Millis> {
        match &self.work {
            Work::Processing(due_ms, _) => Some(*due_ms),
            Work::Polling if self.may_poll() && self.not_before > 0 => Some(self.not_before),
            _ => None,
        }
    }

    fn act(&mut self, cx: &mut ClientCx, act: &Act) -> Result<(), ConsumerError> {
        let client = &mut self.client;
        match act {
            Act::Subscribe(topics) => {
                let topics = topics.iter().map(|topic| Arc::from(&**topic)).collect();
                client.subscribe(cx, topics, RebalanceListener::Absent)?;
            }
            Act::Unsubscribe => client.unsubscribe(cx)?,
            Act::Assign(partitions) => client.assign(cx, partitions.iter().cloned().collect())?,
            Act::Seek(partition, to) => client.seek(cx, partition, &(*to).into())?,
            Act::SeekTo(partition, strategy) => {
                client.seek_to(cx, std::slice::from_ref(partition), *strategy)?;
            }
            Act::Commit => _ = client.commit_sync(cx, None)?,
            Act::Close => client.close(cx, CLOSE_MS, LeaveBy::Default),
            Act::Busy => self.polls = false,
            Act::Poll => self.polls = true,
        }
        if matches!(act, Act::Subscribe(_) | Act::Unsubscribe | Act::Assign(_)) {
            self.waits = false;
        }
        Ok(())
    }

    /// Goes on as far as it can.
    fn go_on(&mut self, cx: &mut ClientCx) {
        while self.hear(cx) || self.work(cx) {}
    }

    /// Takes an event in; false when there is none.
    fn hear(&mut self, cx: &mut ClientCx) -> bool {
        let Some(event) = self.client.next_event() else {
            return false;
        };
        match event {
            ConsumerEvent::Committed { id, result, .. } => {
                let work = std::mem::replace(&mut self.work, Work::Polling);
                self.work = match work {
                    // What could not be committed is somebody else's to process.
                    Work::CommittingFirst(awaited, pieces) if awaited == id && result.is_ok() => {
                        Work::Processing(cx.now + self.takes_ms, pieces)
                    }
                    Work::CommittingFirst(awaited, _) | Work::CommittingLast(awaited) if awaited == id => {
                        Work::Polling
                    }
                    other => other,
                };
            }
            ConsumerEvent::Failed(_) => {
                self.waits = false;
                self.not_before = cx.now + ERROR_PAUSE_MS;
            }
            _ => {}
        }
        true
    }

    /// Does the next piece of work; false when there is none now.
    fn work(&mut self, cx: &mut ClientCx) -> bool {
        match &mut self.work {
            Work::Processing(due_ms, _) if *due_ms > cx.now => false,
            Work::Processing(_, pieces) => {
                let pieces = std::mem::take(pieces);
                self.processed(cx, pieces);
                true
            }
            Work::Polling => self.poll(cx),
            Work::CommittingFirst(..) | Work::CommittingLast(_) => false,
        }
    }

    fn may_poll(&self) -> bool {
        let reads = !self.client.subscription().is_empty() || !self.client.assignment().is_empty();
        self.polls && reads && !self.client.is_closed()
    }

    fn poll(&mut self, cx: &mut ClientCx) -> bool {
        if !self.may_poll() || self.not_before > cx.now || (self.waits && !self.client.has_records()) {
            return false;
        }
        self.not_before = 0;
        let records = self.client.poll(cx);
        self.waits = records.is_empty();
        if self.waits {
            return false;
        }
        let pieces = in_pieces(&records);
        let commits_first = self.commits == Commits::Before;
        self.work = match commits_first.then(|| self.client.commit_sync(cx, None)) {
            Some(Ok(id)) => Work::CommittingFirst(id, pieces),
            _ => Work::Processing(cx.now + self.takes_ms, pieces),
        };
        true
    }

    fn processed(&mut self, cx: &mut ClientCx, pieces: VecDeque<Piece>) {
        for Piece {
            partition,
            from,
            to,
            count,
        } in pieces
        {
            let client = self.id;
            cx.cause = cx.emit(|| {
                Fact::World(WorldFact::RecordsProcessed {
                    client,
                    partition,
                    from,
                    to,
                    count,
                })
            });
        }
        let commits_last = self.commits == Commits::After;
        self.work = match commits_last.then(|| self.client.commit_sync(cx, None)) {
            Some(Ok(id)) => Work::CommittingLast(id),
            _ => Work::Polling,
        };
    }
}

/// The records by partition, in the order in which they were returned.
fn in_pieces(records: &[ConsumerRecord]) -> VecDeque<Piece> {
    let mut pieces: VecDeque<Piece> = VecDeque::new();
    for record in records {
        let partition = record.partition.clone();
        match pieces.back_mut().filter(|last| last.partition == partition) {
            Some(last) => {
                last.to = record.offset + 1;
                last.count += 1;
            }
            None => pieces.push_back(Piece {
                partition,
                from: record.offset,
                to: record.offset + 1,
                count: 1,
            }),
        }
    }
    pieces
}
