//! `highwater get-offsets`: where partitions begin and end, with the options and in the lines of
//! Kafka's `kafka-get-offsets.sh`.

use highwater_core::protocol::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};
use highwater_core::protocol::messages::{ListOffsetsRequest, MetadataRequest, message};

use super::Failure;
use super::client::{Client, ask, check};

/// The options of `kafka-get-offsets.sh`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The broker to ask, as host:port; several with commas between them.
    #[arg(long, alias = "broker-list")]
    bootstrap_server: String,
    /// The topic; several with '|' or ',' between them. All, if not given.
    #[arg(long)]
    topic: Option<String>,
    /// Partitions, with commas between them. All, if not given.
    #[arg(long, value_delimiter = ',', requires = "topic")]
    partitions: Vec<i32>,
    /// Topics and partitions: topic:partition, topic:first-end (without the end), topic.
    #[arg(long, value_delimiter = ',', conflicts_with_all = ["topic", "partitions"])]
    topic_partitions: Vec<String>,
    /// A timestamp in ms, or latest (-1), earliest (-2), max-timestamp (-3), earliest-local (-4),
    /// latest-tiered (-5), earliest-pending-upload (-6).
    #[arg(long, default_value = "latest", allow_hyphen_values = true)]
    time: String,
    /// Leave out Kafka's own topics.
    #[arg(long)]
    exclude_internal_topics: bool,
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let timestamp = parse_time(&arguments.time)?;
    let filters = filters(arguments)?;
    let mut client = Client::connect(&arguments.bootstrap_server)?;
    let topics = matching(&mut client, arguments, &filters)?;
    if topics.is_empty() {
        return Err("Could not match any topic-partitions with the specified filters".into());
    }
    let request = message(|request: &mut ListOffsetsRequest| {
        request.replica_id = -1;
        request.topics = topics
            .iter()
            .map(|(name, partitions)| {
                message(|topic: &mut ListOffsetsTopic| {
                    topic.name = name.as_str().into();
                    topic.partitions = partitions
                        .iter()
                        .map(|index| {
                            message(|partition: &mut ListOffsetsPartition| {
                                partition.partition_index = *index;
                                partition.timestamp = timestamp;
                            })
                        })
                        .collect();
                })
            })
            .collect();
    });
    let answer = ask!(client, ListOffsets, request)?;
    let mut lines = Vec::new();
    for topic in &answer.topics {
        for partition in &topic.partitions {
            let index = partition.partition_index;
            match check(partition.error_code, None) {
                Ok(()) if partition.offset < 0 => lines.push((topic.name.to_string(), index, String::new())),
                Ok(()) => lines.push((topic.name.to_string(), index, partition.offset.to_string())),
                Err(error) => eprintln!(
                    "Skip getting offsets for topic-partition {}-{index}: {error}",
                    topic.name
                ),
            }
        }
    }
    lines.sort();
    lines
        .iter()
        .for_each(|(topic, index, offset)| println!("{topic}:{index}:{offset}"));
    Ok(())
}

/// The specials by Kafka's names (`OffsetSpec`), or a number: theirs, or a time in ms.
fn parse_time(text: &str) -> Result<i64, Failure> {
    Ok(match text {
        "latest" => -1,
        "earliest" => -2,
        "max-timestamp" => -3,
        "earliest-local" => -4,
        "latest-tiered" => -5,
        "earliest-pending-upload" => -6,
        other => other.parse().map_err(|_| {
            format!(
                "--time {other}: it is latest, earliest, max-timestamp, earliest-local, latest-tiered, \
                 earliest-pending-upload, or a timestamp in ms"
            )
        })?,
    })
}

/// Which partitions of a topic: from the first on, up to but without the end.
#[derive(Debug, PartialEq, Eq)]
struct Filter {
    /// `None`: any topic.
    topic: Option<String>,
    first: i32,
    end: i32,
}

