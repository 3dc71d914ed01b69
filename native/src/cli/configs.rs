//! `highwater configs`: shows and alters settings of topics and brokers, with the options and in the
//! lines of Kafka's `kafka-configs.sh`.

use highwater_core::protocol::messages::describe_configs_request::DescribeConfigsResource;
use highwater_core::protocol::messages::describe_configs_response::DescribeConfigsResourceResult as Entry;
use highwater_core::protocol::messages::incremental_alter_configs_request::{
    AlterConfigsResource, AlterableConfig,
};
use highwater_core::protocol::messages::{
    DescribeConfigsRequest, IncrementalAlterConfigsRequest, MetadataRequest, message,
};

use super::Failure;
use super::client::{Client, ask, ask_controller, check};
use crate::output::say;

/// `AlterConfigOp.OpType`
const SET: i8 = 0;
const DELETE: i8 = 1;

/// The options of `kafka-configs.sh`.
#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("action").required(true).args(["describe", "alter"]))]
#[command(group = clap::ArgGroup::new("entity").args(["entity_name", "entity_default"]))]
#[command(group = clap::ArgGroup::new("whose").required(true).args(["entity_type", "topic", "broker", "broker_defaults"]))]
pub struct Arguments {
    /// The broker to ask, as host:port; several with commas between them.
    #[arg(long)]
    bootstrap_server: String,
    /// Show what is set.
    #[arg(long)]
    describe: bool,
    /// Set or delete settings.
    #[arg(long)]
    alter: bool,
    /// Whose settings.
    #[arg(long, value_enum)]
    entity_type: Option<EntityType>,
    /// A topic's name or a broker's id. With --describe, all of them if not given.
    #[arg(long, requires = "entity_type")]
    entity_name: Option<String>,
    /// All brokers at once.
    #[arg(long, requires = "entity_type")]
    entity_default: bool,
    /// A topic's name: short for --entity-type topics --entity-name.
    #[arg(long)]
    topic: Option<String>,
    /// A broker's id: short for --entity-type brokers --entity-name.
    #[arg(long)]
    broker: Option<String>,
    /// All brokers at once: short for --entity-type brokers --entity-default.
    #[arg(long)]
    broker_defaults: bool,
    /// With --describe: every setting, also those that nobody set.
    #[arg(long)]
    all: bool,
    /// Settings: k1=v1,k2=[v1,v2],k3=v3. A value with commas stands in brackets.
    #[arg(long, requires = "alter")]
    add_config: Option<String>,
    /// Keys to delete: k1,k2.
    #[arg(long, value_delimiter = ',', requires = "alter")]
    delete_config: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum EntityType {
    Topics,
    Brokers,
}

impl EntityType {
    /// `ConfigResource.Type`
    fn resource_type(self) -> i8 {
        match self {
            Self::Topics => 2,
            Self::Brokers => 4,
        }
    }

    fn singular(self) -> &'static str {
        match self {
            Self::Topics => "topic",
            Self::Brokers => "broker",
        }
    }

    /// The source of a setting that the entity itself has; `is_all` for all brokers at once.
    fn own_source(self, is_all: bool) -> i8 {
        match self {
            Self::Topics => 1,
            Self::Brokers if is_all => 3,
            Self::Brokers => 2,
        }
    }
}

/// Whose settings one description or alteration is about. An empty name means all brokers at once.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Entity {
    kind: EntityType,
    name: String,
}

impl Entity {
    fn is_default(&self) -> bool {
        self.name.is_empty()
    }

    /// `broker 1`, or what Kafka says of the settings of all.
    fn shown(&self) -> String {
        let kind = self.kind.singular();
        if self.is_default() {
            format!("{kind}s in the cluster")
        } else {
            format!("{kind} {}", self.name)
        }
    }
}

