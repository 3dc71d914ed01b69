//! Records of `__consumer_offsets` and `__transaction_state` as JSON, as Kafka's dump tool shows them
//! under `--offsets-decoder` and `--transaction-log-decoder`, and its console consumer by its formatters.
//!
//! Both topics hold messages of the coordinators: a key of (type, fields), a value of (version,
//! fields). What fields there are is a table for each type ([`group`], [`transaction`]); one
//! interpreter ([`schema`]) reads any of them. Groups of kinds this broker does not have (share,
//! streams) are not in the tables and are skipped, as unknown types are.

mod group;
mod schema;
mod transaction;

use crate::record::record::Record;
use schema::{Bad, Schema, Style, to_json};

/// How keys and values are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Decoder {
    /// As UTF-8 text.
    #[default]
    Text,
    /// `--offsets-decoder`
    Offsets,
    /// `--transaction-log-decoder`
    TransactionLog,
}

/// One type of message in such a topic.
struct MessageType {
    /// The first two bytes of the key.
    number: i16,
    key: &'static Schema,
    value: &'static Schema,
}

/// A record's key and value as they are printed.
pub(super) struct Decoded {
    pub key: Option<String>,
    pub value: Option<String>,
}

impl Decoder {
    /// `None`: the record has no key, which such a topic cannot hold.
    pub(super) fn decode(self, record: &Record) -> Option<Decoded> {
        let types = match self {
            Decoder::Text => {
                let text = |bytes: &bytes::Bytes| String::from_utf8_lossy(bytes).into_owned();
                return Some(Decoded {
                    key: record.key.as_ref().map(text),
                    value: record.value.as_ref().map(text),
                });
            }
            Decoder::Offsets => group::TYPES,
            Decoder::TransactionLog => transaction::TYPES,
        };
        let key = record.key.as_deref()?;
        let only = |text: String| Decoded {
            key: Some(text),
            value: None,
        };
        let offset = record.offset;
        Some(match message(types, key, record.value.as_deref()) {
            Ok(decoded) => decoded,
            Err(Bad::UnknownType(number)) => only(format!(
                "Unknown record type {number} at offset {offset}, skipping."
            )),
            Err(why) => only(format!("Error at offset {offset}, skipping. {why}")),
        })
    }

