//! Tree, sessions and their two files: a log of changes and, now and then, a snapshot that lets the log begin anew.
//!
//! The order of the operations is what keeps the promise. A change is appended and synced, and its
//! ticket is the sync's. A snapshot replaces the old one whole before the log is cut to nothing, so
//! that at any moment snapshot and log together hold every acknowledged change.

use std::sync::Arc;

use crate::cx::Cx;
use crate::disk::{DirId, DiskOp, DiskQueue, FileId, Ticket};
use crate::trace::Fact;
use crate::types::Millis;

use super::multi::{Multi, MultiError, Op, OpResult};
use super::record::{self, Change};
use super::session::SessionId;
use super::snapshot::{self, Recovered, Timeouts};
use super::tree::{Node, Tree};

/// The log of changes, at the top of the first log directory.
pub const LOG_PATH: &str = "coordination-log";
/// The last snapshot, beside it.
pub const SNAPSHOT_PATH: &str = "coordination-snapshot";
/// The log is left alone up to this size, so that a small tree is not written over and over.
const SNAPSHOT_AFTER_BYTES: u64 = 1 << 20;

/// A [`Tree`] that survives: each change is on disk before it is acknowledged.
#[derive(Clone, Debug)]
pub struct Coordination {
    tree: Tree,
    sessions: Timeouts,
    dir: DirId,
    log: FileId,
    log_bytes: u64,
    /// Length of the last snapshot: the log may grow to as much before the next is written, so that
    /// snapshots cost no more than the log itself.
    snapshot_bytes: u64,
    snapshot_after_bytes: u64,
    durable: Ticket,
}

impl Coordination {
    /// Takes up what [`recover`](super::recover) found: opens the log and cuts its torn tail.
    pub fn open(cx: &mut Cx, dir: DirId, recovered: Recovered) -> Self {
        let log = cx.disk.new_file(dir);
        cx.disk.push(
            dir,
            DiskOp::Open {
                file: log,
                path: LOG_PATH.into(),
            },
        );
        cx.disk.push(
            dir,
            DiskOp::Truncate {
                file: log,
                len: recovered.log_bytes,
            },
        );
        // What recovery read may have been written but never synced; from here on it is answered for,
        // and the file's name must be as durable as what is in it.
        cx.disk.push(dir, DiskOp::Sync { file: log });
        cx.disk.push(dir, DiskOp::SyncDirectory { path: "".into() });
        cx.cause = cx.emit(|| Fact::CoordinationOpened {
            zxid: recovered.tree.zxid(),
            nodes: recovered.tree.iter().map(as_text).collect(),
            sessions: recovered.sessions.iter().map(|(&id, &ms)| (id, ms)).collect(),
        });
        Self {
            tree: recovered.tree,
            sessions: recovered.sessions,
            dir,
            log,
            log_bytes: recovered.log_bytes,
            snapshot_bytes: 0,
            snapshot_after_bytes: SNAPSHOT_AFTER_BYTES,
            durable: 0,
        }
    }

    /// The tree with every multi submitted so far, acknowledged or not.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// The sessions that are open, and how long each may be silent.
    pub fn sessions(&self) -> impl Iterator<Item = (SessionId, Millis)> {
        self.sessions
            .iter()
            .map(|(&session, &timeout_ms)| (session, timeout_ms))
    }

    /// Does the multi in memory and queues it for the disk. It counts, and may be answered for, when
    /// the ticket is done; whatever is decided from the tree meanwhile has a later ticket.
    pub fn submit(&mut self, cx: &mut Cx, multi: &Multi) -> Result<(Vec<OpResult>, Ticket), MultiError> {
        let results = self.append(cx, multi, 0)?;
        Ok((results, self.sync(cx.disk)))
    }

    /// The host carried out every operation of the directory up to this ticket.
    pub fn disk_done(&mut self, upto: Ticket) {
        self.durable = self.durable.max(upto);
    }

    /// Whether what was submitted under this ticket is on disk for good.
    pub fn is_durable(&self, ticket: Ticket) -> bool {
        ticket <= self.durable
    }

    /// One of several changes behind one sync: nothing is acknowledged before [`Coordination::sync`].
    /// `session` is whose the ephemeral nodes are to be; 0 where there are none.
    pub fn append(
        &mut self,
        cx: &mut Cx,
        multi: &Multi,
        session: SessionId,
    ) -> Result<Vec<OpResult>, MultiError> {
        let results = self.tree.apply(multi, session)?;
        let change = Change::Multi {
            session,
            multi: multi.clone(),
        };
        self.write(cx.disk, &change);
        cx.cause = cx.emit(|| Fact::CoordinationChanged {
            zxid: self.tree.zxid(),
            changes: multi.ops.iter().zip(&results).filter_map(describe).collect(),
            data: multi.ops.iter().filter_map(written).collect(),
            owners: multi
                .ops
                .iter()
                .zip(&results)
                .filter_map(|done| self.owner(done))
                .collect(),
        });
        Ok(results)
    }

