//! Settings that change while the broker runs.

use std::sync::Arc;

use super::State;
use super::parked::Growth;
use crate::cx::Cx;

impl State {
    /// The settings of a topic are others now: its logs and the checks of its batches follow.
    pub(super) fn follow_topic_config(&mut self, cx: &mut Cx, name: &Arc<str>) {
        let Some(id) = self.topics.by_name(name).map(|topic| topic.id) else {
            return;
        };
        self.refresh_topic(name, id);
        let Some(topic) = self.topics.by_name(name) else {
            return;
        };
        let (config, partitions) = (topic.log_config.clone(), topic.partitions.clone());
        for id in partitions.into_values() {
            if let Some(partition) = self.topics.partition_mut(id) {
                if let Ok(log) = partition.log_mut() {
                    log.set_config(config.clone());
                }
                // `min.insync.replicas` may let the high watermark go on.
                let moved = partition.surroundings_changed(cx, &self.replication);
                self.partition_moved(cx, id, moved);
            }
            self.reschedule(id);
            self.tell_watchers(cx, id, Growth::NONE);
        }
    }

    /// Takes over settings of the broker that may change while it runs.
    pub(super) fn reload_config(&mut self) {
        self.config = Arc::new(self.image.effective(&self.config));
    }

    /// The broker's own settings have changed: every topic that sets nothing of its own follows.
    pub(super) fn follow_broker_config(&mut self, cx: &mut Cx) {
        self.reload_config();
        let names: Vec<Arc<str>> = self.topics.iter().map(|topic| topic.name.clone()).collect();
        for name in names {
            self.follow_topic_config(cx, &name);
        }
    }

    pub(super) fn is_running(&self) -> bool {
        matches!(self.phase, super::Phase::Running)
    }
}
