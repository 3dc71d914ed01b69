//! Writing altered settings back to the tree.

use super::image::TopicImage;
use super::nodes::{self, EntityConfig};
use crate::config::Settings;
use crate::coordination::Multi;
use crate::types::BrokerId;

/// The topic's settings become these, if nobody changed them meanwhile.
pub fn set_topic(topic: &TopicImage, settings: Settings) -> Multi {
    set(nodes::topic_config(&topic.name), topic.config_version, settings)
}

/// The settings of one broker, or of all (`None`), become these, if nobody changed them meanwhile.
/// `version` is their node's, from [`MetadataImage::broker_config_version`](super::MetadataImage).
pub fn set_broker_at(broker: Option<BrokerId>, version: Option<i32>, settings: Settings) -> Multi {
    set(nodes::broker_config(broker), version, settings)
}

fn set(path: String, version: Option<i32>, settings: Settings) -> Multi {
    let data = nodes::write(&EntityConfig::new(settings));
    match version {
        Some(_) => Multi::new().set(path, data, version),
        None => Multi::new().create(path, data),
    }
}
