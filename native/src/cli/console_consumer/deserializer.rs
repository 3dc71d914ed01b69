//! From bytes to text: Kafka's deserializers (`org.apache.kafka.common.serialization`), and how Java
//! prints what they make.

use crate::cli::Failure;

const PACKAGE: &str = "org.apache.kafka.common.serialization.";

/// One of Kafka's deserializers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deserializer {
    Boolean,
    ByteArray,
    Bytes,
    Double,
    Float,
    Integer,
    Long,
    Short,
    String,
    Uuid,
}

const ALL: [(&str, Deserializer); 10] = [
    ("BooleanDeserializer", Deserializer::Boolean),
    ("ByteArrayDeserializer", Deserializer::ByteArray),
    ("BytesDeserializer", Deserializer::Bytes),
    ("DoubleDeserializer", Deserializer::Double),
    ("FloatDeserializer", Deserializer::Float),
    ("IntegerDeserializer", Deserializer::Integer),
    ("LongDeserializer", Deserializer::Long),
    ("ShortDeserializer", Deserializer::Short),
    ("StringDeserializer", Deserializer::String),
    ("UUIDDeserializer", Deserializer::Uuid),
];

impl Deserializer {
    /// The deserializer of this class, which the setting `key` names.
    pub fn new(key: &str, class: &str) -> Result<Self, Failure> {
        let name = class.strip_prefix(PACKAGE);
        let found = ALL.iter().find(|(known, _)| Some(*known) == name);
        found.map(|(_, found)| *found).ok_or_else(|| {
            let known: Vec<&str> = ALL.iter().map(|(name, _)| *name).collect();
            let known = known.join(", ");
            format!("{key} {class}: not known here; it is {PACKAGE} and one of {known}").into()
        })
    }

    fn name(self) -> &'static str {
        let found = ALL.iter().find(|(_, known)| *known == self);
        found.map_or("", |(name, _)| name)
    }

    /// The value as text. The error is one line.
    pub fn read(self, bytes: &[u8]) -> Result<String, String> {
        Ok(match self {
            Self::Boolean => match self.exactly::<1>(bytes)? {
                [0] => "false".to_owned(),
                [1] => "true".to_owned(),
                [other] => {
                    return Err(format!(
                        "Unexpected byte received by {}: {}",
                        self.name(),
                        other as i8
                    ));
                }
            },
            Self::ByteArray | Self::String => String::from_utf8_lossy(bytes).into_owned(),
            Self::Bytes => bytes.iter().map(|byte| shown(*byte)).collect(),
            Self::Double => java_float(f64::from_be_bytes(self.exactly(bytes)?)),
            Self::Float => {
                let number = f32::from_be_bytes(self.exactly(bytes)?);
                // By the digits of the shorter kind.
                number
                    .to_string()
                    .parse()
                    .map_or_else(|_| number.to_string(), java_float)
            }
            Self::Integer => i32::from_be_bytes(self.exactly(bytes)?).to_string(),
            Self::Long => i64::from_be_bytes(self.exactly(bytes)?).to_string(),
            Self::Short => i16::from_be_bytes(self.exactly(bytes)?).to_string(),
            Self::Uuid => {
                let text = String::from_utf8_lossy(bytes);
                uuid(&text).ok_or_else(|| format!("Invalid UUID string: {text}"))?
            }
        })
    }

    fn exactly<const N: usize>(self, bytes: &[u8]) -> Result<[u8; N], String> {
        let exact = bytes.try_into();
        exact.map_err(|_| format!("Size of data received by {} is not {N}", self.name()))
    }
}

/// A byte as Kafka's `Bytes` prints it.
fn shown(byte: u8) -> String {
    match byte {
        b' '..=b'~' if byte != b'\\' => char::from(byte).to_string(),
        _ => format!("\\x{byte:02X}"),
    }
}

/// `Double.toString`: plain from 0.001 up to ten millions, with an exponent outside.
fn java_float(number: f64) -> String {
    if number.is_nan() {
        return "NaN".to_owned();
    }
    if number.is_infinite() {
        let sign = if number < 0.0 { "-" } else { "" };
        return format!("{sign}Infinity");
    }
    if number == 0.0 || (1e-3..1e7).contains(&number.abs()) {
        let text = number.to_string();
        return if text.contains('.') { text } else { text + ".0" };
    }
    let text = format!("{number:e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let point = if digits.contains('.') { "" } else { ".0" };
    format!("{digits}{point}E{exponent}")
}

/// `UUID.fromString(...).toString()`: five numbers in hexadecimal, filled up with zeros.
fn uuid(text: &str) -> Option<String> {
    const DIGITS: [usize; 5] = [8, 4, 4, 4, 12];
    let parts: Vec<&str> = text.split('-').collect();
    if parts.len() != DIGITS.len() {
        return None;
    }
    let part = |(part, digits): (&&str, usize)| {
        let is_hex = !part.is_empty() && part.chars().all(|c| c.is_ascii_hexdigit());
        let short = is_hex && part.len() <= digits;
        short.then(|| format!("{:0>digits$}", part.to_lowercase()))
    };
    let parts: Option<Vec<String>> = parts.iter().zip(DIGITS).map(part).collect();
    Some(parts?.join("-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_printed_as_java_prints_them() {
        let cases: [(Deserializer, &[u8], &str); 14] = [
            (Deserializer::Integer, &[255, 255, 255, 254], "-2"),
            (Deserializer::Long, &[0, 0, 0, 0, 0, 0, 1, 0], "256"),
            (Deserializer::Short, &[1, 0], "256"),
            (Deserializer::Boolean, &[1], "true"),
            (Deserializer::String, b"a\xffb", "a\u{fffd}b"),
            (Deserializer::Bytes, b"a\\\x00\xff~", "a\\x5C\\x00\\xFF~"),
            (Deserializer::Double, &1.0f64.to_be_bytes(), "1.0"),
            (Deserializer::Double, &1e7f64.to_be_bytes(), "1.0E7"),
            (Deserializer::Double, &1.25e-5f64.to_be_bytes(), "1.25E-5"),
            (Deserializer::Double, &(-0.0f64).to_be_bytes(), "-0.0"),
            (
                Deserializer::Double,
                &f64::NEG_INFINITY.to_be_bytes(),
                "-Infinity",
            ),
            (Deserializer::Float, &0.1f32.to_be_bytes(), "0.1"),
            (Deserializer::Float, &3.4e38f32.to_be_bytes(), "3.4E38"),
            (
                Deserializer::Uuid,
                b"0A-b-c-d-E",
                "0000000a-000b-000c-000d-00000000000e",
            ),
        ];
        for (deserializer, bytes, text) in cases {
            assert_eq!(deserializer.read(bytes).as_deref(), Ok(text), "{deserializer:?}");
        }
    }

    #[test]
    fn what_does_not_fit_is_said() {
        let error = |deserializer: Deserializer, bytes: &[u8]| deserializer.read(bytes).unwrap_err();
        assert_eq!(
            error(Deserializer::Long, b"abc"),
            "Size of data received by LongDeserializer is not 8"
        );
        assert_eq!(
            error(Deserializer::Boolean, &[255]),
            "Unexpected byte received by BooleanDeserializer: -1"
        );
        assert_eq!(error(Deserializer::Uuid, b"no"), "Invalid UUID string: no");
    }
}
