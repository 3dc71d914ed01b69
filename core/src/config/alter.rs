//! What AlterConfigs and IncrementalAlterConfigs (KIP-339) may do to a topic's or a broker's settings,
//! with Kafka's complaints.

use super::key::{ConfigKey, ConfigType, Value};
use super::{BrokerConfig, Settings, UpdateMode, broker_key, topic_key};
use crate::error::{ErrorCode, Refused};
use crate::ordered::OrderedSet;

/// What is to happen to one key. The number is the wire's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AlterOp {
    Set = 0,
    Delete = 1,
    Append = 2,
    Subtract = 3,
}

impl AlterOp {
    pub fn from_wire(number: i8) -> Option<Self> {
        match number {
            0 => Some(Self::Set),
            1 => Some(Self::Delete),
            2 => Some(Self::Append),
            3 => Some(Self::Subtract),
            _ => None,
        }
    }
}

/// One change of an IncrementalAlterConfigs request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alteration<'a> {
    pub key: &'a str,
    pub op: AlterOp,
    /// `None` is allowed for Delete alone.
    pub value: Option<&'a str>,
}

/// Whose settings change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    Topic,
    /// One broker.
    Broker,
    /// All brokers at once.
    Cluster,
}

/// The owner's settings after the changes, all of them or none.
pub fn incremental(
    owner: Owner,
    broker: &BrokerConfig,
    own: &Settings,
    alterations: &[Alteration],
) -> Result<Settings, Refused> {
    let keys: OrderedSet<&str> = alterations.iter().map(|alteration| alteration.key).collect();
    if keys.len() < alterations.len() {
        return Err(Refused::new(
            ErrorCode::InvalidRequest,
            "Error due to duplicate config keys",
        ));
    }
    let nulls: Vec<&str> = alterations
        .iter()
        .filter(|alteration| alteration.op != AlterOp::Delete && alteration.value.is_none())
        .map(|alteration| alteration.key)
        .collect();
    if !nulls.is_empty() {
        let message = format!("Null value not supported for : {}", nulls.join(", "));
        return Err(Refused::new(ErrorCode::InvalidRequest, message));
    }
    let mut after = own.clone();
    for alteration in alterations {
        let value = alteration.value.unwrap_or_default();
        match alteration.op {
            AlterOp::Set => drop(after.insert(alteration.key.to_owned(), value.to_owned())),
            AlterOp::Delete => drop(after.remove(alteration.key)),
            AlterOp::Append | AlterOp::Subtract => {
                let members = change_list(owner, broker, &after, *alteration, value)?;
                after.insert(alteration.key.to_owned(), members);
            }
        }
    }
    check(owner, &after)?;
    check_dynamic(owner, &keys)?;
    Ok(after)
}

/// The owner's settings after the legacy AlterConfigs: exactly those given.
pub fn replace(owner: Owner, given: &[(&str, Option<&str>)]) -> Result<Settings, Refused> {
    let keys: OrderedSet<&str> = given.iter().map(|(key, _)| *key).collect();
    if keys.len() < given.len() {
        return Err(Refused::new(
            ErrorCode::InvalidRequest,
            "Error due to duplicate config keys",
        ));
    }
    let nulls: Vec<&str> = given
        .iter()
        .filter(|(_, value)| value.is_none())
        .map(|(key, _)| *key)
        .collect();
    if !nulls.is_empty() {
        let message = format!("Null value not supported for : {}", nulls.join(", "));
        return Err(Refused::new(ErrorCode::InvalidRequest, message));
    }
    let after = given
        .iter()
        .map(|(key, value)| ((*key).to_owned(), value.unwrap_or_default().to_owned()))
        .collect();
    check(owner, &after)?;
    check_dynamic(owner, &keys)?;
    Ok(after)
}

/// Checks a topic's settings as a whole, as CreateTopics and both AlterConfigs do.
pub fn check_topic(settings: &Settings) -> Result<(), Refused> {
    check(Owner::Topic, settings)
}

fn row(owner: Owner, key: &str) -> Option<&'static ConfigKey> {
    match owner {
        Owner::Topic => topic_key(key),
        Owner::Broker | Owner::Cluster => broker_key(key),
    }
}

