//! The settings of clients: the keys that each of them knows, and how settings are read and checked.
//!
//! A client's keys are some tables of [`ConfigKey`]: [`COMMON_KEYS`], which are here, and its own.
//! [`ClientSettings::read`] checks every setting against them; what is left is typed by whoever owns
//! the keys. A key that is in no table is not an error but is told of ([`ClientSettings::unused`]), as
//! Kafka does with its warning.

use std::sync::Arc;

use thiserror::Error;

use super::ExponentialBackoff;
use crate::config::{
    BadValue, ConfigKey, ConfigType::*, Importance::*, Settings, UpdateMode::*, Valid::*, Value, keys,
};
use crate::ordered::OrderedMap;
use crate::types::Millis;

/// The tables of a client's keys.
pub type ClientKeys = &'static [&'static [ConfigKey]];

keys! { pub static COMMON_KEYS =
    "bootstrap.servers": List = unset, High, ReadOnly,
        "Addresses, `host:port`, by which the cluster is found; one that answers is enough.";
    "client.dns.lookup": Text = "use_all_dns_ips" in OneOf(&["use_all_dns_ips", "resolve_canonical_bootstrap_servers_only"]), Medium, ReadOnly,
        "Whether the addresses of a name are tried one after another.";
    "client.id": Text = "", Medium, ReadOnly,
        "What the client calls itself in its requests and in the broker's logs.";
    "connections.max.idle.ms": Long = "540000", Medium, ReadOnly,
        "A connection that nothing was said on for so long is closed.";
    "metadata.max.age.ms": Long = "300000" in AtLeast(0), Low, ReadOnly,
        "Who leads what is asked anew at the latest after so long.";
    "metadata.recovery.rebootstrap.trigger.ms": Long = "300000" in AtLeast(0), Low, ReadOnly,
        "When nobody has told who leads what for so long, the bootstrap addresses are asked again.";
    "metadata.recovery.strategy": Text = "rebootstrap" in OneOfAnyCase(&["REBOOTSTRAP", "NONE"]), Low, ReadOnly,
        "What to do when no known broker answers: ask the bootstrap addresses again, or nothing.";
    "reconnect.backoff.max.ms": Long = "1000" in AtLeast(0), Low, ReadOnly,
        "Longest pause before a broker that could not be reached is tried again.";
    "reconnect.backoff.ms": Long = "50" in AtLeast(0), Low, ReadOnly,
        "First pause before a broker that could not be reached is tried again; it doubles each time.";
    "request.timeout.ms": Int = "30000" in AtLeast(0), Medium, ReadOnly,
        "A request that is not answered for so long has failed.";
    "retry.backoff.max.ms": Long = "1000" in AtLeast(0), Low, ReadOnly,
        "Longest pause before a failed request is tried again.";
    "retry.backoff.ms": Long = "100" in AtLeast(0), Low, ReadOnly,
        "First pause before a failed request is tried again; it doubles each time.";
    "security.protocol": Text = "PLAINTEXT" in OneOfAnyCase(&["PLAINTEXT"]), Medium, ReadOnly,
        "How brokers are spoken to; only PLAINTEXT is known here.";
    "send.buffer.bytes": Int = "131072" in AtLeast(-1), Medium, ReadOnly,
        "Size of the socket's buffer for sending; -1 leaves it to the system.";
    "socket.connection.setup.timeout.max.ms": Long = "30000", Medium, ReadOnly,
        "Longest time to wait for a connection; the wait doubles each time up to this.";
    "socket.connection.setup.timeout.ms": Long = "10000", Medium, ReadOnly,
        "How long to wait for a connection the first time.";
}

