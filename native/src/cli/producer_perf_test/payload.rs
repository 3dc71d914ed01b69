//! What the records hold: random letters, lines of a file, or their numbers; and their keys.

use bytes::Bytes;

use super::Arguments;
use super::java_random::SplittableRandom;
use crate::cli::Failure;
use crate::output::say;

/// Where keys come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum KeyDistribution {
    None,
    Range,
    Random,
}

#[derive(Debug)]
enum Kind {
    /// So many random letters.
    Letters(usize),
    /// One of these, by chance.
    OneOf(Vec<Bytes>),
    /// The record's number.
    Number,
}

#[derive(Debug)]
pub struct Payloads {
    kind: Kind,
    keys: KeyDistribution,
    key_range: i32,
    random: SplittableRandom,
}

impl Payloads {
    pub fn new(arguments: &Arguments) -> Result<Self, Failure> {
        let kind = match (&arguments.payload_file, arguments.record_size) {
            (Some(file), _) => Kind::OneOf(read(file, &arguments.payload_delimiter)?),
            (None, Some(size)) => Kind::Letters(size as usize),
            (None, None) => Kind::Number,
        };
        let key_range = arguments.record_key_range;
        match (arguments.key_distribution, key_range) {
            (KeyDistribution::None, Some(_)) => {
                return Err(
                    "--key-distribution must be 'range' or 'random' when --record-key-range is specified."
                        .into(),
                );
            }
            (KeyDistribution::Range | KeyDistribution::Random, None) => {
                return Err(
                    "--record-key-range is required when --key-distribution is 'range' or 'random'.".into(),
                );
            }
            _ => {}
        }
        Ok(Self {
            kind,
            keys: arguments.key_distribution,
            key_range: key_range.unwrap_or(1),
            random: SplittableRandom::new(arguments.random_seed),
        })
    }

    /// Key and value of the record of this number, in the order of Kafka's draws.
    pub fn next(&mut self, number: u64) -> (Option<Bytes>, Bytes) {
        let value = match &self.kind {
            Kind::Letters(size) => (0..*size).map(|_| b'A' + self.random.below(26) as u8).collect(),
            Kind::OneOf(all) => {
                let count = i32::try_from(all.len()).unwrap_or(i32::MAX);
                all[self.random.below(count) as usize].clone()
            }
            Kind::Number => Bytes::from(number.to_string()),
        };
        let key = match self.keys {
            KeyDistribution::None => None,
            KeyDistribution::Range => Some((number % self.key_range.unsigned_abs() as u64).to_string()),
            KeyDistribution::Random => Some(self.random.below(self.key_range).to_string()),
        };
        (key.map(Bytes::from), value)
    }
}

/// The payloads of a file. A delimiter `\n` is a new line; what stands behind the last one is a payload only
/// if there is something.
fn read(file: &str, delimiter: &str) -> Result<Vec<Bytes>, Failure> {
    let path = std::path::absolute(file)?;
    say!("Reading payloads from: {}", path.display());
    let text = std::fs::read(file).map_err(|error| format!("cannot read {file}: {error}"))?;
    if text.is_empty() {
        return Err(format!("{file}: File does not exist or empty file provided.").into());
    }
    let text = String::from_utf8_lossy(&text);
    let delimiter = delimiter.replace("\\n", "\n");
    let text = text.strip_suffix(&*delimiter).unwrap_or(&text);
    let payloads: Vec<Bytes> = text
        .split(&*delimiter)
        .map(|payload| Bytes::copy_from_slice(payload.as_bytes()))
        .collect();
    say!("Number of records read: {}", payloads.len());
    Ok(payloads)
}
