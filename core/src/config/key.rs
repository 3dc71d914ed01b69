//! What a configuration key is, and what its values may be (Kafka's `ConfigDef`).
//!
//! Values travel as text; [`ConfigKey::parse`] reads and checks one. Its complaints have Kafka's
//! wording, since clients show them and scripts look for them.

use std::fmt;

use thiserror::Error;

use crate::full::FULL;

/// How a value is read. The number is the wire's (`DescribeConfigsResponse`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i8)]
pub enum ConfigType {
    Boolean = 1,
    Text = 2,
    Int = 3,
    Short = 4,
    Long = 5,
    Double = 6,
    List = 7,
    Class = 8,
    Password = 9,
}

impl ConfigType {
    /// Kafka's name: `STRING`, `LONG` and so on.
    pub fn kafka_name(self) -> &'static str {
        match self {
            Self::Boolean => "BOOLEAN",
            Self::Text => "STRING",
            Self::Int => "INT",
            Self::Short => "SHORT",
            Self::Long => "LONG",
            Self::Double => "DOUBLE",
            Self::List => "LIST",
            Self::Class => "CLASS",
            Self::Password => "PASSWORD",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Importance {
    High,
    Medium,
    Low,
}

/// Whether and where a key may change while the broker runs (KIP-226).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpdateMode {
    /// Only in `server.properties`.
    ReadOnly,
    /// For one broker at a time.
    PerBroker,
    /// For one broker or for all at once.
    ClusterWide,
    /// A topic's key.
    PerTopic,
}

/// Which values are allowed, beyond what the type allows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Valid {
    Any,
    AtLeast(i64),
    Between(i64, i64),
    OneOf(&'static [&'static str]),
    OneOfAnyCase(&'static [&'static str]),
    /// For lists: each member is one of these.
    EachOf(&'static [&'static str]),
    /// 1 to 9, or -1.
    GzipLevel,
    /// `partition:broker` pairs, or `*` alone.
    ThrottledReplicas,
}

/// One row of the table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ConfigKey {
    pub name: &'static str,
    pub kind: ConfigType,
    /// `None`: unset unless somebody sets it.
    pub default: Option<&'static str>,
    pub valid: Valid,
    pub importance: Importance,
    pub update: UpdateMode,
    /// For a topic's key: the broker keys that stand in for it, and what their values are multiplied by.
    pub fallback: &'static [(&'static str, i64)],
    /// One or two sentences for people.
    pub doc: &'static str,
}

/// Writes a table as rows of `"name": Type = default in valid, Importance, UpdateMode, from [..], "doc";`.
macro_rules! keys {
    ($vis:vis static $table:ident = $(
        $name:literal: $kind:ident = $default:tt $(in $valid:expr)?, $importance:ident, $update:ident
        $(, from [$($fallback:expr),*])?, $doc:literal;
    )*) => {
        $vis static $table: &[ConfigKey] = &[$(ConfigKey {
            name: $name,
            kind: $kind,
            default: keys!(@default $default),
            valid: keys!(@valid $($valid)?),
            importance: $importance,
            update: $update,
            fallback: &[$($($fallback),*)?],
            // Told by DescribeConfigs alone.
            doc: if $crate::full::FULL { $doc } else { "" },
        }),*];
    };
    (@default unset) => { None };
    (@default $default:literal) => { Some($default) };
    (@valid) => { Any };
    (@valid $valid:expr) => { $valid };
}
pub(crate) use keys;

/// A value as read. Shown as Kafka's `ConfigDef.convertToString` shows it.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Boolean(bool),
    Number(i64),
    Double(f64),
    Text(String),
    List(Vec<String>),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Boolean(value) => write!(f, "{value}"),
            Value::Number(value) => write!(f, "{value}"),
            Value::Double(value) => f.write_str(&java_double(*value)),
            Value::Text(value) => f.write_str(value),
            Value::List(values) => f.write_str(&values.join(",")),
        }
    }
}

/// A value that its key does not allow, in Kafka's words.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("Invalid value {value} for configuration {key}: {why}")]
pub struct BadValue {
    pub key: String,
    pub value: String,
    pub why: String,
}

impl ConfigKey {
    /// Reads and checks a value.
    pub fn parse(&self, text: &str) -> Result<Value, BadValue> {
        let value = self.read(text.trim()).map_err(|why| self.bad(text, why))?;
        match self.complaint(&value) {
            None => Ok(value),
            // Kafka shows a wrong member of a list alone, and a wrong list of replicas in brackets.
            Some((shown, why)) => Err(self.bad(&shown, why)),
        }
    }

    /// The default as a value; `None` when the key is unset by default.
    pub fn default_value(&self) -> Option<Value> {
        self.default.and_then(|text| self.parse(text).ok())
    }

    /// Kafka never shows the values of such keys.
    pub fn is_sensitive(&self) -> bool {
        self.kind == ConfigType::Password
    }