/// The list after a member was added or taken away. What is not set begins from the value in force.
fn change_list(
    owner: Owner,
    broker: &BrokerConfig,
    settings: &Settings,
    alteration: Alteration,
    value: &str,
) -> Result<String, Refused> {
    let key = row(owner, alteration.key).filter(|key| key.kind == ConfigType::List);
    let Some(key) = key else {
        let verb = if alteration.op == AlterOp::Append {
            "APPEND"
        } else {
            "SUBTRACT"
        };
        let message = format!(
            "Can't {verb} to key {} because its type is not LIST.",
            alteration.key
        );
        return Err(Refused::new(ErrorCode::InvalidConfig, message));
    };
    let below = match owner {
        Owner::Topic => super::topic::from_broker(key, broker).or_else(|| key.default_value()),
        Owner::Broker | Owner::Cluster => key.default_value(),
    };
    let start = settings
        .get(key.name)
        .map_or_else(|| below.map(|v| v.to_string()).unwrap_or_default(), String::clone);
    let split = |text: &str| -> Vec<String> {
        text.split(',')
            .map(str::trim)
            .filter(|member| !member.is_empty())
            .map(str::to_owned)
            .collect()
    };
    let (mut members, given) = (split(&start), split(value));
    if alteration.op == AlterOp::Append {
        for member in given {
            if !members.contains(&member) {
                members.push(member);
            }
        }
    } else {
        members.retain(|member| !given.contains(member));
    }
    Ok(members.join(","))
}

fn check(owner: Owner, settings: &Settings) -> Result<(), Refused> {
    let code = if owner == Owner::Topic {
        ErrorCode::InvalidConfig
    } else {
        ErrorCode::InvalidRequest
    };
    for (name, text) in settings {
        match row(owner, name) {
            Some(key) => drop(
                key.parse(text)
                    .map_err(|bad| Refused::new(code, bad.to_string()))?,
            ),
            None if owner == Owner::Topic => {
                return Err(Refused::new(code, format!("Unknown topic config name: {name}")));
            }
            // Kafka stores a broker's keys that it does not know, for plugins.
            None => {}
        }
    }
    if owner == Owner::Topic {
        check_together(settings)
    } else {
        Ok(())
    }
}

/// What is wrong only with two topic keys together, or with a service that is not there.
fn check_together(settings: &Settings) -> Result<(), Refused> {
    let value = |name: &str| {
        let key = topic_key(name)?;
        settings
            .get(name)
            .map_or(key.default, |text| Some(text.as_str()))
            .and_then(|text| key.parse(text).ok())
    };
    if let (Some(Value::Number(least)), Some(Value::Number(most))) =
        (value("min.compaction.lag.ms"), value("max.compaction.lag.ms"))
        && least > most
    {
        let message = format!(
            "conflict topic config setting min.compaction.lag.ms ({least}) > max.compaction.lag.ms ({most})"
        );
        return Err(Refused::new(ErrorCode::InvalidConfig, message));
    }
    if value("remote.storage.enable") == Some(Value::Boolean(true)) {
        let message = "Tiered Storage functionality is disabled in the broker. \
                       Topic cannot be configured with remote log storage.";
        return Err(Refused::new(ErrorCode::InvalidConfig, message));
    }
    Ok(())
}

