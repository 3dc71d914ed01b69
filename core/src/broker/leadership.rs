//! Who leads, as far as this broker was told: for clients that asked the wrong broker.
//!
//! A partition that others hold is not an unknown one: its clients hear NOT_LEADER_OR_FOLLOWER, and from
//! the versions that can say it, who leads and where (KIP-951).

use std::sync::Arc;

use super::State;
use crate::error::{ErrorCode, Refused};
use crate::io::ListenerId;
use crate::metadata::TopicImage;
use crate::ordered::OrderedSet;
use crate::protocol::StrBytes;
use crate::protocol::leadership::{LeaderIdAndEpoch, NodeEndpoint};
use crate::replica::partition::PartitionId;
use crate::types::{BrokerId, PartitionIndex, Uuid};

/// The errors that may come of a leader that has changed.
pub(super) fn is_of_leadership(code: ErrorCode) -> bool {
    matches!(
        code,
        ErrorCode::NotLeaderOrFollower | ErrorCode::FencedLeaderEpoch
    )
}

/// The partition's leader; "not known" when nothing is known of it.
pub(super) fn leader_of(topic: Option<&Arc<TopicImage>>, index: PartitionIndex) -> LeaderIdAndEpoch {
    let partition = topic.and_then(|topic| topic.partition(index));
    partition.map_or_else(LeaderIdAndEpoch::default, |partition| LeaderIdAndEpoch {
        leader_id: partition.leader,
        leader_epoch: partition.leader_epoch,
    })
}

impl State {
    /// This broker's replica of the partition that a request means.
    ///
    /// Errors: NOT_LEADER_OR_FOLLOWER when only others hold replicas of it; UNKNOWN_TOPIC_OR_PARTITION,
    /// UNKNOWN_TOPIC_ID when nobody is known to.
    pub(super) fn find_replica(
        &self,
        name: &str,
        id: Uuid,
        index: PartitionIndex,
    ) -> Result<PartitionId, Refused> {
        let here = self.topics.find(name, id, index);
        let known = match id.is_zero() {
            true => self.image.topic(name),
            false => self.image.topic_by_id(id),
        };
        let is_elsewhere = known.is_some_and(|topic| topic.partition(index).is_some());
        here.map_err(|refused| match is_elsewhere {
            true => Refused::new(
                ErrorCode::NotLeaderOrFollower,
                format!("this broker holds no replica of partition {index} of the topic"),
            ),
            false => refused,
        })
    }

    /// Where these brokers are reached by who came in at the listener.
    pub(super) fn endpoints(
        &self,
        brokers: &OrderedSet<BrokerId>,
        listener: ListenerId,
    ) -> Vec<NodeEndpoint> {
        let Some(listener) = self.advertised.get(usize::from(listener)) else {
            return Vec::new();
        };
        let known = brokers.iter().filter_map(|&id| self.image.broker(id));
        let known = known.filter_map(|broker| {
            let endpoint = broker.endpoint(&listener.name)?;
            Some(NodeEndpoint {
                node_id: broker.id,
                host: (&*endpoint.host).into(),
                port: i32::from(endpoint.port),
                rack: broker.rack.as_deref().map(StrBytes::from),
            })
        });
        known.collect()
    }
}
