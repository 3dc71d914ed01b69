//! From what an application means to bytes: the serializers of keys and of values (Kafka's
//! `org.apache.kafka.common.serialization`).
//!
//! What is handed over is [`Data`]; a serializer takes one kind of it, and anything else is an error
//! of that record alone. Null stays null with each of them: it is a tombstone, not a text.

use std::fmt;

use bytes::Bytes;

/// A key or a value as an application means it.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Data {
    #[default]
    Null,
    Bytes(Bytes),
    Text(String),
    Integer(i32),
    Long(i64),
    Json(serde_json::Value),
}

impl Data {
    /// Whatever serde can describe, to be sent as JSON.
    pub fn json(value: &impl serde::Serialize) -> Result<Self, serde_json::Error> {
        serde_json::to_value(value).map(Self::Json)
    }

    fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bytes(_) => "bytes",
            Self::Text(_) => "text",
            Self::Integer(_) => "integer",
            Self::Long(_) => "long",
            Self::Json(_) => "JSON",
        }
    }
}

impl From<&str> for Data {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Data {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<Bytes> for Data {
    fn from(bytes: Bytes) -> Self {
        Self::Bytes(bytes)
    }
}

impl From<i32> for Data {
    fn from(number: i32) -> Self {
        Self::Integer(number)
    }
}

impl From<i64> for Data {
    fn from(number: i64) -> Self {
        Self::Long(number)
    }
}

/// Makes bytes of data; a custom one may bring a state that can be copied.
pub trait Serializer: fmt::Debug + Send + Sync {
    /// For people.
    fn name(&self) -> &str;

    /// The bytes, or null. The error is one line.
    fn serialize(&mut self, topic: &str, data: &Data) -> Result<Option<Bytes>, String>;

    /// A world is copied with all that is in it.
    fn boxed_clone(&self) -> Box<dyn Serializer>;
}

impl Clone for Box<dyn Serializer> {
    fn clone(&self) -> Self {
        self.boxed_clone()
    }
}

/// The serializers that come along.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BuiltIn {
    /// Bytes as they are (`ByteArraySerializer`).
    ByteArray,
    /// UTF-8 (`StringSerializer`).
    String,
    /// Four bytes, the highest first (`IntegerSerializer`).
    Integer,
    /// Eight bytes, the highest first (`LongSerializer`).
    Long,
    /// JSON without blanks; a text or a number is JSON too.
    Json,
}

impl Serializer for BuiltIn {
    fn name(&self) -> &str {
        match self {
            Self::ByteArray => "ByteArraySerializer",
            Self::String => "StringSerializer",
            Self::Integer => "IntegerSerializer",
            Self::Long => "LongSerializer",
            Self::Json => "JsonSerializer",
        }
    }

    fn serialize(&mut self, _topic: &str, data: &Data) -> Result<Option<Bytes>, String> {
        let json = |value: &serde_json::Value| Ok(Some(value.to_string().into()));
        match (*self, data) {
            (_, Data::Null) => Ok(None),
            (Self::ByteArray, Data::Bytes(bytes)) => Ok(Some(bytes.clone())),
            (Self::String, Data::Text(text)) => Ok(Some(Bytes::copy_from_slice(text.as_bytes()))),
            (Self::Integer, Data::Integer(number)) => Ok(Some(number.to_be_bytes().to_vec().into())),
            (Self::Long, Data::Long(number)) => Ok(Some(number.to_be_bytes().to_vec().into())),
            (Self::Json, Data::Json(value)) => json(value),
            (Self::Json, Data::Text(text)) => json(&text.as_str().into()),
            (Self::Json, Data::Integer(number)) => json(&(*number).into()),
            (Self::Json, Data::Long(number)) => json(&(*number).into()),
            _ => Err(format!("{} takes no {}", self.name(), data.kind())),
        }
    }

    fn boxed_clone(&self) -> Box<dyn Serializer> {
        Box::new(*self)
    }
}

/// A serializer by Kafka's name, with or without its package.
pub fn by_name(name: &str) -> Option<Box<dyn Serializer>> {
    let all = [
        BuiltIn::ByteArray,
        BuiltIn::String,
        BuiltIn::Integer,
        BuiltIn::Long,
        BuiltIn::Json,
    ];
    let short = name
        .strip_prefix("org.apache.kafka.common.serialization.")
        .unwrap_or(name);
    let found = all.into_iter().find(|built_in| built_in.name() == short)?;
    Some(Box::new(found))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_takes_its_kind_and_null_and_nothing_else() {
        let data = [
            Data::Bytes(Bytes::from_static(b"\xff\x00")),
            Data::from("h\u{e9}"),
            Data::from(-2),
            Data::from(1i64 << 40),
        ];
        let expected: [(&str, [Option<&[u8]>; 4]); 4] = [
            ("ByteArraySerializer", [Some(b"\xff\x00"), None, None, None]),
            ("StringSerializer", [None, Some("h\u{e9}".as_bytes()), None, None]),
            ("IntegerSerializer", [None, None, Some(b"\xff\xff\xff\xfe"), None]),
            (
                "LongSerializer",
                [None, None, None, Some(&[0, 0, 1, 0, 0, 0, 0, 0])],
            ),
        ];
        for (name, row) in expected {
            let mut serializer = by_name(name).unwrap();
            assert_eq!(serializer.serialize("t", &Data::Null), Ok(None));
            for (data, bytes) in data.iter().zip(row) {
                let made = serializer.serialize("t", data);
                assert_eq!(made.ok().flatten().as_deref(), bytes, "{name} of {data:?}");
            }
        }
        let error = BuiltIn::Integer.serialize("t", &"x".into()).unwrap_err();
        assert_eq!(error, "IntegerSerializer takes no text");
    }

    #[test]
    fn json_is_whatever_serde_describes() {
        #[derive(serde::Serialize)]
        struct Order {
            id: u32,
            paid: bool,
        }
        let data = Data::json(&Order { id: 7, paid: true }).unwrap();
        let mut serializer = by_name("JsonSerializer").unwrap();
        let bytes = serializer.serialize("t", &data).unwrap().unwrap();
        assert_eq!(&bytes[..], br#"{"id":7,"paid":true}"#);
        assert_eq!(
            serializer.serialize("t", &"x".into()),
            Ok(Some(Bytes::from_static(b"\"x\"")))
        );
        assert!(serializer.serialize("t", &Data::Bytes(Bytes::new())).is_err());
    }

    #[test]
    fn names_are_kafkas() {
        let long = "org.apache.kafka.common.serialization.StringSerializer";
        assert_eq!(by_name(long).unwrap().name(), "StringSerializer");
        assert!(by_name("no.such.Serializer").is_none());
    }
}
