//! `highwater configs`: shows and alters settings of topics and brokers, with the options and in the
//! lines of Kafka's `kafka-configs.sh`.

use highwater_core::protocol::messages::describe_configs_request::DescribeConfigsResource;
use highwater_core::protocol::messages::describe_configs_response::DescribeConfigsResourceResult as Entry;
use highwater_core::protocol::messages::incremental_alter_configs_request::{
    AlterConfigsResource, AlterableConfig,
};
use highwater_core::protocol::messages::{DescribeConfigsRequest, IncrementalAlterConfigsRequest, message};

use super::Failure;
use super::client::{Client, ask, check};

/// `AlterConfigOp.OpType`
const SET: i8 = 0;
const DELETE: i8 = 1;

/// The options of `kafka-configs.sh`.
#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("action").required(true).args(["describe", "alter"]))]
#[command(group = clap::ArgGroup::new("entity").required(true).args(["entity_name", "entity_default"]))]
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
    entity_type: EntityType,
    /// A topic's name or a broker's id.
    #[arg(long)]
    entity_name: Option<String>,
    /// All brokers at once.
    #[arg(long)]
    entity_default: bool,
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

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    if arguments.entity_default && arguments.entity_type == EntityType::Topics {
        return Err("--entity-default: only brokers have common settings".into());
    }
    let mut client = Client::connect(&arguments.bootstrap_server)?;
    if arguments.describe {
        describe(&mut client, arguments)
    } else {
        alter(&mut client, arguments)
    }
}

fn describe(client: &mut Client, arguments: &Arguments) -> Result<(), Failure> {
    let kind = arguments.entity_type;
    let name = arguments.entity_name.as_deref().unwrap_or_default();
    let request = message(|request: &mut DescribeConfigsRequest| {
        request.include_synonyms = true;
        request.resources = vec![message(|resource: &mut DescribeConfigsResource| {
            resource.resource_type = kind.resource_type();
            resource.resource_name = name.into();
            resource.configuration_keys = None;
        })];
    });
    let answer = ask!(client, DescribeConfigs, request)?;
    let result = answer.results.first().ok_or("the broker answered nothing")?;
    check(result.error_code, result.error_message.as_deref())?;
    if arguments.entity_default {
        println!("Default configs for {}s in the cluster are:", kind.singular());
    } else {
        println!(
            "{} configs for {} {name} are:",
            if arguments.all { "All" } else { "Dynamic" },
            kind.singular()
        );
    }
    let own = kind.own_source(arguments.entity_default);
    let mut entries: Vec<&Entry> = result
        .configs
        .iter()
        .filter(|entry| arguments.all || entry.config_source == own)
        .collect();
    entries.sort_by(|a, b| a.name.cmp(&b.name));
    entries.iter().for_each(|entry| println!("{}", line(entry)));
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

fn alter(client: &mut Client, arguments: &Arguments) -> Result<(), Failure> {
    let set = parse_settings(arguments.add_config.as_deref().unwrap_or_default())?;
    if set.is_empty() && arguments.delete_config.is_empty() {
        return Err("--alter: at least one of --add-config and --delete-config is needed".into());
    }
    let kind = arguments.entity_type;
    let name = arguments.entity_name.as_deref().unwrap_or_default();
    let change = |key: &str, op: i8, value: Option<&str>| {
        message(|config: &mut AlterableConfig| {
            config.name = key.into();
            config.config_operation = op;
            config.value = value.map(Into::into);
        })
    };
    let request = message(|request: &mut IncrementalAlterConfigsRequest| {
        request.resources = vec![message(|resource: &mut AlterConfigsResource| {
            resource.resource_type = kind.resource_type();
            resource.resource_name = name.into();
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
    let answer = ask!(client, IncrementalAlterConfigs, request)?;
    for result in &answer.responses {
        check(result.error_code, result.error_message.as_deref())?;
    }
    if arguments.entity_default {
        println!(
            "Completed updating default config for {}s in the cluster.",
            kind.singular()
        );
    } else {
        println!("Completed updating config for {} {name}.", kind.singular());
    }
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
    fn brackets_hold_a_value_with_commas_together() {
        let settings = parse_settings("a=1, b=[x,y],c=,d=k=v").unwrap();
        let expected = [("a", "1"), ("b", "x,y"), ("c", ""), ("d", "k=v")];
        assert_eq!(settings, expected.map(|(k, v)| (k.to_owned(), v.to_owned())));
        assert!(parse_settings("a").is_err());
    }
}
