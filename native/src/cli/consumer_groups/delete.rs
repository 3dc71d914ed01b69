//! `--delete` and `--delete-offsets`: groups, and a group's offsets in topics.

use std::collections::{BTreeMap, BTreeSet};

use highwater_core::error::ErrorCode;
use highwater_core::protocol::messages::offset_delete_request::{
    OffsetDeleteRequestPartition, OffsetDeleteRequestTopic,
};
use highwater_core::protocol::messages::offset_delete_response::OffsetDeleteResponse;
use highwater_core::protocol::messages::{DeleteGroupsRequest, OffsetDeleteRequest, message};
use highwater_core::types::TopicPartition;

use super::cluster::{Cluster, by_topic, check_code, describe};
use super::table::{MISSING, line, pad, widest};
use super::{partitions, sorted};
use crate::cli::client::ask;
use crate::cli::{AlreadySaid, Failure};
use crate::output::say;

/// Deletes groups that nobody is in.
pub fn groups(cluster: &mut Cluster, groups: Vec<String>) -> Result<(), Failure> {
    let (mut deleted, mut failed) = (Vec::new(), Vec::new());
    for group in sorted(groups) {
        match delete(cluster, &group) {
            Ok(()) => deleted.push(format!("'{group}'")),
            Err(why) => failed.push(format!("* Group '{group}' could not be deleted due to: {why}")),
        }
    }
    let deleted = deleted.join(", ");
    if failed.is_empty() {
        say!("Deletion of requested consumer groups ({deleted}) was successful.");
        return Ok(());
    }
    say!("\nError: Deletion of some consumer groups failed:");
    failed.iter().for_each(|line| say!("{line}"));
    if !deleted.is_empty() {
        say!("\nThese consumer groups were deleted successfully: {deleted}");
    }
    Err(AlreadySaid.into())
}

fn delete(cluster: &mut Cluster, group: &str) -> Result<(), Failure> {
    let request = || message(|request: &mut DeleteGroupsRequest| request.groups_names = vec![group.into()]);
    let code = cluster.ask_coordinator(group, |client| {
        let answer = ask!(client, DeleteGroups, request())?;
        let code = answer.results.first().map_or(0, |result| result.error_code);
        Ok((code, code))
    })?;
    check_code(code)
}

/// Deletes what a group has committed in topics, or in some partitions of them.
pub fn offsets(cluster: &mut Cluster, group: &str, topics: &[String]) -> Result<(), Failure> {
    // What became of each partition; -1 stands for a topic that is not there.
    let mut results: BTreeMap<TopicPartition, Result<(), String>> = BTreeMap::new();
    let mut chosen = BTreeSet::new();
    let mut whole = BTreeSet::new();
    for topic in topics {
        match partitions::named(topic)? {
            Some(partitions) => chosen.extend(partitions),
            None => {
                whole.insert(topic.clone());
            }
        }
    }
    for (topic, found) in cluster.partitions(&whole)? {
        match found {
            Ok(rows) => chosen.extend(
                rows.into_iter()
                    .map(|(index, _)| TopicPartition::new(topic.as_str(), index)),
            ),
            Err(why) => {
                results.insert(TopicPartition::new(topic.as_str(), -1), Err(why));
            }
        }
    }
    let code = delete_offsets(cluster, group, &chosen, &mut results)?;
    say(group, code, &results);
    match results.values().all(Result::is_ok) {
        true => Ok(()),
        false => Err(AlreadySaid.into()),
    }
}

/// Asks the coordinator, and adds what became of each partition; the error of the whole, or else the first
/// of a partition.
fn delete_offsets(
    cluster: &mut Cluster,
    group: &str,
    chosen: &BTreeSet<TopicPartition>,
    results: &mut BTreeMap<TopicPartition, Result<(), String>>,
) -> Result<ErrorCode, Failure> {
    let topics = by_topic(chosen.iter().map(|partition| (partition, ())));
    let request = || {
        message(|request: &mut OffsetDeleteRequest| {
            request.group_id = group.into();
            let partition = |(index, ()): &(i32, ())| {
                message(|row: &mut OffsetDeleteRequestPartition| row.partition_index = *index)
            };
            let topic = |(name, rows): (&&str, &Vec<(i32, ())>)| {
                message(|topic: &mut OffsetDeleteRequestTopic| {
                    topic.name = (*name).into();
                    topic.partitions = rows.iter().map(partition).collect();
                })
            };
            request.topics = topics.iter().map(topic).collect();
        })
    };
    let answer: OffsetDeleteResponse = cluster.ask_coordinator(group, |client| {
        let answer = ask!(client, OffsetDelete, request())?;
        Ok((answer.error_code, answer))
    })?;
    let known = |code: i16| ErrorCode::from_code(code).unwrap_or(ErrorCode::UnknownServerError);
    let mut first = known(answer.error_code);
    if first != ErrorCode::None {
        let why = || Err(describe(first).to_owned());
        results.extend(chosen.iter().map(|partition| (partition.clone(), why())));
        return Ok(first);
    }
    for topic in &answer.topics {
        for row in &topic.partitions {
            let partition = TopicPartition::new(&*topic.name, row.partition_index);
            let code = known(row.error_code);
            let result = match code {
                ErrorCode::None => Ok(()),
                code => Err(describe(code).to_owned()),
            };
            if first == ErrorCode::None {
                first = code;
            }
            results.insert(partition, result);
        }
    }
    Ok(first)
}

fn say(group: &str, code: ErrorCode, results: &BTreeMap<TopicPartition, Result<(), String>>) {
    match code {
        ErrorCode::None => say!("Request succeeded for deleting offsets from group {group}."),
        ErrorCode::InvalidGroupId
        | ErrorCode::GroupIdNotFound
        | ErrorCode::GroupAuthorizationFailed
        | ErrorCode::NonEmptyGroup => say!("\nError: {}", describe(code)),
        ErrorCode::GroupSubscribedToTopic
        | ErrorCode::TopicAuthorizationFailed
        | ErrorCode::UnknownTopicOrPartition => {
            say!("\nError: Encountered some partition-level error, see the follow-up details.");
        }
        other => say!("\nError: Encountered some unknown error: {other}"),
    }
    let topic_width = widest(results.keys().map(|partition| &*partition.topic), 15);
    let print = |topic: &str, partition: &str, status: &str| {
        say!(
            "{}",
            line(&[(topic, topic_width), (partition, 10)], &pad(status, 15))
        );
    };
    say!();
    print("TOPIC", "PARTITION", "STATUS");
    // In the order of names: 10 before 2.
    let mut rows: Vec<_> = results.iter().collect();
    rows.sort_by_key(|(partition, _)| format!("{}{}", partition.topic, partition.partition));
    for (partition, result) in rows {
        let index = match partition.partition {
            -1 => MISSING.to_owned(),
            index => index.to_string(),
        };
        let status = match result {
            Ok(()) => "Successful".to_owned(),
            Err(why) => format!("Error: {why}"),
        };
        print(&partition.topic, &index, &status);
    }
}
