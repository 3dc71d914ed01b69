//! Changes of topics and settings: decided from the image, made durable, then followed and answered.
//!
//! A handler decides and gives a [`Multi`]; the change is submitted, the logs that it makes or
//! unmakes follow at once, and the answer leaves when the coordination log is on the medium. Whatever
//! else is decided meanwhile has a later ticket.
//!
//! Invariant: nothing is answered as done that a loss of power could still undo.

use std::sync::Arc;

use super::caller::Caller;
use super::directories::Then;
use super::parked::Parked;
use super::produce::deleted;
use super::storage::COORDINATION_DIR;
use super::{Phase, State};
use crate::coordination::Multi;
use crate::cx::Cx;
use crate::disk::{DiskOp, Lane, Ticket};
use crate::error::{ErrorCode, Refused};
use crate::io::Level;
use crate::metadata::{TopicImage, topics};
use crate::protocol::ResponseBody;
use crate::replica::ParkedId;
use crate::replica::partition::PartitionId;

/// An answer that leaves when what it says is durable.
#[derive(Clone, Debug)]
pub(super) struct DurableWait {
    pub caller: Caller,
    pub answer: ResponseBody,
    /// Directories that are not done yet.
    pub left: u32,
}

impl State {
    /// Submits a change. An error is the answer for what wanted it: somebody was faster, or the
    /// coordination files' directory is gone.
    pub(super) fn submit(&mut self, cx: &mut Cx, multi: &Multi) -> Result<Ticket, Refused> {
        if !self.directories.is_online(COORDINATION_DIR) {
            let why = "the log directory that keeps the topics is offline";
            return Err(Refused::new(ErrorCode::KafkaStorageError, why));
        }
        let Some(metadata) = &mut self.metadata else {
            return Err(ErrorCode::BrokerNotAvailable.into());
        };
        metadata
            .submit(cx, multi)
            .map_err(|error| Refused::new(ErrorCode::UnknownServerError, error.to_string()))
    }

    /// Answers when everything queued so far for the coordination files is on the medium.
    pub(super) fn answer_when_durable(
        &mut self,
        cx: &mut Cx,
        caller: Caller,
        answer: impl Into<ResponseBody>,
    ) {
        let ticket = cx.disk.last_ticket(COORDINATION_DIR);
        let wait = DurableWait {
            caller,
            answer: answer.into(),
            left: 1,
        };
        let id = self
            .purgatory
            .park(caller.conn, None, Parked::Durable(Box::new(wait)));
        self.directories
            .after(COORDINATION_DIR, Lane::Strict, ticket, Then::Parked(id));
        if !self.directories.is_online(COORDINATION_DIR) {
            self.operation_failed(id);
        }
    }

    pub(super) fn operation_durable(&mut self, id: ParkedId) {
        let Some(Parked::Durable(wait)) = self.purgatory.get_mut(id) else {
            return;
        };
        wait.left -= 1;
        if wait.left == 0
            && let Some(Parked::Durable(wait)) = self.purgatory.take(id)
        {
            self.out.answer(&wait.caller, wait.answer);
        }
    }

    /// What the operation waited for will never be known to be durable: no answer can be true.
    pub(super) fn operation_failed(&mut self, id: ParkedId) {
        if let Some(Parked::Durable(wait)) = self.purgatory.take(id) {
            self.out.close(
                wait.caller.conn,
                "the log directory failed while the change was being written; its outcome is not known",
            );
        }
    }