/// The one entity that the options name; `None` when they name a type alone.
fn named(arguments: &Arguments) -> (EntityType, Option<String>) {
    let (topics, brokers) = (EntityType::Topics, EntityType::Brokers);
    match arguments {
        Arguments {
            topic: Some(name), ..
        } => (topics, Some(name.clone())),
        Arguments {
            broker: Some(name), ..
        } => (brokers, Some(name.clone())),
        Arguments {
            broker_defaults: true,
            ..
        } => (brokers, Some(String::new())),
        _ => {
            let kind = arguments.entity_type.unwrap_or(topics);
            let all = arguments.entity_default.then(String::new);
            (kind, arguments.entity_name.clone().or(all))
        }
    }
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let (kind, name) = named(arguments);
    if kind == EntityType::Topics && name.as_deref() == Some("") {
        return Err("--entity-default: only brokers have common settings".into());
    }
    let entity = name.map(|name| Entity { kind, name });
    let mut client = Client::connect(&arguments.bootstrap_server)?;
    match entity {
        Some(entity) if arguments.describe => describe(&mut client, &entity, arguments.all),
        None if arguments.describe => {
            let all = existing(&mut client, kind)?;
            all.iter()
                .try_for_each(|entity| describe(&mut client, entity, arguments.all))
        }
        Some(entity) => alter(&mut client, &entity, arguments),
        None => Err("--alter: say whose settings, with --entity-name or --entity-default".into()),
    }
}

/// All topics, or all brokers and then what is common to them.
fn existing(client: &mut Client, kind: EntityType) -> Result<Vec<Entity>, Failure> {
    let request = message(|request: &mut MetadataRequest| {
        request.topics = None;
        request.allow_auto_topic_creation = false;
    });
    let answer = ask!(client, Metadata, request)?;
    let mut names: Vec<String> = match kind {
        EntityType::Topics => {
            let names = answer.topics.iter().filter_map(|topic| topic.name.as_deref());
            names.map(str::to_owned).collect()
        }
        EntityType::Brokers => answer
            .brokers
            .iter()
            .map(|broker| broker.node_id.to_string())
            .collect(),
    };
    names.sort();
    if kind == EntityType::Brokers {
        names.push(String::new());
    }
    Ok(names.into_iter().map(|name| Entity { kind, name }).collect())
}

fn describe(client: &mut Client, entity: &Entity, all: bool) -> Result<(), Failure> {
    let request = message(|request: &mut DescribeConfigsRequest| {
        request.include_synonyms = true;
        request.resources = vec![message(|resource: &mut DescribeConfigsResource| {
            resource.resource_type = entity.kind.resource_type();
            resource.resource_name = entity.name.as_str().into();
            resource.configuration_keys = None;
        })];
    });
    // A broker knows its own settings alone.
    let mut of_itself = match entity.name.parse() {
        Ok(id) if entity.kind == EntityType::Brokers => client.connect_to_broker(id).ok(),
        _ => None,
    };
    let client = of_itself.as_mut().unwrap_or(client);
    let answer = ask!(client, DescribeConfigs, request)?;
    let result = answer.results.first().ok_or("the broker answered nothing")?;
    check(result.error_code, result.error_message.as_deref())
        .map_err(|why| format!("{}: {why}", entity.shown()))?;
    let which = match entity.is_default() {
        true => "Default",
        false if all => "All",
        false => "Dynamic",
    };
    say!("{which} configs for {} are:", entity.shown());
    let own = entity.kind.own_source(entity.is_default());
    let mut entries: Vec<&Entry> = result
        .configs
        .iter()
        .filter(|entry| all || entry.config_source == own)
        .collect();
    entries.sort_by(|a, b| a.name.cmp(&b.name));
    entries.iter().for_each(|entry| say!("{}", line(entry)));
    Ok(())
}

fn line(entry: &Entry) -> String {
    let shown = |value: Option<&str>| value.unwrap_or("null").to_owned();
    let synonyms: Vec<String> = entry
        .synonyms
        .iter()
        .map(|s| {
            format!(
                "{}:{}={}",
                source_name(s.source),
                s.name,
                shown(s.value.as_deref())
            )
        })
        .collect();
    format!(
        "  {}={} sensitive={} synonyms={{{}}}",
        entry.name,
        shown(entry.value.as_deref()),
        entry.is_sensitive,
        synonyms.join(", ")
    )
}

/// `ConfigEntry.ConfigSource`
fn source_name(source: i8) -> &'static str {
    match source {
        1 => "DYNAMIC_TOPIC_CONFIG",
        2 => "DYNAMIC_BROKER_CONFIG",
        3 => "DYNAMIC_DEFAULT_BROKER_CONFIG",
        4 => "STATIC_BROKER_CONFIG",
        5 => "DEFAULT_CONFIG",
        6 => "DYNAMIC_BROKER_LOGGER_CONFIG",
        _ => "UNKNOWN",
    }
}

