//! DescribeConfigs, AlterConfigs, IncrementalAlterConfigs.

use super::{Cluster, Outcome, duplicates, invalid, text};
use crate::config::alter::{self, AlterOp, Alteration, Owner};
use crate::config::describe::{self, ConfigEntry};
use crate::config::{BrokerConfig, Settings};
use crate::coordination::Multi;
use crate::cx::Cx;
use crate::error::{ErrorCode, Refused};
use crate::metadata::{Decide, MetadataImage, configs, validate_topic_name};
use crate::protocol::StrBytes;
use crate::protocol::messages::describe_configs_response::{
    DescribeConfigsResourceResult, DescribeConfigsResult, DescribeConfigsSynonym,
};
use crate::protocol::messages::{
    AlterConfigsRequest, AlterConfigsResponse, DescribeConfigsRequest, DescribeConfigsResponse,
    IncrementalAlterConfigsRequest, IncrementalAlterConfigsResponse, alter_configs_response,
    describe_configs_request::DescribeConfigsResource, incremental_alter_configs_response, message,
};
use crate::types::BrokerId;

/// `ConfigResource.Type`
pub(super) const TOPIC: i8 = 2;
pub(super) const BROKER: i8 = 4;

/// Every resource's settings, or why they cannot be told.
pub fn describe_configs(cluster: &Cluster, request: &DescribeConfigsRequest) -> DescribeConfigsResponse {
    let results = request
        .resources
        .iter()
        .map(|resource| {
            let entries = describe_resource(cluster, resource);
            message(|answer: &mut DescribeConfigsResult| {
                answer.resource_type = resource.resource_type;
                answer.resource_name = resource.resource_name.clone();
                answer.error_message = None;
                match entries {
                    Ok(entries) => {
                        let (synonyms, docs) = (request.include_synonyms, request.include_documentation);
                        answer.configs = entries
                            .into_iter()
                            .map(|entry| described(entry, synonyms, docs))
                            .collect();
                    }
                    Err(refused) => {
                        answer.error_code = refused.code.code();
                        answer.error_message = text(&refused);
                    }
                }
            })
        })
        .collect();
    message(|answer: &mut DescribeConfigsResponse| {
        answer.results = results;
    })
}

fn describe_resource(
    cluster: &Cluster,
    resource: &DescribeConfigsResource,
) -> Result<Vec<ConfigEntry>, Refused> {
    let keys = resource
        .configuration_keys
        .as_deref()
        .filter(|keys| !keys.is_empty());
    let keys: Option<Vec<&str>> = keys.map(|keys| keys.iter().map(|key| &**key).collect());
    let wanted = keys.as_deref();
    let name: &str = &resource.resource_name;
    match resource.resource_type {
        TOPIC => {
            validate_topic_name(name).map_err(|why| Refused::new(ErrorCode::InvalidTopicException, why))?;
            let unknown = || Refused::new(ErrorCode::UnknownTopicOrPartition, "");
            let topic = cluster.image.topic(name).ok_or_else(unknown)?;
            Ok(describe::topic(cluster.config, &topic.configs, wanted))
        }
        BROKER if name.is_empty() => Ok(describe::cluster(cluster.config, wanted)),
        BROKER => {
            this_broker(cluster.config, name, " or empty string")?;
            Ok(describe::broker(cluster.config, wanted))
        }
        other => Err(not_served(other)),
    }
}

fn described(entry: ConfigEntry, synonyms: bool, docs: bool) -> DescribeConfigsResourceResult {
    message(|answer: &mut DescribeConfigsResourceResult| {
        answer.name = entry.name.into();
        answer.value = entry.value.map(StrBytes::from);
        answer.read_only = entry.read_only;
        answer.config_source = entry.source as i8;
        answer.is_sensitive = entry.sensitive;
        answer.config_type = entry.kind.map_or(0, |kind| kind as i8);
        answer.documentation = entry.documentation.filter(|_| docs).map(StrBytes::from);
        if synonyms {
            answer.synonyms = entry
                .synonyms
                .into_iter()
                .map(|synonym| {
                    message(|answer: &mut DescribeConfigsSynonym| {
                        answer.name = synonym.name.into();
                        answer.value = synonym.value.map(StrBytes::from);
                        answer.source = synonym.source as i8;
                    })
                })
                .collect();
        }
    })
}

