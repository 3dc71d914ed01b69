//! One broker of a world: the broker, if it runs, its disk, its clock, and what it waits for.
//!
//! A node does for its broker what a process and its machine do. It hands inputs in and takes the
//! outputs; what they lead to elsewhere is the world's business.
//!
//! Invariants
//! - after each call the broker has nothing left to say and no work queued
//! - within a life its clock never runs backwards, whatever is done to it
//! - a lane has one operation under way at most, and carries it out when it is done, not before: a
//!   broker that dies meanwhile has not written it

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};

use super::agenda::{Happening, Life};
use crate::broker::{Admission, Admitted, Boot, BootDir, Broker, Job, admit, run_job};
use crate::config::{BrokerConfig, ConfigError, Endpoint, Setting};
use crate::disk::memory::MemoryDisk;
use crate::disk::{DirId, DiskOp, Lane, Lanes, Ticket};
use crate::error::Malformed;
use crate::io::{Input, JobId, Level, Output, Part, Parts};
use crate::ordered::OrderedMap;
use crate::record::Workspace;
use crate::trace::{EventId, NodeId, Trace};
use crate::types::{BrokerId, Millis};

/// Steps of queued work between two looks at the outputs.
const STEPS: usize = 64;
/// Lines for the operator that are kept.
const LINES_KEPT: usize = 200;
const PORT: u16 = 9092;

/// Why a broker does not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Down {
    /// The process is gone, its machine answers for it that nobody listens.
    Process,
    /// The machine is off, and answers nothing.
    Power,
}

/// A broker's machine.
#[derive(Clone, Debug)]
pub struct BrokerNode {
    pub id: BrokerId,
    /// `None` while it runs.
    pub down: Option<Down>,
    pub life: Life,
    pub broker: Option<Broker>,
    pub disk: MemoryDisk,
    pub trace: Trace,
    pub ready: bool,
    /// The process is stopped (SIGSTOP): what comes waits here.
    pub paused: bool,
    pub backlog: Vec<Happening>,
    /// How far its clock is ahead of the world's.
    pub skew_ms: Millis,
    /// The latest time that this life has seen: a clock that is set back stands still until then.
    latest: Millis,
    /// When the broker wants to be called, by its own clock: noted after each call, and asked for much more often.
    due: Option<Millis>,
    /// How long each disk operation takes.
    pub disk_delay_ms: Millis,
    /// Lines for the operator, the latest.
    pub said: Vec<(Millis, Level, String)>,
    boot: Boot,
    admission: Arc<Admission>,
    workspace: Workspace,
    lanes: OrderedMap<DirId, Lanes>,
    /// Why operations were asked for: from which ticket of its lane on, in order.
    causes: OrderedMap<DirId, [VecDeque<(Ticket, EventId)>; 2]>,
    under_way: OrderedMap<DirId, [Option<(Ticket, DiskOp)>; 2]>,
}

impl BrokerNode {
    /// A machine with an empty disk, not started. Settings are `key=value`; later ones win.
    pub fn new(id: BrokerId, settings: &[String], seed: u64) -> Result<Self, ConfigError> {
        let own = [format!("broker.id={id}"), "log.dirs=/data".to_owned()];
        let settings = own.iter().chain(settings).map(|line| {
            let (key, value) = line.split_once('=').unwrap_or((line, ""));
            (key.trim().to_owned(), value.trim().to_owned())
        });
        // Each key once, as a properties file would have it.
        let by_key: OrderedMap<String, String> = settings.collect();
        let settings = by_key.into_iter().map(|(key, value)| Setting {
            place: key.clone(),
            key,
            value,
        });
        let config = Arc::new(BrokerConfig::from_settings(settings.collect())?.config);
        let dirs = config.log_dirs.iter().map(|path| BootDir {
            path: path.clone(),
            state: Ok(()),
        });
        Ok(Self {
            id,
            down: Some(Down::Process),
            life: 0,
            broker: None,
            disk: MemoryDisk::new(),
            trace: Trace::recording(id as NodeId),
            ready: false,
            paused: false,
            backlog: Vec::new(),
            skew_ms: 0,
            latest: 0,
            due: None,
            disk_delay_ms: 0,
            said: Vec::new(),
            boot: Boot {
                advertised: vec![Endpoint {
                    name: "PLAINTEXT".to_owned(),
                    host: host_of(id),
                    port: PORT,
                }],
                dirs: dirs.collect(),
                config,
                seed,
            },
            admission: Arc::default(),
            workspace: Workspace::default(),
            lanes: OrderedMap::new(),
            causes: OrderedMap::new(),
            under_way: OrderedMap::new(),
        })
    }

