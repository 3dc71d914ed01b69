//! `highwater get-offsets`: where partitions begin and end, with the options and in the lines of
//! Kafka's `kafka-get-offsets.sh`.

use std::collections::BTreeMap;
use std::ops::Range;

use highwater_core::protocol::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};
use highwater_core::protocol::messages::{ListOffsetsRequest, ListOffsetsResponse, MetadataRequest, message};

use super::Failure;
use super::client::{Client, ask, check};
use super::include_list::IncludeList;
use crate::output::{complain, say};

/// `ListOffsetsResponse.UNKNOWN_OFFSET`: there is none.
const UNKNOWN_OFFSET: i64 = -1;

/// The options of `kafka-get-offsets.sh`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The broker to ask, as host:port; several with commas between them.
    #[arg(long, alias = "broker-list")]
    bootstrap_server: String,
    /// The topic, as a regular expression for whole names. All, if not given.
    #[arg(long)]
    topic: Option<String>,
    /// Partitions, with commas between them. All, if not given.
    #[arg(long, value_delimiter = ',')]
    partitions: Vec<i32>,
    /// Topics and partitions: topic:partition, topic:first-end (without the end), topic; where the topic is
    /// a regular expression, or left out.
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
    let partitions = topics.into_iter().flat_map(|(topic, partitions)| {
        let row = move |index| (topic.clone(), index, ());
        partitions.into_iter().map(row)
    });
    let mut lines = Vec::new();
    for (leader, partitions) in client.by_leader(partitions)? {
        let answer = match leader {
            Some(id) => offsets(&mut client.connect_to_broker(id)?, &partitions, timestamp)?,
            // Whoever is asked says that there is no leader.
            None => offsets(&mut client, &partitions, timestamp)?,
        };
        for topic in &answer.topics {
            for partition in &topic.partitions {
                let index = partition.partition_index;
                match check(partition.error_code, None) {
                    Ok(()) if partition.offset == UNKNOWN_OFFSET => {}
                    Ok(()) => {
                        let line = format!("{}:{index}:{}", topic.name, partition.offset);
                        lines.push((format!("{}-{index}", topic.name), line));
                    }
                    Err(error) => complain!(
                        "Skip getting offsets for topic-partition {}-{index} due to error: {error}",
                        topic.name
                    ),
                }
            }
        }
    }
    // In the order of the partitions' names: 10 before 2.
    lines.sort();
    lines.iter().for_each(|(_, line)| say!("{line}"));
    Ok(())
}

fn offsets(
    client: &mut Client,
    partitions: &[(String, i32, ())],
    timestamp: i64,
) -> Result<ListOffsetsResponse, Failure> {
    let mut by_topic: BTreeMap<&str, Vec<ListOffsetsPartition>> = BTreeMap::new();
    for (topic, index, ()) in partitions {
        let row = message(|partition: &mut ListOffsetsPartition| {
            partition.partition_index = *index;
            partition.timestamp = timestamp;
        });
        by_topic.entry(topic).or_default().push(row);
    }
    let topic = |(name, partitions): (&str, _)| {
        message(|topic: &mut ListOffsetsTopic| {
            topic.name = name.into();
            topic.partitions = partitions;
        })
    };
    let request = message(|request: &mut ListOffsetsRequest| {
        request.replica_id = -1;
        request.topics = by_topic.into_iter().map(topic).collect();
    });
    Ok(ask!(client, ListOffsets, request)?)
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
#[derive(Debug)]
struct Filter {
    /// `None`: any topic.
    topic: Option<IncludeList>,
    /// `None`: any partition.
    partitions: Option<Vec<Range<i32>>>,
}

impl Filter {
    fn allows(&self, topic: &str, partition: i32) -> bool {
        let partitions = self.partitions.as_ref();
        self.topic.as_ref().is_none_or(|list| list.allows(topic))
            && partitions.is_none_or(|ranges| ranges.iter().any(|range| range.contains(&partition)))
    }
}

fn filters(arguments: &Arguments) -> Result<Vec<Filter>, Failure> {
    if !arguments.topic_partitions.is_empty() {
        return arguments
            .topic_partitions
            .iter()
            .map(|text| parse_filter(text))
            .collect();
    }
    let ranges = arguments.partitions.iter().map(|index| only(*index));
    let ranges: Vec<_> = ranges.collect();
    Ok(vec![Filter {
        topic: arguments.topic.as_deref().map(IncludeList::parse).transpose()?,
        partitions: (!ranges.is_empty()).then_some(ranges),
    }])
}

fn only(partition: i32) -> Range<i32> {
    partition..partition.saturating_add(1)
}

fn parse_filter(text: &str) -> Result<Filter, Failure> {
    let (topic, range) = text.split_once(':').unwrap_or((text, ""));
    let topic = (!topic.is_empty())
        .then(|| IncludeList::parse(topic))
        .transpose()?;
    Ok(Filter {
        topic,
        partitions: Some(vec![parse_range(text, range)?]),
    })
}

/// The part behind the colon of the whole text.
fn parse_range(text: &str, range: &str) -> Result<Range<i32>, Failure> {
    let bad = || format!("--topic-partitions {text}: it reads topic:partition, topic:first-end or topic");
    let number = |text: &str, otherwise| {
        if text.is_empty() {
            Ok(otherwise)
        } else {
            text.parse().map_err(|_| bad())
        }
    };
    Ok(match range.split_once('-') {
        Some((first, end)) => number(first, 0)?..number(end, i32::MAX)?,
        None if range.is_empty() => 0..i32::MAX,
        None => only(range.parse().map_err(|_| bad())?),
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
            .filter(|index| filters.iter().any(|filter| filter.allows(name, *index)));
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
        let range = |text: &str| parse_filter(text).unwrap().partitions.unwrap().remove(0);
        assert_eq!(range("a:2"), 2..3);
        assert_eq!(range("a:2-5"), 2..5);
        assert_eq!(range("a:-5"), 0..5);
        assert_eq!(range("a:5-"), 5..i32::MAX);
        assert_eq!(range("a"), 0..i32::MAX);
        let any = parse_filter(":1").unwrap();
        assert!(any.allows("a", 1) && any.allows("b", 1) && !any.allows("b", 2));
        let some = parse_filter("a.*").unwrap();
        assert!(some.allows("ab", 7) && !some.allows("ba", 7));
        assert!(parse_filter("a:x").is_err());
    }
}
