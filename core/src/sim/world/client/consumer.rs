//! A consumer and the application that it reads for.
//!
//! The consumer is the one that the command line runs. The application polls, takes its time over what
//! it is given, polls again, and says what of it is *processed*: only the world can know that. When it
//! commits decides what a death in the middle means: before it processes, records may be lost; after,
//! some may be processed twice; by itself leaves it to `enable.auto.commit`.

use std::collections::VecDeque;
use std::sync::Arc;

use super::act::{Act, Commits, ConsumerOptions};
use super::{CLOSE_MS, settings};
use crate::client::{ClientCx, ClientInput};
use crate::consumer::{
    CommitId, Consumer as Client, ConsumerConfig, ConsumerError, ConsumerEvent, ConsumerRecord, LeaveBy,
    RebalanceListener,
};
use crate::ordered::OrderedMap;
use crate::record::compression::PURE_RUST;
use crate::trace::{Fact, NodeId, WorldFact};
use crate::types::{BrokerId, Millis, Offset, TopicPartition};

/// An application that hears an error polls again so much later.
const ERROR_PAUSE_MS: Millis = 1_000;

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

/// The application, and the consumer that it holds.
#[derive(Clone, Debug)]
pub struct Consumer {
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
    pub fn new(id: NodeId, brokers: &[BrokerId], options: &ConsumerOptions) -> Result<Self, String> {
        let settings = settings(id, brokers, &options.settings);
        let config = ConsumerConfig::read(&settings).map_err(|error| error.to_string())?;
        Ok(Self {
            id,
            client: Client::new(config, &PURE_RUST),
            commits: options.commits,
            takes_ms: options.takes_ms,
            work: Work::Polling,
            polls: true,
            waits: false,
            not_before: 0,
        })
    }

    /// The partitions that it has, each with the next offset that it reads.
    pub fn positions(&self) -> OrderedMap<TopicPartition, Option<Offset>> {
        if self.client.is_closed() {
            return OrderedMap::new();
        }
        let at = |partition: TopicPartition| {
            let reached = self.client.reached(&partition);
            (partition, reached)
        };
        self.client.assignment().into_iter().map(at).collect()
    }

    /// Nothing is left to do but to wait for records, in a group that is complete.
    pub fn is_idle(&self) -> bool {
        let is_member = !self.client.subscription().is_empty();
        let rests = matches!(self.work, Work::Polling) && (!is_member || self.client.is_stable());
        self.client.is_closed() || !self.polls || rests
    }

    pub(super) fn next_timeout(&self) -> Option<Millis> {
        let own = match &self.work {
            Work::Processing(due_ms, _) => Some(*due_ms),
            Work::Polling if self.may_poll() && self.not_before > 0 => Some(self.not_before),
            _ => None,
        };
        own.into_iter().chain(self.client.poll_timeout()).min()
    }

    /// The application does that now.
    pub(super) fn act(&mut self, cx: &mut ClientCx, act: &Act) -> Result<(), String> {
        let done = self.ask(cx, act);
        self.go_on(cx);
        done.map_err(|error| error.to_string())
    }

    pub(super) fn handle(&mut self, cx: &mut ClientCx, input: &ClientInput) {
        self.client.handle(cx, input);
        self.go_on(cx);
    }

    pub(super) fn tick(&mut self, cx: &mut ClientCx) {
        if self.client.poll_timeout().is_some_and(|due| due <= cx.now) {
            self.client.handle(cx, &ClientInput::Tick);
        }
        self.go_on(cx);
    }

    fn ask(&mut self, cx: &mut ClientCx, act: &Act) -> Result<(), ConsumerError> {
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
            // Nothing of it waits to be sent.
            Act::Flush => {}
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