    /// Follows what the image now says of a topic: begins logs, deletes logs, takes over settings.
    pub(super) fn follow_topic(&mut self, cx: &mut Cx, name: &str) {
        let image = self.image().and_then(|image| image.topic(name).cloned());
        let known = self.topics.by_name(name).map(|topic| topic.id);
        if known.is_some() && known != image.as_ref().map(|image| image.id) {
            self.drop_topic(cx, name);
        }
        let Some(image) = image else {
            return;
        };
        let topic = self.put_topic(&image);
        for &id in &topic.partitions {
            if let Some(partition) = self.topics.partition_mut(id)
                && let Ok(log) = partition.log_mut()
            {
                log.set_config(topic.log_config.clone());
            }
            self.reschedule(id);
        }
        for (index, partition) in image.partitions.iter().enumerate().skip(topic.partitions.len()) {
            self.create_partition(cx, name, index as i32, partition.leader_epoch);
        }
        self.wake_all_of(cx, name);
    }

    /// Follows a topic, and if it was marked for deletion, its nodes go after its logs.
    pub(super) fn follow_to_the_end(&mut self, cx: &mut Cx, name: &str) {
        self.follow_topic(cx, name);
        let marked = self.image().and_then(|image| {
            let mut deleting = image.deleting();
            deleting.find(|topic| &*topic.name == name).cloned()
        });
        if let Some(marked) = marked
            && let Err(refused) = self.submit(cx, &topics::remove(&marked))
        {
            self.out.say(
                Level::Warn,
                format!("topic {name} is not deleted to the end: {refused}"),
            );
        }
    }

    fn drop_topic(&mut self, cx: &mut Cx, name: &str) {
        let Some(topic) = self.topics.remove(name) else {
            return;
        };
        self.admission_changed = true;
        for id in topic.partitions {
            self.drop_partition(cx, id);
        }
    }

    fn drop_partition(&mut self, cx: &mut Cx, id: PartitionId) {
        self.wake_watchers(cx, id);
        let Some(mut partition) = self.topics.remove_partition(id) else {
            return;
        };
        if let Some(timer) = partition.timer {
            self.timers.cancel_log(timer, id);
        }
        let gone = deleted();
        for waiting in partition.take_waiting() {
            self.produce_part_done(waiting, Some(&gone));
        }
        let dir = partition.dir();
        if let Some(found) = self.directories.get_mut(dir) {
            found.partitions = found.partitions.saturating_sub(1);
            found.checkpoints_stale = true;
        }
        if let Some(log) = partition.into_log() {
            self.timers.unlink_later(log.delete(cx));
            cx.disk.push(dir, DiskOp::SyncDirectory { path: "".into() });
        }
    }

    fn wake_all_of(&mut self, cx: &mut Cx, name: &str) {
        let partitions = self.topics.by_name(name).map(|topic| topic.partitions.clone());
        for id in partitions.unwrap_or_default() {
            self.tell_watchers(cx, id, 0);
        }
    }

    /// At boot: what was marked for deletion before the last stop goes now. Gives the names of the
    /// directories that belong to it.
    pub(super) fn finish_deletions(&mut self, cx: &mut Cx, deleting: &[Arc<TopicImage>]) -> Vec<String> {
        let mut directories = Vec::new();
        for topic in deleting {
            let names = (0..topic.partitions.len()).map(|index| format!("{}-{index}", topic.name));
            directories.extend(names);
            if let Err(refused) = self.submit(cx, &topics::remove(topic)) {
                self.out.say(
                    Level::Warn,
                    format!("topic {} stays marked for deletion: {refused}", topic.name),
                );
            }
        }
        directories
    }

    /// Takes over settings of the broker that may change while it runs.
    pub(super) fn reload_config(&mut self) {
        if let Some(image) = self.image() {
            self.config = Arc::new(image.effective(&self.config));
        }
    }

    /// The broker's own settings have changed: every topic that sets nothing of its own follows.
    pub(super) fn follow_broker_config(&mut self, cx: &mut Cx) {
        self.reload_config();
        let names: Vec<Arc<str>> = self.topics.iter().map(|topic| topic.name.clone()).collect();
        for name in names {
            self.follow_topic(cx, &name);
        }
    }

    pub(super) fn is_running(&self) -> bool {
        matches!(self.phase, Phase::Running)
    }
}