    /// Kafka does not list such keys unless they are set.
    pub fn is_internal(&self) -> bool {
        self.name.starts_with("internal.")
    }

    fn bad(&self, value: &str, why: String) -> BadValue {
        BadValue {
            key: self.name.to_owned(),
            value: value.to_owned(),
            why,
        }
    }

    fn read(&self, text: &str) -> Result<Value, String> {
        let not_a_number = || format!("Not a number of type {}", self.kind.kafka_name());
        match self.kind {
            ConfigType::Boolean if text.eq_ignore_ascii_case("true") => Ok(Value::Boolean(true)),
            ConfigType::Boolean if text.eq_ignore_ascii_case("false") => Ok(Value::Boolean(false)),
            ConfigType::Boolean => Err("Expected value to be either true or false".to_owned()),
            ConfigType::Short => text
                .parse::<i16>()
                .map(|n| Value::Number(n.into()))
                .map_err(|_| not_a_number()),
            ConfigType::Int => text
                .parse::<i32>()
                .map(|n| Value::Number(n.into()))
                .map_err(|_| not_a_number()),
            ConfigType::Long => text.parse::<i64>().map(Value::Number).map_err(|_| not_a_number()),
            ConfigType::Double if FULL => text.parse().map(Value::Double).map_err(|_| not_a_number()),
            ConfigType::Double => plain_decimal(text).map(Value::Double).ok_or_else(not_a_number),
            ConfigType::List if text.is_empty() => Ok(Value::List(Vec::new())),
            ConfigType::List => Ok(Value::List(
                text.split(',').map(|part| part.trim().to_owned()).collect(),
            )),
            ConfigType::Text | ConfigType::Class | ConfigType::Password => Ok(Value::Text(text.to_owned())),
        }
    }

    /// What is wrong with the value: how it is shown, and why.
    fn complaint(&self, value: &Value) -> Option<(String, String)> {
        match (self.valid, value) {
            (Valid::AtLeast(least), value) => below(value, least),
            (Valid::Between(least, most), value) => below(value, least).or_else(|| above(value, most)),
            (Valid::GzipLevel, Value::Number(level)) if *level != -1 && !(1..=9).contains(level) => Some((
                level.to_string(),
                "Value must be between 1 and 9 or equal to -1".to_owned(),
            )),
            (Valid::OneOf(allowed), Value::Text(text)) if !allowed.contains(&&**text) => Some((
                text.clone(),
                format!("String must be one of: {}", allowed.join(", ")),
            )),
            (Valid::OneOfAnyCase(allowed), Value::Text(text))
                if !allowed.iter().any(|a| a.eq_ignore_ascii_case(text)) =>
            {
                Some((
                    text.clone(),
                    format!("String must be one of (case insensitive): {}", allowed.join(", ")),
                ))
            }
            (Valid::EachOf(allowed), Value::List(members)) => members
                .iter()
                .find(|member| !allowed.contains(&&***member))
                .map(|member| {
                    (
                        member.clone(),
                        format!("String must be one of: {}", allowed.join(", ")),
                    )
                }),
            (Valid::ThrottledReplicas, Value::List(members)) if !are_throttled_replicas(members) => Some((
                format!("[{}]", members.join(", ")),
                format!(
                    "{} must be the literal '*' or a list of replicas in the following format: \
                     [partitionId]:[brokerId],[partitionId]:[brokerId],...",
                    self.name
                ),
            )),
            _ => None,
        }
    }
}

fn below(value: &Value, least: i64) -> Option<(String, String)> {
    let is_below = match value {
        Value::Number(number) => *number < least,
        Value::Double(number) => *number < least as f64,
        _ => false,
    };
    is_below.then(|| (value.to_string(), format!("Value must be at least {least}")))
}

fn above(value: &Value, most: i64) -> Option<(String, String)> {
    let is_above = match value {
        Value::Number(number) => *number > most,
        Value::Double(number) => *number > most as f64,
        _ => false,
    };
    is_above.then(|| (value.to_string(), format!("Value must be no more than {most}")))
}

fn are_throttled_replicas(members: &[String]) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    matches!(members, [only] if only == "*")
        || members.iter().all(|member| {
            member
                .split_once(':')
                .is_some_and(|(partition, broker)| is_number(partition) && is_number(broker))
        })
}

/// Java's `Double.MAX_VALUE`, which is some defaults' way to say that there is no limit.
const NO_LIMIT: &str = "1.7976931348623157E308";

/// A number like `0.5`, of few digits, or [`NO_LIMIT`]: what a page needs, without the ten kilobytes of tables that are
/// there to read any number. Both parts are exact, so the quotient is the nearest double.
fn plain_decimal(text: &str) -> Option<f64> {
    if text == NO_LIMIT {
        return Some(f64::MAX);
    }
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let digits: u32 = format!("{whole}{part}").parse().ok()?;
    let scale = 10_u32.checked_pow(u32::try_from(part.len()).ok()?)?;
    Some(f64::from(digits) / f64::from(scale))
}

