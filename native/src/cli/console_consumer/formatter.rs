//! How records are printed: Kafka's message formatters (`org.apache.kafka.tools.consumer`).

use std::io::{self, Write};

use bytes::Bytes;
use highwater_core::config::Settings;
use highwater_core::consumer::ConsumerRecord;
use highwater_core::log::dump::Decoder;
use highwater_core::record::TimestampType;

use super::deserializer::Deserializer;
use crate::cli::Failure;
use crate::output::complain;

/// The class that prints text.
pub const DEFAULT: &str = "org.apache.kafka.tools.consumer.DefaultMessageFormatter";
const PACKAGE: &str = "org.apache.kafka.tools.consumer.";

/// Types of records in `__consumer_offsets` and `__transaction_state`.
const OFFSET_COMMIT: &[i16] = &[0, 1];
const GROUP_METADATA: &[i16] = &[2];
const TRANSACTION_LOG: &[i16] = &[0];

/// One of Kafka's formatters.
#[derive(Debug)]
pub enum Formatter {
    Text(Box<TextFormatter>),
    /// Text, and once more as a line of a log.
    Logging(Box<TextFormatter>),
    Nothing,
    /// The state of a coordinator as JSON: records of these types.
    Coordinator(Decoder, &'static [i16]),
}

impl Formatter {
    /// The formatter of this class, with these settings.
    pub fn new(class: &str, settings: &Settings) -> Result<Self, Failure> {
        let text = || TextFormatter::new(settings).map(Box::new);
        Ok(match class.strip_prefix(PACKAGE) {
            Some("DefaultMessageFormatter") => Self::Text(text()?),
            Some("LoggingMessageFormatter") => Self::Logging(text()?),
            Some("NoOpMessageFormatter") => Self::Nothing,
            Some("OffsetsMessageFormatter") => Self::Coordinator(Decoder::Offsets, OFFSET_COMMIT),
            Some("GroupMetadataMessageFormatter") => Self::Coordinator(Decoder::Offsets, GROUP_METADATA),
            Some("TransactionLogMessageFormatter") => {
                Self::Coordinator(Decoder::TransactionLog, TRANSACTION_LOG)
            }
            _ => {
                return Err(format!(
                    "--formatter {class}: not known here; it is one of {PACKAGE}DefaultMessageFormatter, \
                     LoggingMessageFormatter, NoOpMessageFormatter, OffsetsMessageFormatter, \
                     GroupMetadataMessageFormatter and TransactionLogMessageFormatter"
                )
                .into());
            }
        })
    }

    /// Writes a record. When that fails, what came before the fault is written.
    pub fn write(&self, record: &ConsumerRecord, out: &mut Vec<u8>) -> Result<(), String> {
        match self {
            Self::Text(text) => text.write(record, out),
            Self::Logging(text) => {
                text.write(record, out)?;
                complain!("{}", logged(record));
                Ok(())
            }
            Self::Nothing => Ok(()),
            Self::Coordinator(decoder, shown) => {
                let Some(key) = &record.key else {
                    return Ok(());
                };
                let json = decoder.console_json(key, record.value.as_deref(), shown)?;
                out.extend(json.unwrap_or_default().into_bytes());
                Ok(())
            }
        }
    }
}

/// The record as Kafka logs it.
fn logged(record: &ConsumerRecord) -> String {
    let text = |bytes: &Bytes| String::from_utf8_lossy(bytes).into_owned();
    let time = format!("{}:{}", time_name(record.timestamp_type), record.timestamp);
    let key = record.key.as_ref();
    let key = key.map_or_else(|| "null ".to_owned(), |key| text(key) + ", ");
    let value = record.value.as_ref().map_or_else(|| "null".to_owned(), text);
    format!("{time}, key:{key}value:{value}")
}

fn time_name(kind: TimestampType) -> &'static str {
    match kind {
        TimestampType::CreateTime => "CreateTime",
        TimestampType::LogAppendTime => "LogAppendTime",
    }
}

