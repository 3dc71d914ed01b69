//! When to look whether a follower lags (`ReplicaManager.maybeShrinkIsr`).
//!
//! Kafka looks at every partition every half `replica.lag.time.max.ms`. Here a partition stands in an
//! ordered set only while some follower has less than its leader, so that idle partitions cost
//! nothing. A time that has become too early is let stand: then it is asked again.

use crate::broker::State;
use crate::cx::Cx;
use crate::ordered::{OrderedMap, OrderedSet};
use crate::replica::partition::PartitionId;
use crate::trace::EventId;
use crate::types::Millis;

/// A follower that lags and could not be taken out is looked at again after so long.
const AGAIN_AFTER_MS: Millis = 50;

#[derive(Clone, Debug, Default)]
pub(in crate::broker) struct LagChecks {
    due: OrderedSet<(Millis, PartitionId)>,
    /// Why each is watched.
    of: OrderedMap<PartitionId, EventId>,
}

impl LagChecks {
    pub fn next(&self) -> Option<Millis> {
        self.due.first().map(|&(at, _)| at)
    }

    fn set(&mut self, id: PartitionId, at: Millis, because: EventId) {
        self.of.insert(id, because);
        self.due.insert((at, id));
    }

    fn take(&mut self, now: Millis) -> Option<(PartitionId, EventId)> {
        let (at, id) = self.due.first().copied().filter(|&(at, _)| at <= now)?;
        self.due.remove(&(at, id));
        Some((id, self.of.remove(&id)?))
    }
}

impl State {
    /// The partition's log or its followers have moved: sees to it that lagging ones are found.
    pub(in crate::broker) fn watch_lag(&mut self, cx: &Cx, id: PartitionId) {
        if self.cluster.lag_checks.of.contains_key(&id) {
            return;
        }
        let partition = self.topics.partition(id);
        if let Some(at) = partition.and_then(|partition| partition.next_lag_check(&self.replication)) {
            // Overdue: the controller has just refused, and would again.
            let soonest = if at <= cx.now {
                cx.now.saturating_add(AGAIN_AFTER_MS)
            } else {
                at
            };
            self.cluster.lag_checks.set(id, soonest, cx.cause);
        }
    }

    pub(super) fn check_lags(&mut self, cx: &mut Cx) {
        while let Some((id, because)) = self.cluster.lag_checks.take(cx.now) {
            cx.cause = because;
            let Some(partition) = self.topics.partition_mut(id) else {
                continue;
            };
            match partition.maybe_shrink_isr(cx, &self.replication) {
                Some(proposal) => self.propose(cx, id, proposal),
                None => self.watch_lag(cx, id),
            }
        }
    }
}
