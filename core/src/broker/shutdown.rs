//! An orderly stop: hand leadership over -> close every log -> checkpoints -> clean mark -> stopped.
//!
//! First the controller is asked to let others lead (ControlledShutdown); until it has, clients are
//! served as before. Then each directory stops on its own. Its logs are closed, which forces all they
//! hold to the medium; when that is done the recovery points are the log ends, and the checkpoints say
//! so; last comes the clean mark, which lets the next start believe them. The session is closed at the
//! very end, so that nobody leads in this broker's place what it still writes.

use super::cluster::{Leaving, SendFor};
use super::directories::Then;
use super::timers::SweepFor;
use super::{Phase, State};
use crate::cx::Cx;
use crate::disk::{DirId, DiskOp, Lane};
use crate::error::ErrorCode;
use crate::io::{Level, Output, PeerLane};
use crate::log::checkpoint::CleanShutdown;
use crate::protocol::control::{ControlledShutdownRequest, ControlledShutdownResponse};
use crate::protocol::{RequestBody, ResponseBody};
use crate::replica::partition::PartitionId;

/// As Kafka 3.9 asks.
const CONTROLLED_SHUTDOWN_VERSION: i16 = 3;

/// How far the stop has come.
#[derive(Clone, Debug, Default)]
pub(super) struct Stopping {
    /// Directories that are not through.
    left: Vec<DirId>,
    /// Those whose checkpoints and clean mark are queued.
    marked: Vec<DirId>,
}

impl State {
    pub(super) fn shutdown(&mut self, cx: &mut Cx) {
        match self.phase {
            Phase::Running if self.cluster.leaving.is_some() => {}
            Phase::Running => {
                self.cluster.leaving = Some(Leaving::new(self.config.controlled_shutdown_max_retries));
                self.ask_to_leave(cx);
            }
            // Nothing was opened that must be closed; without the mark, the next start checks.
            Phase::Booting(_) => self.stopped(),
            Phase::Stopping(_) | Phase::Stopped => {}
        }
    }

    /// Asks the controller to let others lead what this broker leads.
    pub(super) fn ask_to_leave(&mut self, cx: &mut Cx) {
        let Some(leaving) = &mut self.cluster.leaving else {
            return;
        };
        let wanted = self.config.controlled_shutdown_enable && self.cluster.lost.is_none();
        if !wanted || !leaving.try_again() {
            return self.leave(cx);
        }
        let request = ControlledShutdownRequest {
            broker_id: self.config.node_id,
            broker_epoch: self.cluster.broker_epoch,
        };
        if self.cluster.controller.is_some() {
            return self.ask_own_controller_to_leave(cx, request);
        }
        let (controller, version) = (self.cluster.controller_id, CONTROLLED_SHUTDOWN_VERSION);
        let body = RequestBody::ControlledShutdown(request);
        let whom = SendFor::ControlledShutdown;
        if !self.send(controller, PeerLane::Requests, version, &body, whom) {
            self.leave_later(cx, "no controller is known");
        }
    }

    pub(super) fn controlled_shutdown_answered(&mut self, cx: &mut Cx, answer: Result<ResponseBody, String>) {
        match answer {
            Ok(ResponseBody::ControlledShutdown(ControlledShutdownResponse {
                error_code: ErrorCode::None,
                remaining_partitions,
            })) => match remaining_partitions.len() {
                0 => self.leave(cx),
                left => {
                    let why = format!("{left} partitions have no other replica in sync");
                    self.leave_later(cx, &why);
                }
            },
            Ok(ResponseBody::ControlledShutdown(answer)) => {
                let why = answer.error_code.to_string();
                self.leave_later(cx, &why);
            }
            Ok(_) => self.leave_later(cx, "the controller answered something else"),
            Err(why) => self.leave_later(cx, &why),
        }
    }

    fn leave_later(&mut self, cx: &Cx, why: &str) {
        let backoff = self.config.controlled_shutdown_retry_backoff_ms;
        let Some(leaving) = &mut self.cluster.leaving else {
            return;
        };
        if leaving.is_last_try() {
            self.out.say(
                Level::Warn,
                format!("leadership could not be handed over ({why}); stopping all the same"),
            );
            return self.leave(cx);
        }
        leaving.wait_until(cx.now.saturating_add(backoff), cx.cause);
        self.out.say(
            Level::Info,
            format!("leadership is not handed over yet ({why}); trying again in {backoff} ms"),
        );
    }

    fn leave(&mut self, cx: &Cx) {
        self.cluster.leaving = None;
        self.phase = Phase::Stopping(Stopping::default());
        self.stop_fetching();
        self.sweep(cx, SweepFor::Close);
    }

    pub(super) fn close_log(&mut self, cx: &mut Cx, id: PartitionId) {
        let Some(partition) = self.topics.partition_mut(id) else {
            return;
        };
        let dir = partition.dir();
        if let Ok(log) = partition.log_mut() {
            log.close(cx);
            self.after_partition(cx, dir, id);
        }
    }

    /// Every log has been asked to close.
    pub(super) fn all_closed(&mut self, cx: &mut Cx) {
        let dirs: Vec<DirId> = self.directories.online().collect();
        if let Phase::Stopping(stopping) = &mut self.phase {
            stopping.left = dirs.clone();
        }
        for dir in dirs {
            // At least one operation, so that its end is told even when no log is there.
            let ticket = cx.disk.push(dir, DiskOp::SyncDirectory { path: "".into() });
            self.directories.after(dir, Lane::Strict, ticket, Then::Directory);
        }
    }

    /// What the stop asked of a directory is done, or will never be.
    pub(super) fn directory_stops(&mut self, cx: &mut Cx, dir: DirId) {
        let Phase::Stopping(stopping) = &mut self.phase else {
            return;
        };
        let is_marked = stopping.marked.contains(&dir);
        if is_marked || !self.directories.is_online(dir) {
            stopping.left.retain(|&left| left != dir);
            if stopping.left.is_empty() {
                self.stopped();
            }
            return;
        }
        stopping.marked.push(dir);
        self.write_checkpoints(cx, dir, Lane::Strict);
        let mark = DiskOp::Replace {
            path: CleanShutdown::FILE.into(),
            bytes: CleanShutdown {
                broker_epoch: self.cluster.broker_epoch,
            }
            .write(),
        };
        let ticket = cx.disk.push(dir, mark);
        self.directories.after(dir, Lane::Strict, ticket, Then::Directory);
    }

    fn stopped(&mut self) {
        self.phase = Phase::Stopped;
        self.close_session();
        self.out.push(Output::Stopped { failed: None });
    }
}