/// Fields of a record with separators between them.
#[derive(Debug)]
pub struct TextFormatter {
    timestamp: bool,
    partition: bool,
    offset: bool,
    delivery: bool,
    epoch: bool,
    headers: bool,
    key: bool,
    value: bool,
    key_separator: Vec<u8>,
    line_separator: Vec<u8>,
    headers_separator: Vec<u8>,
    null_literal: Vec<u8>,
    key_deserializer: Option<Deserializer>,
    value_deserializer: Option<Deserializer>,
    headers_deserializer: Option<Deserializer>,
}

impl TextFormatter {
    fn new(settings: &Settings) -> Result<Self, Failure> {
        let flag = |key: &str, otherwise: bool| match settings.get(key) {
            Some(text) => text.trim().eq_ignore_ascii_case("true"),
            None => otherwise,
        };
        let bytes = |key: &str, otherwise: &str| {
            let text = settings.get(key).map_or(otherwise, String::as_str);
            text.as_bytes().to_vec()
        };
        let deserializer = |key: &str| {
            let class = settings.get(key);
            class.map(|class| Deserializer::new(key, class)).transpose()
        };
        Ok(Self {
            timestamp: flag("print.timestamp", false),
            partition: flag("print.partition", false),
            offset: flag("print.offset", false),
            delivery: flag("print.delivery", false),
            epoch: flag("print.epoch", false),
            headers: flag("print.headers", false),
            key: flag("print.key", false),
            value: flag("print.value", true),
            key_separator: bytes("key.separator", "\t"),
            line_separator: bytes("line.separator", "\n"),
            headers_separator: bytes("headers.separator", ","),
            null_literal: bytes("null.literal", "null"),
            key_deserializer: deserializer("key.deserializer")?,
            value_deserializer: deserializer("value.deserializer")?,
            headers_deserializer: deserializer("headers.deserializer")?,
        })
    }

    fn write(&self, record: &ConsumerRecord, out: &mut Vec<u8>) -> Result<(), String> {
        let mut is_first = true;
        let mut separate = |out: &mut Vec<u8>| {
            if !std::mem::take(&mut is_first) {
                out.extend(&self.key_separator);
            }
        };
        let unwritable = |error: io::Error| error.to_string();
        if self.timestamp {
            separate(out);
            write!(out, "{}:{}", time_name(record.timestamp_type), record.timestamp).map_err(unwritable)?;
        }
        if self.partition {
            separate(out);
            write!(out, "Partition:{}", record.partition.partition).map_err(unwritable)?;
        }
        if self.offset {
            separate(out);
            write!(out, "Offset:{}", record.offset).map_err(unwritable)?;
        }
        if self.delivery {
            // Only share groups count deliveries.
            separate(out);
            out.extend(b"Delivery:NOT_PRESENT");
        }
        if self.epoch {
            separate(out);
            match record.leader_epoch {
                Some(epoch) => write!(out, "Epoch:{epoch}").map_err(unwritable)?,
                None => out.extend(b"Epoch:NOT_PRESENT"),
            }
        }
        if self.headers {
            separate(out);
            self.write_headers(record, out)?;
        }
        if self.key {
            separate(out);
            self.write_bytes(self.key_deserializer, record.key.as_deref(), out)?;
        }
        if self.value {
            separate(out);
            self.write_bytes(self.value_deserializer, record.value.as_deref(), out)?;
        }
        if !is_first {
            out.extend(&self.line_separator);
        }
        Ok(())
    }

    fn write_headers(&self, record: &ConsumerRecord, out: &mut Vec<u8>) -> Result<(), String> {
        if record.headers.is_empty() {
            out.extend(b"NO_HEADERS");
            return Ok(());
        }
        for (at, header) in record.headers.iter().enumerate() {
            if at > 0 {
                out.extend(&self.headers_separator);
            }
            out.extend(String::from_utf8_lossy(&header.key).as_bytes());
            out.push(b':');
            self.write_bytes(self.headers_deserializer, header.value.as_deref(), out)?;
        }
        Ok(())
    }