    /// The record as the formatters of Kafka's console consumer show it, if it is of one of these types;
    /// `None` for another, and for one that nobody knows. The error says what is wrong with the bytes.
    pub fn console_json(
        self,
        key: &[u8],
        value: Option<&[u8]>,
        shown: &[i16],
    ) -> Result<Option<String>, String> {
        let types = match self {
            Decoder::Text => return Ok(None),
            Decoder::Offsets => group::TYPES,
            Decoder::TransactionLog => transaction::TYPES,
        };
        let read = match read(types, Style::Console, key, value) {
            Ok(read) => read,
            Err(Bad::UnknownType(_)) => return Ok(None),
            Err(why) => return Err(why.to_string()),
        };
        if !shown.contains(&read.number) {
            return Ok(None);
        }
        let value = match read.value {
            None => "null".to_owned(),
            Some((version, data)) => format!(r#"{{"version":{version},"data":{data}}}"#),
        };
        let (number, key) = (read.number, read.key);
        Ok(Some(format!(
            r#"{{"key":{{"type":{number},"data":{key}}},"value":{value}}}"#
        )))
    }
}

/// The parts of a message as JSON.
struct Read {
    number: i16,
    key: String,
    value: Option<(i16, String)>,
}

fn read(types: &[MessageType], style: Style, key: &[u8], value: Option<&[u8]>) -> Result<Read, Bad> {
    let (number, key) = versioned(key)?;
    let found = types
        .iter()
        .find(|known| known.number == number)
        .ok_or(Bad::UnknownType(number))?;
    let key = to_json(found.key, style, 0, key)?;
    let value = value
        .map(|value| {
            let (version, fields) = versioned(value)?;
            Ok((version, to_json(found.value, style, version, fields)?))
        })
        .transpose()?;
    Ok(Read { number, key, value })
}

fn message(types: &[MessageType], key: &[u8], value: Option<&[u8]>) -> Result<Decoded, Bad> {
    let Read { number, key, value } = read(types, Style::Dump, key, value)?;
    let value = match value {
        None => "<DELETE>".to_owned(),
        Some((version, data)) => format!(r#"{{"version":"{version}","data":{data}}}"#),
    };
    Ok(Decoded {
        key: Some(format!(r#"{{"type":"{number}","data":{key}}}"#)),
        value: Some(value),
    })
}

fn versioned(bytes: &[u8]) -> Result<(i16, &[u8]), Bad> {
    let (version, rest) = bytes.split_first_chunk::<2>().ok_or(Bad::Truncated)?;
    Ok((i16::from_be_bytes(*version), rest))
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn decode(decoder: Decoder, key: Option<&'static [u8]>, value: Option<&'static [u8]>) -> Option<Decoded> {
        decoder.decode(&Record {
            offset: 7,
            timestamp: 0,
            key: key.map(Bytes::from_static),
            value: value.map(Bytes::from_static),
            headers: Vec::new(),
        })
    }

    #[test]
    fn what_cannot_be_read_is_skipped_by_name() {
        let key = |bytes| decode(Decoder::Offsets, Some(bytes), None).unwrap().key.unwrap();
        assert_eq!(key(b"\x00\x63"), "Unknown record type 99 at offset 7, skipping.");
        assert!(key(b"\x00").starts_with("Error at offset 7, skipping. "));
        // A group name said to be longer than the key.
        assert!(key(b"\x00\x02\x7f\xff").starts_with("Error at offset 7, skipping. "));
        assert_eq!(key(b"\x00\x02\x00\x01g"), r#"{"type":"2","data":{"group":"g"}}"#);
        assert!(decode(Decoder::Offsets, None, None).is_none());
    }

    #[test]
    fn the_console_shows_plain_json_of_the_types_that_are_wanted() {
        let shown = |key: &[u8], value, types: &[i16]| Decoder::Offsets.console_json(key, value, types);
        let group = b"\x00\x02\x00\x01g";
        let deleted = r#"{"key":{"type":2,"data":{"group":"g"}},"value":null}"#;
        assert_eq!(shown(group, None, &[2]), Ok(Some(deleted.to_owned())));
        assert_eq!(shown(group, None, &[1]), Ok(None));
        assert_eq!(shown(b"\x00\x63", None, &[99]), Ok(None));
        assert!(shown(b"\x00\x02\x7f\xff", None, &[2]).is_err());
        // A transaction's state is a number here, not a name.
        let mut value = vec![0, 0];
        value.extend_from_slice(&[0; 8 + 2 + 4]);
        value.push(5);
        value.extend_from_slice(&[0; 4 + 8 + 8]);
        let json = Decoder::TransactionLog.console_json(b"\x00\x00\x00\x01t", Some(&value), &[0]);
        assert!(
            json.as_ref().is_ok_and(|json| json
                .as_ref()
                .is_some_and(|json| json.contains(r#""transactionStatus":5,"#))),
            "{json:?}"
        );
    }

    #[test]
    fn counts_are_checked_against_the_bytes() {
        // A transaction log value, version 1, that claims 2^28 partitions.
        let mut value = vec![0, 1];
        value.extend_from_slice(&[0; 8 + 2 + 4 + 1]);
        value.extend_from_slice(&[0xff, 0xff, 0xff, 0x7f]);
        let value: &'static [u8] = value.leak();
        let decoded = decode(Decoder::TransactionLog, Some(b"\x00\x00\x00\x01t"), Some(value));
        assert!(decoded.unwrap().key.unwrap().starts_with("Error at offset 7"));
    }
}