fn check_dynamic(owner: Owner, keys: &OrderedSet<&str>) -> Result<(), Refused> {
    let having = |update: UpdateMode| {
        let of_mode = |key: &&&str| broker_key(key).is_some_and(|row| row.update == update);
        keys.iter()
            .filter(of_mode)
            .copied()
            .collect::<Vec<_>>()
            .join(", ")
    };
    if owner == Owner::Topic {
        return Ok(());
    }
    let fixed = having(UpdateMode::ReadOnly);
    if !fixed.is_empty() {
        let message = format!("Cannot update these configs dynamically: [{fixed}]");
        return Err(Refused::new(ErrorCode::InvalidRequest, message));
    }
    let of_one = having(UpdateMode::PerBroker);
    if owner == Owner::Cluster && !of_one.is_empty() {
        let message = format!(
            "Cannot update these configs at default cluster level, broker id must be specified: [{of_one}]"
        );
        return Err(Refused::new(ErrorCode::InvalidRequest, message));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(owner: Owner, own: &mut Settings, key: &str, op: AlterOp, value: &str) -> String {
        let alteration = Alteration {
            key,
            op,
            value: Some(value),
        };
        match incremental(owner, &BrokerConfig::default(), own, &[alteration]) {
            Ok(after) => {
                *own = after;
                own.get(key).cloned().unwrap_or_else(|| "unset".to_owned())
            }
            Err(refused) => refused.to_string(),
        }
    }

    #[test]
    fn topic_changes_end_as_in_kafka() {
        // Each answer as a Kafka 4.4 broker gave it, in this order.
        let cases = [
            ("retention.ms", AlterOp::Set, "5", "5"),
            (
                "retention.ms",
                AlterOp::Set,
                "x",
                "INVALID_CONFIG: Invalid value x for configuration retention.ms: Not a number of type LONG",
            ),
            (
                "retention.ms",
                AlterOp::Append,
                "5",
                "INVALID_CONFIG: Can't APPEND to key retention.ms because its type is not LIST.",
            ),
            (
                "retention.ms",
                AlterOp::Subtract,
                "5",
                "INVALID_CONFIG: Can't SUBTRACT to key retention.ms because its type is not LIST.",
            ),
            ("retention.ms", AlterOp::Delete, "", "unset"),
            ("cleanup.policy", AlterOp::Append, "compact", "delete,compact"),
            ("cleanup.policy", AlterOp::Append, "compact", "delete,compact"),
            ("cleanup.policy", AlterOp::Subtract, "delete", "compact"),
            ("cleanup.policy", AlterOp::Subtract, "zzz", "compact"),
            ("cleanup.policy", AlterOp::Subtract, "compact", ""),
            (
                "no.such",
                AlterOp::Set,
                "1",
                "INVALID_CONFIG: Unknown topic config name: no.such",
            ),
            ("no.such", AlterOp::Delete, "1", "unset"),
            (
                "no.such",
                AlterOp::Append,
                "1",
                "INVALID_CONFIG: Can't APPEND to key no.such because its type is not LIST.",
            ),
            (
                "leader.replication.throttled.replicas",
                AlterOp::Append,
                "0:1",
                "0:1",
            ),
            (
                "leader.replication.throttled.replicas",
                AlterOp::Append,
                "1:1,0:1",
                "0:1,1:1",
            ),
        ];
        let mut own = Settings::new();
        for (key, op, value, expected) in cases {
            assert_eq!(
                run(Owner::Topic, &mut own, key, op, value),
                expected,
                "{key} {op:?} {value}"
            );
        }
    }

    #[test]
    fn broker_changes_keep_to_their_level() {
        let mut own = Settings::new();
        let cases = [
            (Owner::Broker, "log.retention.ms", "5000000", "5000000"),
            (
                Owner::Broker,
                "log.retention.hours",
                "5",
                "INVALID_REQUEST: Cannot update these configs dynamically: [log.retention.hours]",
            ),
            (
                Owner::Broker,
                "num.io.threads",
                "0",
                "INVALID_REQUEST: Invalid value 0 for configuration num.io.threads: Value must be at least 1",
            ),
            (
                Owner::Cluster,
                "listeners",
                "PLAINTEXT://:1",
                "INVALID_REQUEST: Cannot update these configs at default cluster level, \
                 broker id must be specified: [listeners]",
            ),
            (Owner::Broker, "no.such", "5", "5"),
        ];
        for (owner, key, value, expected) in cases {
            assert_eq!(run(owner, &mut own, key, AlterOp::Set, value), expected);
        }
    }

    #[test]
    fn a_request_is_taken_whole_or_not_at_all() {
        let broker = BrokerConfig::default();
        let set = |key, value| Alteration {
            key,
            op: AlterOp::Set,
            value,
        };
        let refused = |alterations: &[Alteration]| {
            incremental(Owner::Topic, &broker, &Settings::new(), alterations)
                .unwrap_err()
                .to_string()
        };
        assert_eq!(
            refused(&[set("retention.ms", Some("1")), set("retention.ms", Some("2"))]),
            "INVALID_REQUEST: Error due to duplicate config keys"
        );
        assert_eq!(
            refused(&[set("retention.ms", None)]),
            "INVALID_REQUEST: Null value not supported for : retention.ms"
        );
        assert_eq!(
            refused(&[
                set("min.compaction.lag.ms", Some("100")),
                set("max.compaction.lag.ms", Some("50"))
            ]),
            "INVALID_CONFIG: conflict topic config setting min.compaction.lag.ms (100) > max.compaction.lag.ms (50)"
        );
        assert_eq!(
            replace(Owner::Topic, &[("retention.ms", Some("7"))])
                .unwrap()
                .len(),
            1
        );
    }
}