    /// Starts the broker on its disk as it is; each life draws from its own seed.
    pub fn start(&mut self, now: Millis, cause: EventId) -> Vec<Output> {
        self.life += 1;
        self.boot.seed = self.boot.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(1);
        self.down = None;
        self.ready = false;
        self.paused = false;
        self.trace.cause = cause;
        self.latest = 0;
        let local = self.local(now);
        self.broker = Some(Broker::boot(local, self.boot.clone(), &mut self.trace));
        self.drain(local)
    }

    /// The process ends here and now; the disk stays as far as it was written.
    pub fn die(&mut self, down: Down) {
        self.down = Some(down);
        self.broker = None;
        self.due = None;
        self.ready = false;
        self.paused = false;
        self.backlog.clear();
        self.lanes.clear();
        self.causes.clear();
        self.under_way.clear();
        self.admission = Arc::default();
        self.disk.crash();
    }

    pub fn is_running(&self) -> bool {
        self.broker.is_some()
    }

    /// Gives the broker one input and takes everything that follows at once.
    pub fn tell(&mut self, now: Millis, cause: EventId, input: Input) -> Vec<Output> {
        let local = self.local(now);
        let Some(broker) = &mut self.broker else {
            return Vec::new();
        };
        self.trace.cause = cause;
        broker.handle(local, input, &mut self.trace);
        self.drain(local)
    }

    fn drain(&mut self, local: Millis) -> Vec<Output> {
        let mut outputs = Vec::new();
        let Some(broker) = &mut self.broker else {
            return outputs;
        };
        loop {
            while let Some(output) = broker.poll_output() {
                match output {
                    Output::Admission(admission) => self.admission = admission,
                    Output::Ready => self.ready = true,
                    Output::Say { level, text } => {
                        if self.said.len() == LINES_KEPT {
                            self.said.remove(0);
                        }
                        self.said.push((local, level, text));
                    }
                    other => outputs.push(other),
                }
            }
            if !broker.work(local, STEPS, &mut self.trace) {
                while let Some(output) = broker.poll_output() {
                    outputs.push(output);
                }
                break;
            }
        }
        self.due = broker.poll_timeout();
        outputs
    }

    /// What its clock shows; as in every host it never runs backwards within a life.
    fn local(&mut self, now: Millis) -> Millis {
        self.latest = self.latest.max(now + self.skew_ms);
        self.latest
    }

    /// When the broker wants to be called, by the world's clock.
    pub fn next_timeout(&self) -> Option<Millis> {
        if self.paused {
            return None;
        }
        let due = self.due?;
        // What is due by a clock that stands still is due now.
        Some(if due <= self.latest { 0 } else { due - self.skew_ms })
    }

    /// Decodes a frame, its length taken off, as the connection's side does.
    pub fn admit(&mut self, now: Millis, frame: &Bytes) -> Result<Admitted, Malformed> {
        let local = self.local(now);
        admit(frame, &self.admission, local, &mut self.workspace)
    }

    pub fn queue(&mut self, dir: DirId, lane: Lane, ticket: Ticket, op: DiskOp, cause: EventId) {
        let causes = &mut self.causes.entry(dir).or_default()[index(lane)];
        if causes.back().is_none_or(|(_, last)| *last != cause) {
            causes.push_back((ticket, cause));
        }
        self.lanes.entry(dir).or_default().push(lane, ticket, op);
    }

    /// The lanes of the directory in which an operation begins now.
    pub fn begin(&mut self, dir: DirId) -> Vec<Lane> {
        let mut begun = Vec::new();
        let Some(lanes) = self.lanes.get_mut(&dir) else {
            return begun;
        };
        let under_way = self.under_way.entry(dir).or_default();
        for lane in [Lane::Aside, Lane::Strict] {
            let slot = &mut under_way[index(lane)];
            if slot.is_none()
                && let Some(begins) = lanes.begin(lane)
            {
                *slot = Some(begins);
                begun.push(lane);
            }
        }
        begun
    }

