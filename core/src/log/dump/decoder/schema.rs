//! Reads a message of Kafka's generated protocol by a table of its fields, and writes it as JSON in
//! the order and with the omissions of Kafka's generated converters.
//!
//! Integers are big-endian. Before its first *flexible* version a message has lengths of 2 or 4
//! bytes, from it on lengths are unsigned varints plus one (0 is null), and optional fields follow in
//! a *tagged* section; a tagged field that has its default value is not shown.

use thiserror::Error;

use crate::types::Uuid;

/// A message or a structure within one.
pub(super) struct Schema {
    /// `i16::MAX`: never.
    pub flexible_since: i16,
    pub last_version: i16,
    pub fields: &'static [Field],
}

pub(super) struct Field {
    pub name: &'static str,
    pub kind: Kind,
    /// Versions that have the field.
    pub versions: std::ops::RangeInclusive<i16>,
    /// Its tag, and its default value as it would be shown.
    pub tag: Option<(u32, &'static str)>,
}

pub(super) enum Kind {
    Int8,
    Int16,
    Int32,
    Int64,
    Text,
    Bytes,
    Uuid,
    Struct(&'static Schema),
    Array(&'static Kind),
    /// A byte that stands for one of these names.
    Name(&'static [&'static str]),
    /// Bytes that hold a message of their own, with its version in front, when the group's protocol
    /// type is `consumer`.
    ConsumerProtocol(&'static Schema),
}

/// Any version from `since` on.
pub(super) const fn field(name: &'static str, kind: Kind, since: i16) -> Field {
    Field {
        name,
        kind,
        versions: since..=i16::MAX,
        tag: None,
    }
}

pub(super) const fn tagged(
    name: &'static str,
    kind: Kind,
    since: i16,
    tag: u32,
    default: &'static str,
) -> Field {
    Field {
        name,
        kind,
        versions: since..=i16::MAX,
        tag: Some((tag, default)),
    }
}

/// Why a message could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(super) enum Bad {
    #[error("unknown type {0}")]
    UnknownType(i16),
    #[error("unknown version {0}")]
    UnknownVersion(i16),
    #[error("it ends early")]
    Truncated,
    #[error("a length or count of {0} is out of range")]
    Length(i64),
}

/// Whose JSON it shall be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    /// The dump tool's: names for numbers that have some, messages within messages opened.
    Dump,
    /// The generated converters' own, as the console consumer's formatters use them.
    Console,
}

/// The message's fields as JSON.
pub(super) fn to_json(schema: &Schema, style: Style, version: i16, bytes: &[u8]) -> Result<String, Bad> {
    if !(0..=schema.last_version).contains(&version) {
        return Err(Bad::UnknownVersion(version));
    }
    let mut reader = Reader {
        rest: bytes,
        style,
        version,
        flexible: version >= schema.flexible_since,
        consumer_protocol: false,
    };
    reader.structure(schema)
}

struct Reader<'a> {
    rest: &'a [u8],
    style: Style,
    version: i16,
    flexible: bool,
    /// The protocol type, read before the members, was `consumer`.
    consumer_protocol: bool,
}

impl<'a> Reader<'a> {
    fn structure(&mut self, schema: &Schema) -> Result<String, Bad> {
        let mut shown: Vec<Option<String>> = Vec::with_capacity(schema.fields.len());
        for field in schema.fields {
            let here = field.tag.is_none() && field.versions.contains(&self.version);
            shown.push(if here {
                Some(self.value(&field.kind)?)
            } else {
                None
            });
            if field.name == "protocolType" {
                let is_consumer = shown.last() == Some(&Some("\"consumer\"".into()));
                self.consumer_protocol = is_consumer && self.style == Style::Dump;
            }
        }
        if self.flexible {
            self.tagged_section(schema, &mut shown)?;
        }
        let members: Vec<String> = schema
            .fields
            .iter()
            .zip(shown)
            .filter_map(|(field, json)| Some(format!("\"{}\":{}", field.name, json?)))
            .collect();
        Ok(format!("{{{}}}", members.join(",")))
    }

    fn tagged_section(&mut self, schema: &Schema, shown: &mut [Option<String>]) -> Result<(), Bad> {
        for _ in 0..self.unsigned_varint()? {
            let tag = self.unsigned_varint()?;
            let length = self.unsigned_varint()? as usize;
            let bytes = self.take(length)?;
            let known = schema.fields.iter().zip(shown.iter_mut());
            for (field, shown) in known {
                let Some((number, default)) = field.tag else {
                    continue;
                };
                if number == tag {
                    let rest = std::mem::replace(&mut self.rest, bytes);
                    let json = self.value(&field.kind)?;
                    self.rest = rest;
                    *shown = (json != default).then_some(json);
                }
            }
        }
        Ok(())
    }