    /// The session that a changed node goes with; 0: none, or the node is gone.
    fn owner(&self, (op, result): (&Op, &OpResult)) -> Option<SessionId> {
        let path = match result {
            OpResult::Created { path } => path,
            OpResult::Set(_) | OpResult::Deleted => op.path(),
            OpResult::Checked => return None,
        };
        let node = self.tree.get(path);
        Some(node.map_or(0, |node| node.stat.ephemeral_owner))
    }

    /// Opens a session, likewise. Its name is the zxid of its opening, so it is never given twice.
    pub fn open_session(&mut self, cx: &mut Cx, timeout_ms: Millis) -> SessionId {
        let session = self.tree.pass();
        self.sessions.insert(session, timeout_ms);
        self.write(cx.disk, &Change::OpenSession { timeout_ms });
        session
    }

    /// Ends a session and deletes its nodes, likewise; answers their paths.
    pub fn close_session(&mut self, cx: &mut Cx, session: SessionId) -> Vec<Arc<str>> {
        self.sessions.remove(&session);
        let gone = self.tree.close_session(session);
        self.write(cx.disk, &Change::CloseSession { session });
        if !gone.is_empty() {
            cx.cause = cx.emit(|| Fact::CoordinationChanged {
                zxid: self.tree.zxid(),
                changes: gone.iter().map(|path| format!("delete {path}")).collect(),
                data: vec![String::new(); gone.len()],
                owners: vec![session; gone.len()],
            });
        }
        gone
    }

    /// Makes everything appended so far durable, when the ticket is done.
    pub fn sync(&mut self, disk: &mut DiskQueue) -> Ticket {
        let ticket = disk.push(self.dir, DiskOp::Sync { file: self.log });
        if self.log_bytes >= self.snapshot_after_bytes.max(self.snapshot_bytes) {
            self.write_snapshot(disk);
        }
        ticket
    }

    /// Begins the log anew once it is longer than this and than the last snapshot.
    #[cfg(test)]
    pub(super) fn snapshot_after(&mut self, bytes: u64) {
        self.snapshot_after_bytes = bytes;
    }

    /// Puts what just happened behind the rest of the log.
    fn write(&mut self, disk: &mut DiskQueue, change: &Change) {
        let bytes = record::encode(self.tree.zxid(), change);
        let at = self.log_bytes;
        self.log_bytes += bytes.len() as u64;
        let append = DiskOp::Append {
            file: self.log,
            at,
            bufs: [bytes].into_iter().collect(),
        };
        disk.push(self.dir, append);
    }

    fn write_snapshot(&mut self, disk: &mut DiskQueue) {
        let bytes = snapshot::encode(&self.tree, &self.sessions);
        self.snapshot_bytes = bytes.len() as u64;
        self.log_bytes = 0;
        disk.push(
            self.dir,
            DiskOp::Replace {
                path: SNAPSHOT_PATH.into(),
                bytes,
            },
        );
        disk.push(
            self.dir,
            DiskOp::Truncate {
                file: self.log,
                len: 0,
            },
        );
    }
}

/// A node's path and data, and the session that it goes with.
fn as_text((path, node): (&Arc<str>, &Node)) -> (String, String, SessionId) {
    let data = String::from_utf8_lossy(&node.data).into_owned();
    (path.to_string(), data, node.stat.ephemeral_owner)
}

/// What the change puts there; `None` for what changes nothing.
fn written(op: &Op) -> Option<String> {
    match op {
        Op::Create { data, .. } | Op::Set { data, .. } => Some(String::from_utf8_lossy(data).into_owned()),
        Op::Delete { .. } => Some(String::new()),
        Op::Check { .. } => None,
    }
}

