//! `meta.properties`: whose log directory this is, so that a directory mounted on the wrong broker
//! is refused instead of served.
//!
//! Version 0 is the ZooKeeper way (`broker.id`), version 1 the KRaft way (`node.id`). It is a Java
//! properties file: `#` begins a comment, a backslash takes the next character as it is. Kafka's
//! comment with the date says nothing that a broker reads; we write none.

use bytes::Bytes;

use super::{BadCheckpoint, text};
use crate::types::{BrokerId, Uuid};

/// What `meta.properties` says (Kafka's `MetaProperties`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetaProperties {
    pub version: MetaVersion,
    /// `broker.id` in version 0, `node.id` in version 1.
    pub broker_id: Option<BrokerId>,
    pub cluster_id: Option<String>,
    /// Identity of the directory itself (KIP-858).
    pub directory_id: Option<Uuid>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetaVersion {
    /// Written with ZooKeeper; every other key may be missing.
    V0,
    /// Written under KRaft; `node.id` and `cluster.id` are always there.
    V1,
}

impl MetaProperties {
    pub const FILE: &str = "meta.properties";

    pub fn read(bytes: &[u8]) -> Result<Self, BadCheckpoint> {
        let pairs = properties(text(bytes)?)?;
        let get = |key: &'static str| {
            let pair = pairs.iter().rev().find(|(name, _)| name == key);
            pair.map(|(_, value)| value.as_str())
        };
        // Files from before the key existed are version 0.
        let version = match number("version", get("version").unwrap_or("0"))? {
            0 => MetaVersion::V0,
            1 => MetaVersion::V1,
            found => {
                return Err(BadCheckpoint::Version {
                    found: found.into(),
                    readable: "0 and 1",
                });
            }
        };
        let id_key = version.id_key();
        let broker_id = get(id_key).map(|value| number(id_key, value)).transpose()?;
        let cluster_id = get("cluster.id").map(str::to_owned);
        if version == MetaVersion::V1 {
            broker_id.ok_or(BadCheckpoint::Missing("node.id"))?;
            cluster_id.as_ref().ok_or(BadCheckpoint::Missing("cluster.id"))?;
        }
        Ok(Self {
            version,
            broker_id,
            cluster_id,
            directory_id: get("directory.id").map(directory_id).transpose()?,
        })
    }

    /// The whole file, keys in the order in which Java happens to write them.
    pub fn write(&self) -> Bytes {
        let version = match self.version {
            MetaVersion::V0 => "0",
            MetaVersion::V1 => "1",
        };
        let pairs = [
            (self.version.id_key(), self.broker_id.map(|id| id.to_string())),
            ("directory.id", self.directory_id.map(|id| id.to_string())),
            ("version", Some(version.to_owned())),
            ("cluster.id", self.cluster_id.as_deref().map(escape)),
        ];
        let lines = pairs.into_iter();
        let lines = lines.filter_map(|(key, value)| value.map(|value| format!("{key}={value}\n")));
        lines.collect::<String>().into()
    }
}

impl MetaVersion {
    fn id_key(self) -> &'static str {
        match self {
            MetaVersion::V0 => "broker.id",
            MetaVersion::V1 => "node.id",
        }
    }
}

fn number(key: &'static str, value: &str) -> Result<i32, BadCheckpoint> {
    let number = value.trim().parse().ok().filter(|number| *number >= 0);
    number.ok_or_else(|| BadCheckpoint::Value {
        key,
        value: value.to_owned(),
        expected: "a number from 0",
    })
}

fn directory_id(value: &str) -> Result<Uuid, BadCheckpoint> {
    Uuid::parse(value).ok_or_else(|| BadCheckpoint::Value {
        key: "directory.id",
        value: value.to_owned(),
        expected: "22 characters of base64",
    })
}

/// Keys and values, unescaped, in the order of the file.
fn properties(text: &str) -> Result<Vec<(String, String)>, BadCheckpoint> {
    let mut pairs = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let line = line.trim_start();
        if line.is_empty() || line.starts_with(['#', '!']) {
            continue;
        }
        let (key, value) = line.split_once(['=', ':']).ok_or(BadCheckpoint::Line {
            line: at + 1,
            text: line.to_owned(),
            expected: "KEY=VALUE",
        })?;
        pairs.push((key.trim_end().to_owned(), unescape(value.trim_start())));
    }
    Ok(pairs)
}

fn unescape(value: &str) -> String {
    let mut taken = String::with_capacity(value.len());
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        taken.extend(if c == '\\' { chars.next() } else { Some(c) });
    }
    taken
}

fn escape(value: &str) -> String {
    let mut escaped = String::with_capacity(value.len());
    for c in value.chars() {
        if matches!(c, '\\' | '=' | ':' | '#' | '!') {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    const KRAFT: &str = include_str!("../../../../tests/fixtures/meta.properties");

    fn without_comments(text: &str) -> String {
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        lines.map(|line| format!("{line}\n")).collect()
    }

    #[test]
    fn kafkas_version_1_reads_and_writes_back_to_the_same_lines() {
        let read = MetaProperties::read(KRAFT.as_bytes()).unwrap();
        assert_eq!(read.version, MetaVersion::V1);
        assert_eq!(read.broker_id, Some(1));
        assert_eq!(read.cluster_id.as_deref(), Some("AAAAAAAAQACAAAAAAAAAAQ"));
        assert_eq!(read.directory_id.unwrap().to_string(), "pvYZDJxpnTTaix8sD-jtSA");
        assert_eq!(read.write()[..], *without_comments(KRAFT).as_bytes());
    }

    #[test]
    fn version_0_holds_a_broker_id_and_lets_the_rest_be_missing() {
        let file = "#\n#Thu Jan 01 00:00:00 UTC 1970\nbroker.id=3\nversion=0\ncluster.id=a\\=b\n";
        let read = MetaProperties::read(file.as_bytes()).unwrap();
        assert_eq!(read.version, MetaVersion::V0);
        assert_eq!(read.broker_id, Some(3));
        assert_eq!(read.cluster_id.as_deref(), Some("a=b"));
        assert_eq!(read.directory_id, None);
        assert_eq!(read.write()[..], *without_comments(file).as_bytes());
        let bare = MetaProperties::read(b"version = 0\n").unwrap();
        assert_eq!((bare.broker_id, bare.cluster_id), (None, None));
    }

    #[test]
    fn garbage_is_refused() {
        for (file, told) in [
            ("version=2\n", "has version 2, this broker reads 0 and 1"),
            ("version=x\n", "has version=\"x\", expected a number from 0"),
            ("broker.id=-1\n", "has broker.id=\"-1\", expected a number from 0"),
            ("version=1\nnode.id=1\n", "lacks cluster.id"),
            ("version=1\ncluster.id=c\n", "lacks node.id"),
            (
                "version=0\ndirectory.id=?\n",
                "has directory.id=\"?\", expected 22 characters of base64",
            ),
            (
                "version=0\n\0\0\0\n",
                "line 2 is \"\\0\\0\\0\", expected KEY=VALUE",
            ),
        ] {
            assert_eq!(
                MetaProperties::read(file.as_bytes()).unwrap_err().to_string(),
                told
            );
        }
    }
}