    fn value(&mut self, kind: &Kind) -> Result<String, Bad> {
        let null = || Ok("null".to_owned());
        Ok(match kind {
            Kind::Int8 => i8::from_be_bytes(self.array()?).to_string(),
            Kind::Int16 => i16::from_be_bytes(self.array()?).to_string(),
            Kind::Int32 => i32::from_be_bytes(self.array()?).to_string(),
            Kind::Int64 => i64::from_be_bytes(self.array()?).to_string(),
            Kind::Uuid => format!("\"{}\"", Uuid(self.array()?)),
            Kind::Name(names) => {
                let [number] = self.array()?;
                match names.get(usize::from(number)) {
                    Some(name) if self.style == Style::Dump => format!("\"{name}\""),
                    _ => (number as i8).to_string(),
                }
            }
            Kind::Text => match self.length(Width::Short)? {
                None => return null(),
                Some(length) => json_text(&String::from_utf8_lossy(self.take(length)?)),
            },
            Kind::Bytes => match self.length(Width::Long)? {
                None => return null(),
                Some(length) => json_bytes(self.take(length)?),
            },
            Kind::ConsumerProtocol(schema) => match self.length(Width::Long)? {
                None => return null(),
                Some(length) => {
                    let bytes = self.take(length)?;
                    let opened = match bytes.split_first_chunk::<2>() {
                        Some((version, rest)) if self.consumer_protocol => {
                            to_json(schema, self.style, i16::from_be_bytes(*version), rest).ok()
                        }
                        _ => None,
                    };
                    opened.unwrap_or_else(|| json_bytes(bytes))
                }
            },
            // Only tagged structures stand alone in these messages: 0 is null.
            Kind::Struct(schema) => match self.unsigned_varint()? {
                0 => return null(),
                _ => self.structure(schema)?,
            },
            Kind::Array(element) => match self.length(Width::Long)? {
                None => return null(),
                Some(count) => self.elements(element, count)?,
            },
        })
    }

    fn elements(&mut self, element: &Kind, count: usize) -> Result<String, Bad> {
        // Every element has a byte at least.
        if count > self.rest.len() {
            return Err(Bad::Length(count as i64));
        }
        let mut elements = Vec::new();
        for _ in 0..count {
            elements.push(match element {
                Kind::Struct(schema) => self.structure(schema)?,
                other => self.value(other)?,
            });
        }
        Ok(format!("[{}]", elements.join(",")))
    }

    /// `None`: null.
    fn length(&mut self, width: Width) -> Result<Option<usize>, Bad> {
        let length = match (self.flexible, width) {
            (true, _) => i64::from(self.unsigned_varint()?) - 1,
            (false, Width::Short) => i64::from(i16::from_be_bytes(self.array()?)),
            (false, Width::Long) => i64::from(i32::from_be_bytes(self.array()?)),
        };
        match length {
            -1 => Ok(None),
            _ => usize::try_from(length).map(Some).map_err(|_| Bad::Length(length)),
        }
    }

    fn unsigned_varint(&mut self) -> Result<u32, Bad> {
        let mut value = 0u32;
        for shift in (0..35).step_by(7) {
            let [byte] = self.array()?;
            value |= u32::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Bad::Length(i64::from(value)))
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Bad> {
        let (taken, rest) = self.rest.split_first_chunk().ok_or(Bad::Truncated)?;
        self.rest = rest;
        Ok(*taken)
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], Bad> {
        let (taken, rest) = self.rest.split_at_checked(length).ok_or(Bad::Truncated)?;
        self.rest = rest;
        Ok(taken)
    }
}

/// Of a length before flexible versions: 2 bytes for text, 4 for the rest.
#[derive(Clone, Copy)]
enum Width {
    Short,
    Long,
}

fn json_text(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Base64, as JSON has no bytes.
fn json_bytes(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::from("\"");
    for chunk in bytes.chunks(3) {
        let mut word = [0; 4];
        word[1..=chunk.len()].copy_from_slice(chunk);
        let word = u32::from_be_bytes(word);
        for i in 0..4 {
            let digit = DIGITS[(word >> (18 - 6 * i)) as usize & 63] as char;
            text.push(if i <= chunk.len() { digit } else { '=' });
        }
    }
    text.push('"');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_become_base64() {
        for (bytes, text) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v")] {
            assert_eq!(json_bytes(bytes.as_bytes()), format!("\"{text}\""));
        }
    }
}