/// Changes some keys of each resource, all of a resource's or none.
pub fn incremental_alter_configs(
    metadata: &mut impl Decide,
    cx: &mut Cx,
    config: &BrokerConfig,
    request: &IncrementalAlterConfigsRequest,
) -> Outcome<IncrementalAlterConfigsResponse> {
    let named = request
        .resources
        .iter()
        .map(|resource| (resource.resource_type, &*resource.resource_name));
    let twice = duplicates(named);
    let (mut results, mut work) = (Vec::new(), Work::new(metadata, cx, config, request.validate_only));
    for resource in &request.resources {
        let (kind, name) = (resource.resource_type, &*resource.resource_name);
        let altered = if twice.contains(&(kind, name)) {
            Err(invalid("Each resource must appear at most once."))
        } else {
            work.alter(kind, name, |owner, config, own| {
                let alterations = resource.configs.iter().map(|change| {
                    let op = AlterOp::from_wire(change.config_operation).ok_or_else(|| {
                        invalid(format!("Unknown operation type {}", change.config_operation))
                    })?;
                    Ok(Alteration {
                        key: &change.name,
                        op,
                        value: change.value.as_deref(),
                    })
                });
                alter::incremental(
                    owner,
                    config,
                    own,
                    &alterations.collect::<Result<Vec<_>, Refused>>()?,
                )
            })
        };
        results.push(message(
            |answer: &mut incremental_alter_configs_response::AlterConfigsResourceResponse| {
                answer.resource_type = kind;
                answer.resource_name = name.into();
                answer.error_code = altered.as_ref().err().map_or(0, |refused| refused.code.code());
                answer.error_message = altered.as_ref().err().and_then(text);
            },
        ));
    }
    work.finish(message(|answer: &mut IncrementalAlterConfigsResponse| {
        answer.responses = results;
    }))
}

/// Replaces all settings of each resource: the older request, which forgets what it does not name.
pub fn alter_configs(
    metadata: &mut impl Decide,
    cx: &mut Cx,
    config: &BrokerConfig,
    request: &AlterConfigsRequest,
) -> Outcome<AlterConfigsResponse> {
    let named = request
        .resources
        .iter()
        .map(|resource| (resource.resource_type, &*resource.resource_name));
    let twice = duplicates(named);
    let (mut results, mut work) = (Vec::new(), Work::new(metadata, cx, config, request.validate_only));
    for resource in &request.resources {
        let (kind, name) = (resource.resource_type, &*resource.resource_name);
        let altered = if twice.contains(&(kind, name)) {
            Err(invalid("Each resource must appear at most once."))
        } else {
            work.alter(kind, name, |owner, _, _| {
                let given: Vec<_> = resource
                    .configs
                    .iter()
                    .map(|change| (&*change.name, change.value.as_deref()))
                    .collect();
                alter::replace(owner, &given)
            })
        };
        results.push(message(
            |answer: &mut alter_configs_response::AlterConfigsResourceResponse| {
                answer.resource_type = kind;
                answer.resource_name = name.into();
                answer.error_code = altered.as_ref().err().map_or(0, |refused| refused.code.code());
                answer.error_message = altered.as_ref().err().and_then(text);
            },
        ));
    }
    work.finish(message(|answer: &mut AlterConfigsResponse| {
        answer.responses = results;
    }))
}

/// The changes of one request, synced once.
struct Work<'a, 'cx, D: Decide> {
    metadata: &'a mut D,
    cx: &'a mut Cx<'cx>,
    config: &'a BrokerConfig,
    validate_only: bool,
    is_changed: bool,
    topics: Vec<std::sync::Arc<str>>,
}

