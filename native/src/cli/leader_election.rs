//! `highwater leader-election`: elects leaders of partitions, with the options and in the lines of
//! Kafka's `kafka-leader-election.sh`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use highwater_core::error::ErrorCode;
use highwater_core::protocol::messages::elect_leaders_request::TopicPartitions;
use highwater_core::protocol::messages::{ElectLeadersRequest, message};
use serde_json::Value;

use super::Failure;
use super::client::{Client, ask_controller, check};
use super::moves::{PartitionName, by_topic, named};
use crate::output::say;

/// How long an election may take.
const TIMEOUT_MS: i32 = 30_000;

/// The options of `kafka-leader-election.sh`.
#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("which").required(true).args(["topic", "all_topic_partitions", "path_to_json_file"]))]
pub struct Arguments {
    /// The broker to ask, as host:port; several with commas between them.
    #[arg(long)]
    bootstrap_server: String,
    /// preferred: the first replica, where another leads; unclean: any replica, where none leads.
    #[arg(long, value_enum, ignore_case = true)]
    election_type: ElectionType,
    /// The topic of the one partition to elect for.
    #[arg(long, requires = "partition")]
    topic: Option<String>,
    /// The number of the one partition to elect for.
    #[arg(long, requires = "topic")]
    partition: Option<i32>,
    /// Elect for all partitions that it fits.
    #[arg(long)]
    all_topic_partitions: bool,
    /// A JSON file: {"partitions": [{"topic": "foo", "partition": 1}]}
    #[arg(long, value_name = "file")]
    path_to_json_file: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum ElectionType {
    Preferred,
    Unclean,
}

impl ElectionType {
    /// `ElectionType.value`
    fn on_the_wire(self) -> i8 {
        match self {
            Self::Preferred => 0,
            Self::Unclean => 1,
        }
    }

    fn shown(self) -> &'static str {
        match self {
            Self::Preferred => "PREFERRED",
            Self::Unclean => "UNCLEAN",
        }
    }
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let partitions = match (&arguments.path_to_json_file, &arguments.topic) {
        (Some(file), _) => Some(read(file)?),
        (None, Some(topic)) => Some(BTreeSet::from([(
            topic.clone(),
            arguments.partition.unwrap_or_default(),
        )])),
        (None, None) => None,
    };
    let mut client = Client::connect(&arguments.bootstrap_server)?;
    let kind = arguments.election_type;
    let request = message(|request: &mut ElectLeadersRequest| {
        request.election_type = kind.on_the_wire();
        request.timeout_ms = TIMEOUT_MS;
        request.topic_partitions = partitions.map(|names| {
            let topics = by_topic(&names).into_iter().map(|(name, partitions)| {
                message(|topic: &mut TopicPartitions| {
                    topic.topic = name.into();
                    topic.partitions = partitions;
                })
            });
            topics.collect()
        });
    });
    let answer = ask_controller!(client, ElectLeaders, request)?;
    check(answer.error_code, None)?;
    let (mut elected, mut needless, mut failed) = (Vec::new(), Vec::new(), Vec::new());
    for topic in &answer.replica_election_results {
        for row in &topic.partition_result {
            let name = (topic.topic.to_string(), row.partition_id);
            match check(row.error_code, row.error_message.as_deref()) {
                Ok(()) => elected.push(name),
                Err(_) if row.error_code == ErrorCode::ElectionNotNeeded.code() => needless.push(name),
                Err(why) => failed.push((name, why)),
            }
        }
    }
    if !elected.is_empty() {
        let (kind, names) = (kind.shown(), named(&elected, ", "));
        say!("Successfully completed leader election ({kind}) for partitions {names}");
    }
    if !needless.is_empty() {
        let names = named(&needless, ", ");
        say!("Valid replica already elected for partitions {names}");
    }
    for (name, why) in &failed {
        let (kind, name) = (kind.shown(), named([name], ""));
        say!("Error completing leader election ({kind}) for partition: {name}: {why}");
    }
    match failed.len() {
        0 => Ok(()),
        some => Err(format!("{some} replica(s) could not be elected").into()),
    }
}

fn read(file: &Path) -> Result<BTreeSet<PartitionName>, Failure> {
    let shown = file.display();
    let text = std::fs::read_to_string(file).map_err(|error| format!("{shown}: {error}"))?;
    Ok(parse(&text).map_err(|why| format!("{shown}: {why}"))?)
}

fn parse(text: &str) -> Result<BTreeSet<PartitionName>, String> {
    let json: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let rows = json.get("partitions").and_then(Value::as_array);
    let rows = rows.ok_or("Replica election data is missing \"partitions\" field")?;
    let mut names = BTreeSet::new();
    for row in rows {
        let topic = row.get("topic").and_then(Value::as_str);
        let partition = row.get("partition").and_then(Value::as_i64);
        let partition = partition.and_then(|number| i32::try_from(number).ok());
        let (Some(topic), Some(partition)) = (topic, partition) else {
            return Err(format!("{row}: topic and partition are needed"));
        };
        if !names.insert((topic.to_owned(), partition)) {
            return Err(format!(
                "Replica election data contains duplicate partitions: {topic}-{partition}"
            ));
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_read_or_refused() {
        let row = r#"{"topic":"a","partition":1}"#;
        let names = parse(&format!(r#"{{"partitions":[{row}]}}"#)).unwrap();
        assert_eq!(names, BTreeSet::from([("a".to_owned(), 1)]));
        let twice = parse(&format!(r#"{{"partitions":[{row},{row}]}}"#));
        assert!(twice.unwrap_err().contains("duplicate partitions: a-1"));
        for text in [
            "",
            "{}",
            r#"{"partitions":[{"topic":"a"}]}"#,
            r#"{"partitions":1}"#,
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