    /// What stands for null goes through the deserializer, too, as in Kafka.
    fn write_bytes(
        &self,
        deserializer: Option<Deserializer>,
        bytes: Option<&[u8]>,
        out: &mut Vec<u8>,
    ) -> Result<(), String> {
        let bytes = bytes.unwrap_or(&self.null_literal);
        match deserializer {
            None => out.extend(bytes),
            Some(deserializer) => out.extend(deserializer.read(bytes)?.into_bytes()),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use highwater_core::record::Header;
    use highwater_core::types::TopicPartition;

    use super::*;

    fn record(
        key: Option<&'static str>,
        value: Option<&'static str>,
        headers: &[(&'static str, Option<&'static str>)],
    ) -> ConsumerRecord {
        let bytes = |text: &'static str| Bytes::from_static(text.as_bytes());
        ConsumerRecord {
            partition: TopicPartition::new("t", 2),
            offset: 7,
            leader_epoch: Some(3),
            timestamp: 1_700_000_000_000,
            timestamp_type: TimestampType::CreateTime,
            key: key.map(bytes),
            value: value.map(bytes),
            headers: headers
                .iter()
                .map(|(key, value)| Header {
                    key: bytes(key),
                    value: value.map(bytes),
                })
                .collect(),
        }
    }

    fn printed(settings: &[(&str, &str)], record: &ConsumerRecord) -> String {
        let settings = settings.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
        let formatter = Formatter::new(DEFAULT, &settings.collect()).unwrap();
        let mut out = Vec::new();
        formatter.write(record, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn by_default_values_are_printed_alone() {
        assert_eq!(printed(&[], &record(Some("k"), Some("v"), &[])), "v\n");
        assert_eq!(printed(&[], &record(None, None, &[])), "null\n");
        let none = [("print.value", "false")];
        assert_eq!(printed(&none, &record(Some("k"), Some("v"), &[])), "");
    }

    #[test]
    fn every_field_has_its_place() {
        let all = ["timestamp", "partition", "offset", "epoch", "headers", "key"]
            .map(|field| format!("print.{field}"));
        let mut settings: Vec<(&str, &str)> = all.iter().map(|key| (key.as_str(), " TRUE ")).collect();
        let full = record(Some("k"), None, &[("h", Some("1")), ("i", None)]);
        assert_eq!(
            printed(&settings, &full),
            "CreateTime:1700000000000\tPartition:2\tOffset:7\tEpoch:3\th:1,i:null\tk\tnull\n"
        );
        settings.extend([
            ("key.separator", "|"),
            ("line.separator", ";"),
            ("headers.separator", "&"),
            ("null.literal", "-"),
        ]);
        assert_eq!(
            printed(&settings, &full),
            "CreateTime:1700000000000|Partition:2|Offset:7|Epoch:3|h:1&i:-|k|-;"
        );
        assert!(printed(&settings, &record(None, None, &[])).contains("|NO_HEADERS|"));
    }

    #[test]
    fn deserializers_read_what_they_are_given() {
        let settings = [(
            "value.deserializer",
            "org.apache.kafka.common.serialization.IntegerDeserializer",
        )];
        assert_eq!(
            printed(&settings, &record(None, Some("\0\0\x01\0"), &[])),
            "256\n"
        );
        let settings = settings.map(|(k, v)| (k.to_owned(), v.to_owned())).into();
        let formatter = Formatter::new(DEFAULT, &settings).unwrap();
        let mut out = Vec::new();
        let error = formatter
            .write(&record(None, Some("one"), &[]), &mut out)
            .unwrap_err();
        assert_eq!(error, "Size of data received by IntegerDeserializer is not 4");
    }

    #[test]
    fn what_is_no_formatter_is_said() {
        for class in ["x.Y", "DefaultMessageFormatter"] {
            let line = Formatter::new(class, &Settings::new()).unwrap_err().to_string();
            assert!(
                line.starts_with(&format!("--formatter {class}: not known here")),
                "{line}"
            );
        }
        let settings = [("key.deserializer".to_owned(), "x.Y".to_owned())].into();
        let line = Formatter::new(DEFAULT, &settings).unwrap_err().to_string();
        assert!(line.starts_with("key.deserializer x.Y: not known here"), "{line}");
    }
}