fn filters(arguments: &Arguments) -> Result<Vec<Filter>, Failure> {
    if !arguments.topic_partitions.is_empty() {
        return arguments
            .topic_partitions
            .iter()
            .map(|text| parse_filter(text))
            .collect();
    }
    let ranges: Vec<(i32, i32)> = match arguments.partitions.as_slice() {
        [] => vec![(0, i32::MAX)],
        some => some
            .iter()
            .map(|index| (*index, index.saturating_add(1)))
            .collect(),
    };
    let topics: Vec<Option<String>> = match &arguments.topic {
        None => vec![None],
        Some(list) => list
            .split(['|', ','])
            .map(|name| Some(name.trim().to_owned()))
            .collect(),
    };
    let every = topics
        .iter()
        .flat_map(|topic| ranges.iter().map(move |range| (topic.clone(), *range)));
    Ok(every
        .map(|(topic, (first, end))| Filter { topic, first, end })
        .collect())
}

fn parse_filter(text: &str) -> Result<Filter, Failure> {
    let bad = || format!("--topic-partitions {text}: it reads topic:partition, topic:first-end or topic");
    let (topic, range) = text.trim().split_once(':').unwrap_or((text.trim(), ""));
    let number = |text: &str, otherwise| {
        if text.is_empty() {
            Ok(otherwise)
        } else {
            text.parse().map_err(|_| bad())
        }
    };
    let (first, end) = match range.split_once('-') {
        Some((first, end)) => (number(first, 0)?, number(end, i32::MAX)?),
        None if range.is_empty() => (0, i32::MAX),
        None => {
            let only: i32 = range.parse().map_err(|_| bad())?;
            (only, only.saturating_add(1))
        }
    };
    Ok(Filter {
        topic: (!topic.is_empty()).then(|| topic.to_owned()),
        first,
        end,
    })
}

fn matching(
    client: &mut Client,
    arguments: &Arguments,
    filters: &[Filter],
) -> Result<Vec<(String, Vec<i32>)>, Failure> {
    let request = message(|request: &mut MetadataRequest| {
        request.topics = None;
        request.allow_auto_topic_creation = false;
    });
    let answer = ask!(client, Metadata, request)?;
    let mut found = Vec::new();
    for topic in answer
        .topics
        .iter()
        .filter(|topic| !(arguments.exclude_internal_topics && topic.is_internal))
    {
        let name = topic.name.as_deref().unwrap_or_default();
        let chosen = topic
            .partitions
            .iter()
            .map(|partition| partition.partition_index)
            .filter(|index| {
                filters.iter().any(|filter| {
                    filter.topic.as_deref().is_none_or(|topic| topic == name)
                        && (filter.first..filter.end).contains(index)
                })
            });
        let chosen: Vec<i32> = chosen.collect();
        if !chosen.is_empty() {
            found.push((name.to_owned(), chosen));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_a_name_or_a_number() {
        assert_eq!(parse_time("latest").unwrap(), -1);
        assert_eq!(parse_time("earliest-pending-upload").unwrap(), -6);
        assert_eq!(parse_time("-3").unwrap(), -3);
        assert_eq!(parse_time("1700000000000").unwrap(), 1_700_000_000_000);
        assert!(parse_time("soon").is_err());
    }

    #[test]
    fn partitions_are_chosen_one_by_one_or_by_range() {
        let filter = |topic: Option<&str>, first, end| Filter {
            topic: topic.map(str::to_owned),
            first,
            end,
        };
        assert_eq!(parse_filter("a:2").unwrap(), filter(Some("a"), 2, 3));
        assert_eq!(parse_filter("a:2-5").unwrap(), filter(Some("a"), 2, 5));
        assert_eq!(parse_filter("a:-5").unwrap(), filter(Some("a"), 0, 5));
        assert_eq!(parse_filter("a:5-").unwrap(), filter(Some("a"), 5, i32::MAX));
        assert_eq!(parse_filter(":1").unwrap(), filter(None, 1, 2));
        assert_eq!(parse_filter("a").unwrap(), filter(Some("a"), 0, i32::MAX));
        assert!(parse_filter("a:x").is_err());
    }
}
