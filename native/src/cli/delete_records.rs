//! `highwater delete-records`: moves the start of partitions, with the options and in the lines of
//! Kafka's `kafka-delete-records.sh`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use highwater_core::protocol::messages::delete_records_request::{
    DeleteRecordsPartition, DeleteRecordsTopic,
};
use highwater_core::protocol::messages::{DeleteRecordsRequest, DeleteRecordsResponse, message};

use super::Failure;
use super::client::{Client, ask, check};
use crate::output::say;

/// How long the broker may take.
const TIMEOUT_MS: i32 = 60_000;

/// The options of `kafka-delete-records.sh`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The broker to ask, as host:port; several with commas between them.
    #[arg(long)]
    bootstrap_server: String,
    /// A JSON file: {"partitions": [{"topic": "foo", "partition": 1, "offset": 1}], "version": 1}
    #[arg(long, value_name = "file")]
    offset_json_file: PathBuf,
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let file = arguments.offset_json_file.display();
    let text =
        std::fs::read_to_string(&arguments.offset_json_file).map_err(|error| format!("{file}: {error}"))?;
    let offsets = parse(&text).map_err(|why| format!("{file}: {why}"))?;
    let mut client = Client::connect(&arguments.bootstrap_server)?;
    say!("Executing records delete operation");
    let partitions = offsets.into_iter().flat_map(|(topic, partitions)| {
        let row = move |(index, offset)| (topic.clone(), index, offset);
        partitions.into_iter().map(row)
    });
    let mut answers = Vec::new();
    for (leader, partitions) in client.by_leader(partitions)? {
        answers.push(match leader {
            Some(id) => delete(&mut client.connect_to_broker(id)?, &partitions)?,
            // Whoever is asked says that there is no leader.
            None => delete(&mut client, &partitions)?,
        });
    }
    say!("Records delete operation completed:");
    for topic in answers.iter().flat_map(|answer| &answer.topics) {
        for partition in &topic.partitions {
            let name = format!("{}-{}", topic.name, partition.partition_index);
            match check(partition.error_code, None) {
                Ok(()) => say!("partition: {name}\tlow_watermark: {}", partition.low_watermark),
                Err(error) => say!("partition: {name}\terror: {error}"),
            }
        }
    }
    Ok(())
}

fn delete(client: &mut Client, partitions: &[(String, i32, i64)]) -> Result<DeleteRecordsResponse, Failure> {
    let mut by_topic: BTreeMap<&str, Vec<DeleteRecordsPartition>> = BTreeMap::new();
    for (topic, index, offset) in partitions {
        let row = message(|partition: &mut DeleteRecordsPartition| {
            partition.partition_index = *index;
            partition.offset = *offset;
        });
        by_topic.entry(topic).or_default().push(row);
    }
    let topic = |(name, partitions): (&str, _)| {
        message(|asked: &mut DeleteRecordsTopic| {
            asked.name = name.into();
            asked.partitions = partitions;
        })
    };
    let request = message(|request: &mut DeleteRecordsRequest| {
        request.timeout_ms = TIMEOUT_MS;
        request.topics = by_topic.into_iter().map(topic).collect();
    });
    Ok(ask!(client, DeleteRecords, request)?)
}

/// Offset below which records go, by topic and partition.
type Offsets = BTreeMap<String, BTreeMap<i32, i64>>;

fn parse(text: &str) -> Result<Offsets, String> {
    let json: serde_json::Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    match json.get("version").and_then(serde_json::Value::as_i64) {
        None | Some(1) => {}
        Some(other) => return Err(format!("version {other} of the file is not known, only 1")),
    }
    let rows = json
        .get("partitions")
        .and_then(serde_json::Value::as_array)
        .ok_or("Missing partitions field")?;
    let mut offsets = Offsets::new();
    for row in rows {
        let number = |name: &str| row.get(name).and_then(serde_json::Value::as_i64);
        let topic = row.get("topic").and_then(serde_json::Value::as_str);
        let partition = number("partition").and_then(|index| i32::try_from(index).ok());
        let (Some(topic), Some(partition), Some(offset)) = (topic, partition, number("offset")) else {
            return Err(format!("{row}: topic, partition and offset are needed"));
        };
        if offsets
            .entry(topic.to_owned())
            .or_default()
            .insert(partition, offset)
            .is_some()
        {
            return Err(format!(
                "Offset json file contains duplicate topic partitions: {topic}-{partition}"
            ));
        }
    }
    Ok(offsets)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_read_or_refused() {
        let row = r#"{"topic":"a","partition":1,"offset":7}"#;
        let offsets = parse(&format!(r#"{{"partitions":[{row}],"version":1}}"#)).unwrap();
        assert_eq!(offsets["a"][&1], 7);
        assert!(
            parse(&format!(r#"{{"partitions":[{row},{row}]}}"#))
                .unwrap_err()
                .contains("duplicate")
        );
        for text in [
            "",
            "{}",
            r#"{"partitions":[{}]}"#,
            r#"{"partitions":[],"version":2}"#,
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