fn alter(client: &mut Client, entity: &Entity, arguments: &Arguments) -> Result<(), Failure> {
    let set = parse_settings(arguments.add_config.as_deref().unwrap_or_default())?;
    if set.is_empty() && arguments.delete_config.is_empty() {
        return Err("--alter: at least one of --add-config and --delete-config is needed".into());
    }
    let change = |key: &str, op: i8, value: Option<&str>| {
        message(|config: &mut AlterableConfig| {
            config.name = key.into();
            config.config_operation = op;
            config.value = value.map(Into::into);
        })
    };
    let request = message(|request: &mut IncrementalAlterConfigsRequest| {
        request.resources = vec![message(|resource: &mut AlterConfigsResource| {
            resource.resource_type = entity.kind.resource_type();
            resource.resource_name = entity.name.as_str().into();
            resource.configs = set
                .iter()
                .map(|(key, value)| change(key, SET, Some(value)))
                .collect();
            resource.configs.extend(
                arguments
                    .delete_config
                    .iter()
                    .map(|key| change(key.trim(), DELETE, None)),
            );
        })];
    });
    let answer = ask_controller!(client, IncrementalAlterConfigs, request)?;
    for result in &answer.responses {
        check(result.error_code, result.error_message.as_deref())?;
    }
    let which = if entity.is_default() {
        "default config"
    } else {
        "config"
    };
    say!("Completed updating {which} for {}.", entity.shown());
    Ok(())
}

/// `k1=v1,k2=[v1,v2]`: commas within brackets belong to the value.
fn parse_settings(text: &str) -> Result<Vec<(String, String)>, Failure> {
    let mut parts = vec![String::new()];
    let mut depth = 0;
    for c in text.chars() {
        match c {
            '[' => depth += 1,
            ']' => depth -= 1,
            _ => {}
        }
        match parts.last_mut() {
            Some(last) if c != ',' || depth > 0 => last.push(c),
            _ => parts.push(String::new()),
        }
    }
    let mut settings = Vec::new();
    for part in parts
        .iter()
        .map(|part| part.trim())
        .filter(|part| !part.is_empty())
    {
        let (key, value) = part
            .split_once('=')
            .ok_or_else(|| format!("--add-config {part}: a setting reads name=value"))?;
        let value = value.trim();
        let value = value
            .strip_prefix('[')
            .and_then(|value| value.strip_suffix(']'))
            .unwrap_or(value);
        settings.push((key.trim().to_owned(), value.to_owned()));
    }
    Ok(settings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_short_options_name_the_same_entities() {
        #[derive(clap::Parser)]
        struct Line {
            #[command(flatten)]
            arguments: Arguments,
        }
        let named = |options: &str| {
            let words = format!("configs --bootstrap-server a:1 --describe {options}");
            let line = <Line as clap::Parser>::try_parse_from(words.split_whitespace());
            line.ok().map(|line| named(&line.arguments))
        };
        let some = |kind, name: &str| Some((kind, Some(name.to_owned())));
        assert_eq!(named("--topic t"), some(EntityType::Topics, "t"));
        assert_eq!(named("--topic t"), named("--entity-type topics --entity-name t"));
        assert_eq!(
            named("--broker 1"),
            named("--entity-type brokers --entity-name 1")
        );
        assert_eq!(
            named("--broker-defaults"),
            named("--entity-type brokers --entity-default")
        );
        assert_eq!(named("--entity-type topics"), Some((EntityType::Topics, None)));
        assert_eq!(named(""), None);
        assert_eq!(named("--entity-name t"), None);
    }

    #[test]
    fn brackets_hold_a_value_with_commas_together() {
        let settings = parse_settings("a=1, b=[x,y],c=,d=k=v").unwrap();
        let expected = [("a", "1"), ("b", "x,y"), ("c", ""), ("d", "k=v")];
        assert_eq!(settings, expected.map(|(k, v)| (k.to_owned(), v.to_owned())));
        assert!(parse_settings("a").is_err());
    }
}
