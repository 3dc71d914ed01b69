//! What a broker is told, taken up into its image.
//!
//! UpdateMetadata names brokers, partitions and topics that go; settings are read under `/config`.
//! Nothing here decides: whether a word counts (epochs of the controller and of this broker) is the
//! broker's to judge before.

use std::sync::Arc;

use super::image::{BrokerImage, MetadataImage, PartitionImage, TopicImage};
use crate::config::Settings;
use crate::types::{BrokerId, PartitionIndex, Uuid};

/// Far above any real topic; keeps a wrong number from filling the memory.
const MOST_PARTITIONS: usize = 1 << 18;
/// A broker knows settings without the version of their node: it never writes them.
const VERSION_UNKNOWN: i32 = 0;

impl MetadataImage {
    /// The brokers that live are these.
    pub fn set_brokers(&mut self, brokers: impl IntoIterator<Item = BrokerImage>) {
        self.brokers = brokers
            .into_iter()
            .map(|broker| (broker.id, Arc::new(broker)))
            .collect();
    }

    pub fn set_cluster_id(&mut self, id: &str) {
        self.cluster_id = id.into();
    }

    /// The partition stands so. A topic that was not known begins; one of another id is another topic,
    /// and the old one goes. Partitions before it that are not told yet have no state.
    pub fn update_partition(
        &mut self,
        topic: &Arc<str>,
        id: Uuid,
        index: PartitionIndex,
        partition: PartitionImage,
    ) {
        let Some(at) = usize::try_from(index).ok().filter(|at| *at < MOST_PARTITIONS) else {
            return;
        };
        if self.topics.get(topic).is_some_and(|known| known.id != id) {
            self.forget_topic(topic);
        }
        if !self.topics.contains_key(topic) {
            self.put_topic(TopicImage {
                name: topic.clone(),
                id,
                partitions: Vec::new(),
                configs: Arc::default(),
                version: VERSION_UNKNOWN,
                config_version: None,
            });
        }
        if let Some(known) = self.topics.get_mut(topic) {
            let partitions = &mut Arc::make_mut(known).partitions;
            while partitions.len() <= at {
                partitions.push(PartitionImage::without_state(Vec::new()));
            }
            partitions[at] = partition;
        }
    }

    /// The topic is gone, or going: nobody sees it any more.
    pub fn remove_topic(&mut self, name: &str) {
        self.forget_topic(name);
    }

    /// The topic sets these; nothing happens when it is not known.
    pub fn set_topic_config(&mut self, name: &str, settings: Arc<Settings>) {
        if let Some(topic) = self.topics.get_mut(name) {
            let topic = Arc::make_mut(topic);
            topic.configs = settings;
            topic.config_version = Some(VERSION_UNKNOWN);
        }
    }

    /// These are set for a broker, or for all (`None`), beside `server.properties`.
    pub fn set_broker_config(&mut self, broker: Option<BrokerId>, settings: Arc<Settings>) {
        let versioned = (settings, VERSION_UNKNOWN);
        match broker {
            Some(id) => drop(self.broker_configs.insert(id, versioned)),
            None => self.cluster_configs = Some(versioned),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn led_by(leader: BrokerId) -> PartitionImage {
        PartitionImage {
            leader,
            isr: vec![leader],
            leader_epoch: 3,
            partition_epoch: 5,
            ..PartitionImage::without_state(vec![1, 2])
        }
    }

    #[test]
    fn partitions_come_in_any_order_and_another_id_is_another_topic() {
        let mut image = MetadataImage::default();
        let name: Arc<str> = "a".into();
        image.update_partition(&name, Uuid([1; 16]), 1, led_by(2));
        let topic = image.topic("a").unwrap();
        assert!(!topic.partitions[0].has_state() && topic.partitions[1].leader == 2);
        image.update_partition(&name, Uuid([1; 16]), 0, led_by(1));
        assert_eq!(image.topic("a").unwrap().partitions.len(), 2);
        image.set_topic_config(
            "a",
            Arc::new(Settings::from([("retention.ms".into(), "1".into())])),
        );
        image.update_partition(&name, Uuid([2; 16]), 0, led_by(1));
        let again = image.topic("a").unwrap();
        assert_eq!(
            (again.partitions.len(), again.configs.len()),
            (1, 0),
            "nothing of the old one"
        );
        assert!(image.topic_by_id(Uuid([1; 16])).is_none());
        image.update_partition(&name, Uuid([2; 16]), -1, led_by(1));
        image.remove_topic("a");
        assert!(!image.is_name_taken("a") && image.topic_by_id(Uuid([2; 16])).is_none());
    }

    #[test]
    fn settings_told_are_settings_in_force() {
        let mut image = MetadataImage::default();
        let settings = |value: &str| Arc::new(Settings::from([("log.retention.ms".into(), value.into())]));
        image.set_broker_config(None, settings("1"));
        image.set_broker_config(Some(1), settings("2"));
        image.set_topic_config("unknown", settings("3"));
        assert_eq!(image.broker_configs(None), settings("1"));
        assert_eq!(image.broker_configs(Some(1)), settings("2"));
        assert!(!image.is_name_taken("unknown"));
    }
}
