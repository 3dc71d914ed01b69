//! Writing altered settings back to the tree, and announcing it under `/config/changes` (`DynamicConfigManager`).

use super::image::TopicImage;
use super::nodes::{self, ConfigChange, EntityConfig};
use crate::config::Settings;
use crate::coordination::Multi;
use crate::types::BrokerId;

/// The topic's settings become these, if nobody changed them meanwhile.
pub fn set_topic(topic: &TopicImage, settings: Settings) -> Multi {
    let owner = format!("topics/{}", topic.name);
    set(&owner, topic.config_version, settings)
}

/// The settings of one broker, or of all (`None`), become these, if nobody changed them meanwhile.
/// `version` is their node's, from [`MetadataImage::broker_config_version`](super::MetadataImage).
pub fn set_broker_at(broker: Option<BrokerId>, version: Option<i32>, settings: Settings) -> Multi {
    let owner = broker.map_or_else(|| nodes::DEFAULT_ENTITY.to_owned(), |id| id.to_string());
    set(&format!("brokers/{owner}"), version, settings)
}

fn set(owner: &str, version: Option<i32>, settings: Settings) -> Multi {
    let (path, data) = (
        format!("/config/{owner}"),
        nodes::write(&EntityConfig::new(settings)),
    );
    let multi = match version {
        Some(_) => Multi::new().set(path, data, version),
        None => Multi::new().create(path, data),
    };
    let change = ConfigChange {
        version: 2,
        entity_path: owner.to_owned(),
    };
    let announcement = format!("{}/config_change_", nodes::CONFIG_CHANGES);
    multi.create_sequential(announcement, nodes::write(&change))
}
