//! What the coordination service has: which brokers are there, who leads each partition, who is in sync.

use serde::{Deserialize, Serialize};

use super::by_name;
use crate::metadata::nodes::{self, PartitionState};
use crate::ordered::{OrderedMap, OrderedSet};
use crate::types::{BrokerId, LeaderEpoch, TopicPartition};

/// The tree of the coordination service, as far as it is shown.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredView {
    /// `/brokers/ids`: the nodes that vanish with their brokers' sessions.
    pub brokers: OrderedSet<BrokerId>,
    #[serde(with = "by_name")]
    pub partitions: OrderedMap<TopicPartition, StoredPartition>,
}

/// The data of `/brokers/topics/NAME/partitions/N/state`, as far as it is shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredPartition {
    /// `None`: nobody leads.
    pub leader: Option<BrokerId>,
    pub leader_epoch: LeaderEpoch,
    pub isr: Vec<BrokerId>,
}

/// A node that is shown, by its path.
enum Place {
    Broker(BrokerId),
    Partition(TopicPartition),
}

impl StoredView {
    /// Of a tree with these nodes, each with its data.
    pub fn of<'a>(nodes: impl Iterator<Item = (&'a str, &'a str)>) -> Self {
        let mut stored = Self::default();
        for (path, data) in nodes {
            stored.put(path, Some(data));
        }
        stored
    }

    /// Takes over what changes have put there; true if anything that is shown is another now.
    pub(super) fn change(&mut self, changes: &[String], data: &[String]) -> bool {
        let mut changed = false;
        for (change, data) in changes.iter().zip(data) {
            if let Some((verb, path)) = change.split_once(' ') {
                changed |= self.put(path, (verb != "delete").then_some(data));
            }
        }
        changed
    }

    /// `None`: the node is gone.
    fn put(&mut self, path: &str, data: Option<&str>) -> bool {
        match (place_of(path), data) {
            (None, _) => false,
            (Some(Place::Broker(id)), Some(_)) => self.brokers.insert(id),
            (Some(Place::Broker(id)), None) => self.brokers.remove(&id),
            (Some(Place::Partition(partition)), data) => match data.and_then(StoredPartition::read) {
                None => self.partitions.remove(&partition).is_some(),
                Some(state) => {
                    let before = self.partitions.insert(partition, state.clone());
                    before.is_none_or(|before| before != state)
                }
            },
        }
    }
}

impl StoredPartition {
    fn read(data: &str) -> Option<Self> {
        let state: PartitionState = serde_json::from_str(data).ok()?;
        Some(Self {
            leader: (state.leader >= 0).then_some(state.leader),
            leader_epoch: state.leader_epoch,
            isr: state.isr,
        })
    }
}

fn place_of(path: &str) -> Option<Place> {
    if let Some(id) = path.strip_prefix("/brokers/ids/") {
        return Some(Place::Broker(id.parse().ok()?));
    }
    nodes::partition_of_state(path).map(Place::Partition)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brokers_and_partitions_are_read_from_their_nodes() {
        let path = "/brokers/topics/my-topic/partitions/3/state";
        let data = |isr: &str| {
            format!(r#"{{"controller_epoch":1,"leader":2,"version":1,"leader_epoch":4,"isr":[{isr}]}}"#)
        };
        let mut stored = StoredView::default();
        let mut change = |change: &str, data: &str| stored.change(&[change.to_owned()], &[data.to_owned()]);
        assert!(change(&format!("create {path}"), &data("2,3")));
        assert!(!change("set /controller", "{}"));
        assert!(!change(&format!("set {path}"), &data("2,3")));
        assert!(change(&format!("set {path}"), &data("2")));
        assert!(change("create /brokers/ids/2", "{}"));
        let all = data("2");
        assert_eq!(
            stored,
            StoredView::of([("/brokers/ids/2", "{}"), (path, &all)].into_iter())
        );
        let mut change = |change: &str| stored.change(&[change.to_owned()], &[String::new()]);
        assert!(change(&format!("delete {path}")) && change("delete /brokers/ids/2"));
        assert_eq!(stored, StoredView::default());
    }
}