    /// Carries out the operation under way; what the broker is told of it, and why it had asked.
    pub fn carry_out(&mut self, dir: DirId, lane: Lane) -> Option<(Input, EventId)> {
        let (ticket, op) = self.under_way.get_mut(&dir)?[index(lane)].take()?;
        let causes = &mut self.causes.get_mut(&dir)?[index(lane)];
        while causes.get(1).is_some_and(|(from, _)| *from <= ticket) {
            causes.pop_front();
        }
        let cause = causes.front().map_or(EventId::NONE, |(_, cause)| *cause);
        let lanes = self.lanes.get_mut(&dir)?;
        let input = match self.disk.apply(dir, &op) {
            Ok(()) => {
                lanes.done(lane, ticket);
                match lane {
                    Lane::Strict => Input::DiskDone { dir, upto: ticket },
                    Lane::Aside => Input::AsideDone { dir, upto: ticket },
                }
            }
            Err(error) => {
                lanes.clear();
                Input::DiskFailed {
                    dir,
                    lane,
                    ticket,
                    error,
                }
            }
        };
        Some((input, cause))
    }

    pub fn run(&self, job: JobId, work: Job) -> Input {
        let result = run_job(work, &self.disk, &mut |_| {});
        Input::JobDone { job, result }
    }

    /// Puts the bytes that are named now in the place of ranges of files, as a host ties an answer to open
    /// files. Naming bytes which are not there is a mistake of the broker's, told as `Err`.
    pub fn tie(&self, parts: &mut Parts) -> Result<(), String> {
        for part in parts {
            if let Part::File { file, pos, len } = part {
                let bytes = self.disk.read_open(*file, *pos, *len as usize);
                let bytes = bytes.map_err(|error| format!("a part of an answer cannot be read: {error}"))?;
                if bytes.len() != *len as usize {
                    return Err("a part of an answer ends too soon".to_owned());
                }
                *part = Part::Bytes(bytes);
            }
        }
        Ok(())
    }
}

/// An answer as one frame, when its parts are tied; `None`: no byte at all.
pub fn frame(parts: Parts) -> Option<Bytes> {
    let mut pieces = parts.into_iter().filter_map(|part| match part {
        Part::Bytes(bytes) => Some(bytes),
        Part::File { .. } => None,
    });
    let first = pieces.next()?;
    let mut rest = pieces.peekable();
    if rest.peek().is_none() {
        return Some(first).filter(|frame| !frame.is_empty());
    }
    let mut whole = BytesMut::from(&*first);
    rest.for_each(|piece| whole.extend_from_slice(&piece));
    Some(whole.freeze())
}

/// The name under which a broker is reached.
pub fn host_of(broker: BrokerId) -> String {
    format!("broker-{broker}")
}

/// The same with the port, as `bootstrap.servers` has it.
pub fn address_of(broker: BrokerId) -> String {
    format!("{}:{PORT}", host_of(broker))
}

/// The broker that is reached under the name.
pub fn broker_at(host: &str) -> Option<BrokerId> {
    host.strip_prefix("broker-")?.parse().ok()
}

fn index(lane: Lane) -> usize {
    match lane {
        Lane::Strict => 0,
        Lane::Aside => 1,
    }
}

#[cfg(test)]
mod tests {
    use smallvec::smallvec;

    use super::*;
    use crate::disk::FileId;

    #[test]
    fn an_answer_is_what_it_was_when_it_was_given() {
        const FILE: FileId = FileId { dir: 0, number: 7 };
        let path = "t-0/00000000000000000000.log";
        for later in [
            DiskOp::Truncate { file: FILE, len: 3 },
            DiskOp::Close { file: FILE },
            DiskOp::Unlink { path: path.into() },
            DiskOp::Append {
                file: FILE,
                at: 0,
                bufs: smallvec![Bytes::from_static(b"other")],
            },
        ] {
            let mut node = BrokerNode::new(1, &[], 1).unwrap();
            let open = DiskOp::Open {
                file: FILE,
                path: path.into(),
            };
            let append = DiskOp::Append {
                file: FILE,
                at: 0,
                bufs: smallvec![Bytes::from_static(b"records")],
            };
            for op in [open, append] {
                node.disk.apply(0, &op).unwrap();
            }
            let head = Part::Bytes(Bytes::from_static(b"head "));
            let range = Part::File {
                file: FILE,
                pos: 0,
                len: 7,
            };
            let mut parts: Parts = smallvec![head, range];
            node.tie(&mut parts).unwrap();
            node.disk.apply(0, &later).unwrap();
            assert_eq!(frame(parts).unwrap(), "head records", "{later:?}");
        }
    }

    #[test]
    fn a_clock_that_is_set_back_stands_still() {
        let mut node = BrokerNode::new(1, &[], 1).unwrap();
        node.skew_ms = 500;
        assert_eq!(node.local(1_000), 1_500);
        node.skew_ms = -500;
        assert_eq!(node.local(1_100), 1_500);
        assert_eq!(node.local(3_000), 2_500);
    }
}
