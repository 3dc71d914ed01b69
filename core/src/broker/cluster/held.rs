//! Logs that are on disk and that nobody has claimed yet.
//!
//! A broker finds its logs before it knows which partitions it holds. They wait here until the
//! controller's LeaderAndIsr names them; a log whose topic has gone, or has another id by now, is set
//! aside by name and never deleted. Checkpoints go on naming them: a stop before they are claimed must
//! forget nothing.

use crate::broker::State;
use crate::cx::Cx;
use crate::log::Recovered;
use crate::ordered::OrderedMap;
use crate::types::{Offset, TopicPartition, Uuid};

/// A log as recovery found it, not opened.
#[derive(Clone, Debug)]
pub(in crate::broker) struct HeldLog {
    pub recovered: Recovered,
    /// As the last life wrote it down.
    pub high_watermark: Offset,
}

/// By partition.
pub(in crate::broker) type Held = OrderedMap<TopicPartition, HeldLog>;

impl State {
    /// The held log of this partition, if it is of this topic; one of another id is set aside.
    pub(super) fn claim(&mut self, cx: &mut Cx, name: &TopicPartition, id: Uuid) -> Option<HeldLog> {
        let mut held = self.cluster.held.remove(name)?;
        if held.recovered.topic_id.is_some_and(|found| found != id) {
            self.set_log_aside(cx, &held.recovered);
            return None;
        }
        held.recovered.name_topic(id);
        Some(held)
    }

    /// The cluster has told what there is: what of the held logs it does not know, or does not assign
    /// to this broker, is set aside.
    pub(super) fn set_strays_aside(&mut self, cx: &mut Cx) {
        let me = self.config.node_id;
        let stray = |name: &TopicPartition, held: &HeldLog| {
            let topic = self.image.topic(&name.topic);
            !self.cluster.deleting.contains(&name.topic)
                && topic.is_none_or(|topic| {
                    held.recovered.topic_id.is_some_and(|found| found != topic.id)
                        || topic
                            .partition(name.partition)
                            .is_none_or(|partition| !partition.replicas.contains(&me))
                })
        };
        let strays: Vec<TopicPartition> = self
            .cluster
            .held
            .iter()
            .filter(|(name, held)| stray(name, held))
            .map(|(name, _)| name.clone())
            .collect();
        for name in strays {
            if let Some(held) = self.cluster.held.remove(&name) {
                self.set_log_aside(cx, &held.recovered);
            }
        }
    }
}
