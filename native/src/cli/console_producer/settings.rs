//! What the options make of the settings of the producer and of the reader.

use highwater_core::config::Settings;

use super::Arguments;
use crate::cli::Failure;
use crate::cli::properties::settings;

/// Options that stand for a setting each. Where one is not given, what was set counts, and else the
/// default that Kafka's tool has.
#[derive(Debug, clap::Args)]
pub struct Shorthands {
    /// acks: who must have a record (all or -1, 1, 0). [default: -1]
    #[arg(long, value_name = "acks", allow_hyphen_values = true)]
    request_required_acks: Option<String>,
    /// request.timeout.ms [default: 1500]
    #[arg(long, value_name = "ms")]
    request_timeout_ms: Option<i32>,
    /// linger.ms: how long a batch waits to be full. [default: 1000]
    #[arg(long, value_name = "ms")]
    timeout: Option<i64>,
    /// retries [default: 3]
    #[arg(long, value_name = "times")]
    message_send_max_retries: Option<i32>,
    /// retry.backoff.ms [default: 100]
    #[arg(long, value_name = "ms")]
    retry_backoff_ms: Option<i64>,
    /// send.buffer.bytes [default: 102400]
    #[arg(long, value_name = "bytes")]
    socket_buffer_size: Option<i32>,
    /// buffer.memory [default: 33554432]
    #[arg(long, value_name = "bytes")]
    max_memory_bytes: Option<i64>,
    /// batch.size [default: 16384]
    #[arg(long, value_name = "bytes")]
    batch_size: Option<i32>,
    /// batch.size too, and counts more.
    #[arg(long, value_name = "bytes")]
    max_partition_memory_bytes: Option<i32>,
    /// metadata.max.age.ms [default: 300000]
    #[arg(long, value_name = "ms")]
    metadata_expiry_ms: Option<i64>,
    /// max.block.ms [default: 60000]
    #[arg(long, value_name = "ms")]
    max_block_ms: Option<i64>,
}

impl Shorthands {
    /// Each key with what its option says, and its default.
    fn rows(&self) -> [(&'static str, Option<String>, &'static str); 10] {
        let text = |number: Option<i32>| number.map(|number| number.to_string());
        let long = |number: Option<i64>| number.map(|number| number.to_string());
        let batch_size = self.max_partition_memory_bytes.or(self.batch_size);
        [
            ("linger.ms", long(self.timeout), "1000"),
            ("acks", self.request_required_acks.clone(), "-1"),
            ("request.timeout.ms", text(self.request_timeout_ms), "1500"),
            ("retries", text(self.message_send_max_retries), "3"),
            ("retry.backoff.ms", long(self.retry_backoff_ms), "100"),
            ("send.buffer.bytes", text(self.socket_buffer_size), "102400"),
            ("buffer.memory", long(self.max_memory_bytes), "33554432"),
            ("batch.size", text(batch_size), "16384"),
            ("metadata.max.age.ms", long(self.metadata_expiry_ms), "300000"),
            ("max.block.ms", long(self.max_block_ms), "60000"),
        ]
    }
}

/// The settings of the producer.
pub fn producer(arguments: &Arguments) -> Result<Settings, Failure> {
    let mut all = settings(arguments.command_config.as_deref(), &arguments.command_property)?;
    let codec = arguments.compression_codec.as_deref().unwrap_or("none");
    all.insert("bootstrap.servers".to_owned(), arguments.bootstrap_server.clone());
    all.insert("compression.type".to_owned(), codec.to_owned());
    let client_id = all.entry("client.id".to_owned());
    client_id.or_insert_with(|| "console-producer".to_owned());
    for (key, given, otherwise) in arguments.shorthands.rows() {
        match given {
            Some(given) => {
                all.insert(key.to_owned(), given);
            }
            None => {
                all.entry(key.to_owned()).or_insert_with(|| otherwise.to_owned());
            }
        }
    }
    Ok(all)
}

/// The settings of the reader.
pub fn reader(arguments: &Arguments) -> Result<Settings, Failure> {
    settings(arguments.reader_config.as_deref(), &arguments.reader_property)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        arguments: Arguments,
    }

    fn read(options: &str) -> Settings {
        let words = format!("console-producer --bootstrap-server a:1 --topic t {options}");
        producer(&Command::parse_from(words.split_whitespace()).arguments).unwrap()
    }

    #[test]
    fn an_option_counts_more_than_a_setting_and_a_setting_more_than_the_default() {
        let settings = read("");
        assert_eq!((&*settings["linger.ms"], &*settings["acks"]), ("1000", "-1"));
        assert_eq!(
            (&*settings["compression.type"], &*settings["retries"]),
            ("none", "3")
        );
        assert_eq!(settings["client.id"], "console-producer");
        let settings =
            read("--producer-property linger.ms=7 --command-property acks=0 --request-required-acks 1");
        assert_eq!((&*settings["linger.ms"], &*settings["acks"]), ("7", "1"));
        let settings = read("--batch-size 1 --max-partition-memory-bytes 2 --compression-codec");
        assert_eq!(
            (&*settings["batch.size"], &*settings["compression.type"]),
            ("2", "gzip")
        );
        assert_eq!(read("--compression-codec zstd")["compression.type"], "zstd");
    }
}