/// A double as Java writes it, of what [`plain_decimal`] reads: the settings' three digits behind the point.
/// Rust's own writer brings tables along, as its reader does.
fn plain_double(value: f64) -> String {
    if value == f64::MAX {
        return NO_LIMIT.to_owned();
    }
    let thousandths = (value * 1000.0).round() as u64;
    let text = format!("{}.{:03}", thousandths / 1000, thousandths % 1000);
    let digits = text.trim_end_matches('0');
    let point = if digits.ends_with('.') { "0" } else { "" };
    format!("{digits}{point}")
}

/// A double as Java writes it: `0.5`, `1.0E7`.
fn java_double(value: f64) -> String {
    if !FULL {
        return plain_double(value);
    }
    if value == 0.0 || !value.is_finite() || (1e-3..1e7).contains(&value.abs()) {
        return format!("{value:?}");
    }
    let text = format!("{value:E}");
    match text.split_once('E') {
        Some((mantissa, exponent)) if !mantissa.contains('.') => format!("{mantissa}.0E{exponent}"),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{broker_key, topic_key};

    #[test]
    fn every_default_that_is_a_double_is_a_plain_decimal() {
        let all = crate::config::BROKER_KEYS.iter().chain(crate::config::TOPIC_KEYS);
        let defaults = all
            .filter(|key| key.kind == ConfigType::Double)
            .filter_map(|key| key.default);
        let mut seen = 0;
        for text in defaults {
            assert_eq!(plain_decimal(text), text.parse().ok(), "{text}");
            let value = text.parse().unwrap();
            assert_eq!(plain_double(value), java_double(value), "{text}");
            seen += 1;
        }
        assert!(seen > 0);
        for value in [0.0, 0.05, 0.1, 1.0, 2.0, 0.125] {
            assert_eq!(plain_double(value), java_double(value));
        }
        assert_eq!(plain_decimal("0.05"), Some(0.05));
        for text in ["", ".", "-1", "1e3", "a", "0.00000000001", "1.2.3"] {
            assert_eq!(plain_decimal(text), None, "{text}");
        }
    }

    #[test]
    fn complaints_are_kafkas() {
        // As a Kafka 4.4 broker answered to CreateTopics.
        let cases = [
            (
                "retention.ms",
                "abc",
                "Invalid value abc for configuration retention.ms: Not a number of type LONG",
            ),
            (
                "retention.ms",
                "",
                "Invalid value  for configuration retention.ms: Not a number of type LONG",
            ),
            (
                "retention.ms",
                "-2",
                "Invalid value -2 for configuration retention.ms: Value must be at least -1",
            ),
            (
                "cleanup.policy",
                "foo",
                "Invalid value foo for configuration cleanup.policy: String must be one of: compact, delete",
            ),
            (
                "preallocate",
                "yes",
                "Invalid value yes for configuration preallocate: Expected value to be either true or false",
            ),
            (
                "min.cleanable.dirty.ratio",
                "2",
                "Invalid value 2.0 for configuration min.cleanable.dirty.ratio: Value must be no more than 1",
            ),
            (
                "segment.bytes",
                "99999999999",
                "Invalid value 99999999999 for configuration segment.bytes: Not a number of type INT",
            ),
            (
                "compression.gzip.level",
                "10",
                "Invalid value 10 for configuration compression.gzip.level: Value must be between 1 and 9 or equal to -1",
            ),
            (
                "leader.replication.throttled.replicas",
                "x",
                "Invalid value [x] for configuration leader.replication.throttled.replicas: \
                 leader.replication.throttled.replicas must be the literal '*' or a list of replicas in the following \
                 format: [partitionId]:[brokerId],[partitionId]:[brokerId],...",
            ),
        ];
        for (key, value, message) in cases {
            assert_eq!(
                topic_key(key).unwrap().parse(value).unwrap_err().to_string(),
                message
            );
        }
        for (key, value) in [
            ("cleanup.policy", ""),
            ("cleanup.policy", "compact, delete"),
            ("preallocate", " TRUE "),
            ("retention.ms", " 100 "),
            ("leader.replication.throttled.replicas", "*"),
            ("leader.replication.throttled.replicas", "0:1,1:2"),
            ("min.cleanable.dirty.ratio", "NaN"),
        ] {
            topic_key(key).unwrap().parse(value).unwrap();
        }
    }

    #[test]
    fn doubles_look_like_javas() {
        for (value, text) in [
            (0.5, "0.5"),
            (0.0, "0.0"),
            (1e7, "1.0E7"),
            (f64::MAX, "1.7976931348623157E308"),
        ] {
            assert_eq!(java_double(value), text);
        }
        let key = broker_key("log.cleaner.io.max.bytes.per.second").unwrap();
        assert_eq!(key.default_value().unwrap().to_string(), key.default.unwrap());
    }
}