impl<'a, 'cx, D: Decide> Work<'a, 'cx, D> {
    fn new(metadata: &'a mut D, cx: &'a mut Cx<'cx>, config: &'a BrokerConfig, validate_only: bool) -> Self {
        Self {
            metadata,
            cx,
            config,
            validate_only,
            is_changed: false,
            topics: Vec::new(),
        }
    }

    fn alter(
        &mut self,
        kind: i8,
        name: &str,
        change: impl FnOnce(Owner, &BrokerConfig, &Settings) -> Result<Settings, Refused>,
    ) -> Result<(), Refused> {
        let target = Target::find(self.metadata.image(), self.config, kind, name)?;
        let after = change(target.owner, self.config, &target.own)?;
        if self.validate_only || after == *target.own {
            return Ok(());
        }
        let multi = (target.write)(after);
        self.metadata.decide(self.cx, &multi)?;
        self.is_changed = true;
        self.topics
            .extend((target.owner == Owner::Topic).then(|| name.into()));
        Ok(())
    }

    fn finish<R>(self, response: R) -> Outcome<R> {
        if self.is_changed {
            self.metadata.seal(self.cx);
        }
        Outcome {
            response,
            topics: self.topics,
        }
    }
}

/// Whose settings a resource means, what they are, and how to write them.
struct Target {
    owner: Owner,
    own: std::sync::Arc<Settings>,
    write: Box<dyn FnOnce(Settings) -> Multi>,
}

impl Target {
    fn find(image: &MetadataImage, config: &BrokerConfig, kind: i8, name: &str) -> Result<Self, Refused> {
        match kind {
            TOPIC if name.is_empty() => Err(invalid("Default topic resources are not allowed.")),
            TOPIC => {
                validate_topic_name(name)
                    .map_err(|why| Refused::new(ErrorCode::InvalidTopicException, why))?;
                let unknown = || {
                    let message = format!("The topic '{name}' does not exist.");
                    Refused::new(ErrorCode::UnknownTopicOrPartition, message)
                };
                let topic = image.topic(name).ok_or_else(unknown)?.clone();
                let own = topic.configs.clone();
                let write = Box::new(move |after| configs::set_topic(&topic, after));
                Ok(Self {
                    owner: Owner::Topic,
                    own,
                    write,
                })
            }
            BROKER => {
                let broker = if name.is_empty() {
                    None
                } else {
                    Some(known_broker(image, config, name)?)
                };
                let owner = if broker.is_some() {
                    Owner::Broker
                } else {
                    Owner::Cluster
                };
                let version = image.broker_config_version(broker);
                let write = Box::new(move |after| configs::set_broker_at(broker, version, after));
                Ok(Self {
                    owner,
                    own: image.broker_configs(broker),
                    write,
                })
            }
            other => Err(not_served(other)),
        }
    }
}

/// This broker, or another one of the cluster: the controller decides for all.
fn known_broker(image: &MetadataImage, config: &BrokerConfig, name: &str) -> Result<BrokerId, Refused> {
    match name.parse::<BrokerId>() {
        Ok(id) if image.broker(id).is_some() => Ok(id),
        _ => this_broker(config, name, ""),
    }
}

fn this_broker(config: &BrokerConfig, name: &str, or: &str) -> Result<BrokerId, Refused> {
    let id: BrokerId = name
        .parse()
        .map_err(|_| invalid(format!("Broker id must be an integer, but it is: {name}")))?;
    if id != config.node_id {
        let message = format!(
            "Unexpected broker id, expected {}{or}, but received {name}",
            config.node_id
        );
        return Err(invalid(message));
    }
    Ok(id)
}

fn not_served(kind: i8) -> Refused {
    match kind {
        8 => invalid("Log levels of a broker cannot be asked for or set; use RUST_LOG when it is started"),
        16 | 32 => invalid("Settings of groups and of client metrics are not served yet"),
        other => invalid(format!("Unknown resource type {other}")),
    }
}