fn describe((op, result): (&Op, &OpResult)) -> Option<String> {
    match result {
        OpResult::Created { path } => Some(format!("create {path}")),
        OpResult::Set(_) => Some(format!("set {}", op.path())),
        OpResult::Deleted => Some(format!("delete {}", op.path())),
        OpResult::Checked => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coordination::recover;
    use crate::coordination::testing::Files;
    use crate::disk::DiskQueue;
    use crate::trace::{EventId, Trace};
    use crate::types::Rng;

    /// Runs `work` on a store opened on the files; hands back the operations it queued.
    fn run<R>(
        files: &Files,
        work: impl FnOnce(&mut Coordination, &mut Cx) -> R,
    ) -> (R, Vec<(Ticket, DiskOp)>) {
        let (mut rng, mut disk, mut trace) = (Rng::new(1), DiskQueue::default(), Trace::off());
        let mut cx = Cx {
            now: 0,
            rng: &mut rng,
            disk: &mut disk,
            trace: &mut trace,
            cause: EventId::NONE,
        };
        let recovered = files.recover().unwrap();
        let mut store = Coordination::open(&mut cx, 0, recovered);
        store.snapshot_after_bytes = 300;
        let result = work(&mut store, &mut cx);
        (
            result,
            disk.take()
                .into_iter()
                .map(|queued| (queued.ticket, queued.op))
                .collect(),
        )
    }

    fn multi(n: usize) -> Multi {
        match n {
            0 => Multi::new().create("/topics", ""),
            n if n % 5 == 4 => Multi::new().delete(format!("/topics/{}", n - 1), None),
            n => {
                Multi::new()
                    .create(format!("/topics/{n}"), vec![b'x'; n])
                    .set("/topics", n.to_string(), None)
            }
        }
    }

    #[test]
    fn a_kill_at_any_byte_loses_nothing_acknowledged_and_invents_nothing() {
        let ((states, tickets), ops) = run(&Files::default(), |store, cx| {
            let mut states = vec![store.tree().clone()];
            let mut tickets = Vec::new();
            for n in 0..40 {
                tickets.push(store.submit(cx, &multi(n)).unwrap().1);
                states.push(store.tree().clone());
            }
            (states, tickets)
        });
        let snapshots = ops
            .iter()
            .filter(|(_, op)| matches!(op, DiskOp::Replace { .. }))
            .count();
        assert!(snapshots > 2, "the run must meet snapshots: {snapshots}");
        let mut files = Files::default();
        for (ticket, op) in &ops {
            let acknowledged = tickets.iter().filter(|done| *done < ticket).count();
            for part in 0..Files::steps(op) {
                let mut killed = files.clone();
                if part > 0 {
                    killed.apply(op, part);
                }
                let found = killed.recover().unwrap();
                let zxid = found.tree.zxid() as usize;
                assert!(zxid >= acknowledged, "{acknowledged} acknowledged, {zxid} found");
                assert_eq!(found.tree, states[zxid], "exactly the multis up to {zxid}");
                assert_eq!(found.log_bytes + found.cut_bytes, killed.log.len() as u64);
            }
            files.apply(op, usize::MAX);
        }
        assert_eq!(files.recover().unwrap().tree, states[40]);
    }

    #[test]
    fn work_goes_on_after_a_torn_tail() {
        let (_, ops) = run(&Files::default(), |store, cx| {
            store.submit(cx, &multi(0)).unwrap()
        });
        let mut files = Files::default();
        ops.iter().for_each(|(_, op)| files.apply(op, usize::MAX));
        files.log.extend_from_slice(&[0, 0, 0, 50, 1, 2, 3]);
        let (tree, ops) = run(&files, |store, cx| {
            store.submit(cx, &multi(1)).unwrap();
            store.tree().clone()
        });
        ops.iter().for_each(|(_, op)| files.apply(op, usize::MAX));
        let found = files.recover().unwrap();
        assert_eq!((found.tree, found.cut_bytes), (tree, 0));
    }

    #[test]
    fn several_multis_share_one_sync_and_a_refused_one_writes_nothing() {
        let ((results, ticket, durable), ops) = run(&Files::default(), |store, cx| {
            let results = [multi(0), multi(0), multi(1)].map(|multi| store.append(cx, &multi, 0));
            let ticket = store.sync(cx.disk);
            store.disk_done(ticket - 1);
            let before = store.is_durable(ticket);
            store.disk_done(ticket);
            (results, ticket, (before, store.is_durable(ticket)))
        });
        assert!(matches!(results[0].as_deref(), Ok([OpResult::Created { .. }])));
        assert!(results[1].is_err() && results[2].is_ok());
        assert_eq!(durable, (false, true));
        let appends = ops
            .iter()
            .filter(|(_, op)| matches!(op, DiskOp::Append { .. }))
            .count();
        assert_eq!(appends, 2);
        assert!(matches!(ops.last(), Some((last, DiskOp::Sync { .. })) if *last == ticket));
    }

    #[test]
    fn damage_that_is_no_torn_tail_is_said_not_guessed_around() {
        let (_, ops) = run(&Files::default(), |store, cx| {
            (0..20).for_each(|n| drop(store.submit(cx, &multi(n)).unwrap()));
        });
        let mut files = Files::default();
        ops.iter().for_each(|(_, op)| files.apply(op, usize::MAX));
        assert!(!files.log.is_empty());
        let error = recover(&[], &files.log).unwrap_err();
        assert_eq!(error.file, LOG_PATH, "the snapshot is missing: {error}");
        files.snapshot[20] ^= 1;
        let error = files.recover().unwrap_err();
        assert_eq!(error.file, SNAPSHOT_PATH);
    }
}