/// A setting that cannot be. One line each, Kafka's where Kafka has one.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum InvalidConfig {
    #[error(transparent)]
    Value(#[from] BadValue),
    #[error("Missing required configuration \"{0}\" which has no default value.")]
    Missing(&'static str),
    #[error("Invalid url in bootstrap.servers: {0}")]
    Address(String),
    #[error("No resolvable bootstrap urls given in bootstrap.servers")]
    NoAddress,
    /// Two settings that do not go together.
    #[error("{0}")]
    Combination(String),
}

/// Settings that were read and checked: each key of the tables has its value or its default.
#[derive(Clone, Debug, PartialEq)]
pub struct ClientSettings {
    values: OrderedMap<&'static str, Value>,
    set: Vec<&'static str>,
    /// Keys that are in no table, sorted.
    pub unused: Vec<String>,
}

impl ClientSettings {
    pub fn read(keys: ClientKeys, settings: &Settings) -> Result<Self, InvalidConfig> {
        let mut read = Self {
            values: OrderedMap::new(),
            set: Vec::new(),
            unused: Vec::new(),
        };
        let rows = || keys.iter().flat_map(|table| table.iter());
        for row in rows() {
            if let Some(text) = settings.get(row.name) {
                read.values.insert(row.name, row.parse(text)?);
                read.set.push(row.name);
            } else if let Some(value) = row.default_value() {
                read.values.insert(row.name, value);
            }
        }
        let unused = settings
            .keys()
            .filter(|name| rows().all(|row| row.name != **name));
        read.unused = unused.cloned().collect();
        Ok(read)
    }

    /// Whether somebody set the key, to whatever value.
    pub fn is_set(&self, key: &str) -> bool {
        self.set.contains(&key)
    }

    /// A number; 0 for a key that is unset or no number, which a table never has.
    pub fn number(&self, key: &str) -> i64 {
        match self.values.get(key) {
            Some(Value::Number(number)) => *number,
            _ => 0,
        }
    }

    pub fn boolean(&self, key: &str) -> bool {
        matches!(self.values.get(key), Some(Value::Boolean(true)))
    }

    /// A text; empty for a key that is unset.
    pub fn text(&self, key: &str) -> &str {
        match self.values.get(key) {
            Some(Value::Text(text)) => text,
            _ => "",
        }
    }

    /// A list; empty for a key that is unset.
    pub fn list(&self, key: &str) -> &[String] {
        match self.values.get(key) {
            Some(Value::List(list)) => list,
            _ => &[],
        }
    }

    /// The pause between tries, by the two keys that say so.
    pub fn backoff(&self, initial: &str, max: &str) -> ExponentialBackoff {
        ExponentialBackoff::new(self.number(initial), self.number(max))
    }
}

/// What every client goes by.
#[derive(Clone, Debug, PartialEq)]
pub struct ClientConfig {
    /// Host and port, in the order in which they were given.
    pub bootstrap_servers: Vec<(Arc<str>, u16)>,
    pub client_id: Arc<str>,
    pub connections_max_idle_ms: Millis,
    pub metadata_max_age_ms: Millis,
    /// Ask the bootstrap addresses again when no known broker answers.
    pub rebootstrap: bool,
    pub rebootstrap_trigger_ms: Millis,
    pub reconnect_backoff: ExponentialBackoff,
    pub request_timeout_ms: Millis,
    pub retry_backoff: ExponentialBackoff,
    /// -1: what the system gives.
    pub send_buffer_bytes: i64,
    /// For the host, which makes the connections.
    pub connection_setup_timeout: ExponentialBackoff,
}

impl ClientConfig {
    pub fn resolve(settings: &ClientSettings) -> Result<Self, InvalidConfig> {
        let number = |key| settings.number(key);
        Ok(Self {
            bootstrap_servers: bootstrap_servers(settings)?,
            client_id: settings.text("client.id").into(),
            connections_max_idle_ms: number("connections.max.idle.ms"),
            metadata_max_age_ms: number("metadata.max.age.ms"),
            rebootstrap: settings
                .text("metadata.recovery.strategy")
                .eq_ignore_ascii_case("rebootstrap"),
            rebootstrap_trigger_ms: number("metadata.recovery.rebootstrap.trigger.ms"),
            reconnect_backoff: settings.backoff("reconnect.backoff.ms", "reconnect.backoff.max.ms"),
            request_timeout_ms: number("request.timeout.ms"),
            retry_backoff: settings.backoff("retry.backoff.ms", "retry.backoff.max.ms"),
            send_buffer_bytes: number("send.buffer.bytes"),
            connection_setup_timeout: settings.backoff(
                "socket.connection.setup.timeout.ms",
                "socket.connection.setup.timeout.max.ms",
            ),
        })
    }
}

fn bootstrap_servers(settings: &ClientSettings) -> Result<Vec<(Arc<str>, u16)>, InvalidConfig> {
    if !settings.is_set("bootstrap.servers") {
        return Err(InvalidConfig::Missing("bootstrap.servers"));
    }
    let given = settings.list("bootstrap.servers").iter();
    let addresses: Result<Vec<_>, _> = given
        .filter(|text| !text.is_empty())
        .map(|text| parse_address(text).ok_or_else(|| InvalidConfig::Address(text.clone())))
        .collect();
    match addresses? {
        none if none.is_empty() => Err(InvalidConfig::NoAddress),
        addresses => Ok(addresses),
    }
}

/// `host:port`, `[::1]:port`, either with `protocol://` before it, which Kafka lets pass too.
fn parse_address(text: &str) -> Option<(Arc<str>, u16)> {
    let address = text.split_once("://").map_or(text, |(_, address)| address);
    let (host, port) = address.rsplit_once(':')?;
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let is_sound = |host: &str| !host.is_empty() && !host.contains(['[', ']', '/', ' ']);
    let host = match bare {
        Some(host) => host,
        None if host.contains(':') => return None,
        None => host,
    };
    let port = port.parse().ok().filter(|port| *port > 0)?;
    is_sound(host).then(|| (host.into(), port))
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEYS: ClientKeys = &[COMMON_KEYS];

    fn settings(pairs: &[(&str, &str)]) -> Settings {
        pairs
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect()
    }

    fn resolve(pairs: &[(&str, &str)]) -> Result<ClientConfig, InvalidConfig> {
        ClientConfig::resolve(&ClientSettings::read(KEYS, &settings(pairs))?)
    }

    #[test]
    fn what_is_not_set_is_kafkas_default() {
        let config = resolve(&[("bootstrap.servers", "a:1, b:2,,[::1]:3")]).unwrap();
        let expected = [("a", 1), ("b", 2), ("::1", 3)].map(|(host, port)| (host.into(), port));
        assert_eq!(config.bootstrap_servers, expected);
        assert_eq!(config.request_timeout_ms, 30_000);
        assert_eq!(config.retry_backoff, ExponentialBackoff::new(100, 1000));
        assert_eq!(config.reconnect_backoff, ExponentialBackoff::new(50, 1000));
        assert!(config.rebootstrap);
    }

    #[test]
    fn what_is_wrong_is_said_in_one_line() {
        let line = |pairs: &[(&str, &str)]| resolve(pairs).unwrap_err().to_string();
        assert_eq!(
            line(&[]),
            "Missing required configuration \"bootstrap.servers\" which has no default value."
        );
        assert_eq!(
            line(&[("bootstrap.servers", " , ")]),
            "No resolvable bootstrap urls given in bootstrap.servers"
        );
        for wrong in ["localhost", "a:0", "a:65536", "a:x", ":9092", "::1:9092", "a b:1"] {
            assert_eq!(
                line(&[("bootstrap.servers", wrong)]),
                format!("Invalid url in bootstrap.servers: {wrong}")
            );
        }
        assert_eq!(
            line(&[("bootstrap.servers", "a:1"), ("request.timeout.ms", "soon")]),
            "Invalid value soon for configuration request.timeout.ms: Not a number of type INT"
        );
        assert_eq!(
            line(&[("bootstrap.servers", "a:1"), ("retry.backoff.ms", "-1")]),
            "Invalid value -1 for configuration retry.backoff.ms: Value must be at least 0"
        );
    }

    #[test]
    fn a_key_that_nobody_knows_is_told_of_and_harms_nothing() {
        let given = settings(&[("bootstrap.servers", "a:1"), ("linger.minutes", "5")]);
        let read = ClientSettings::read(KEYS, &given).unwrap();
        assert_eq!(read.unused, ["linger.minutes"]);
    }
}
