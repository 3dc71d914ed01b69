//! What the tool asks the cluster: a group's coordinator about the group, leaders about offsets.
//!
//! A coordinator that is not there yet, or that still reads its groups, is asked again until the time that
//! the user gave is over.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use highwater_core::error::ErrorCode;
use highwater_core::protocol::messages::describe_groups_response::DescribedGroup;
use highwater_core::protocol::messages::find_coordinator_response::Coordinator;
use highwater_core::protocol::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};
use highwater_core::protocol::messages::metadata_request::MetadataRequestTopic;
use highwater_core::protocol::messages::offset_commit_request::{
    OffsetCommitRequestPartition, OffsetCommitRequestTopic,
};
use highwater_core::protocol::messages::offset_fetch_request::OffsetFetchRequestGroup;
use highwater_core::protocol::messages::{
    DescribeGroupsRequest, FindCoordinatorRequest, ListOffsetsRequest, MetadataRequest, OffsetCommitRequest,
    OffsetFetchRequest, message,
};
use highwater_core::types::TopicPartition;

use crate::cli::Failure;
use crate::cli::client::{Client, ask, check};

/// Pause before a coordinator is asked again.
const PAUSE: Duration = Duration::from_millis(100);
/// Of OffsetFetch, with many groups and topics by name.
const FETCH_VERSIONS: std::ops::RangeInclusive<i16> = 8..=9;
/// Of OffsetCommit, with topics by name.
const COMMIT_VERSIONS: std::ops::RangeInclusive<i16> = 2..=9;
/// Of FindCoordinator, with many groups.
const FIND_VERSIONS: std::ops::RangeInclusive<i16> = 4..=i16::MAX;

/// Where a group is, in place of a time to look for.
pub const EARLIEST: i64 = -2;
pub const LATEST: i64 = -1;

/// An offset that a group committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Committed {
    pub offset: i64,
    /// -1: none.
    pub leader_epoch: i32,
}

/// The partitions of a topic, each with whether somebody leads it; or why there are none.
pub type FoundTopic = Result<Vec<(i32, bool)>, String>;

/// The brokers, by way of one of them.
pub struct Cluster {
    pub client: Client,
    timeout: Duration,
}

/// A group, and who coordinates it.
pub struct Described {
    pub coordinator: Coordinator,
    pub group: DescribedGroup,
}

impl Cluster {
    pub fn connect(bootstrap: &str, timeout_ms: u64) -> Result<Self, Failure> {
        Ok(Self {
            client: Client::connect(bootstrap)?,
            timeout: Duration::from_millis(timeout_ms),
        })
    }

    /// A connection to the group's coordinator.
    pub fn coordinator(&mut self, group: &str) -> Result<(Client, Coordinator), Failure> {
        let request =
            || message(|request: &mut FindCoordinatorRequest| request.coordinator_keys = vec![group.into()]);
        let found = again(self.timeout, || {
            let answer = ask!(self.client, FindCoordinator, request(), FIND_VERSIONS)?;
            let found = answer.coordinators.into_iter().next();
            let found = found.ok_or("the broker answered nothing")?;
            Ok((found.error_code, found))
        })?;
        check(found.error_code, found.error_message.as_deref())?;
        let client = self.client.connect_to_broker(found.node_id)?;
        Ok((client, found))
    }

    /// Asks the group's coordinator, again while it refuses for the moment. The closure says with which
    /// error the answer begins.
    pub fn ask_coordinator<T>(
        &mut self,
        group: &str,
        mut ask: impl FnMut(&mut Client) -> Result<(i16, T), Failure>,
    ) -> Result<T, Failure> {
        let timeout = self.timeout;
        again(timeout, || {
            let (mut client, _) = self.coordinator(group)?;
            ask(&mut client)
        })
    }

    /// The group as its coordinator knows it. A group that is not known is an answer, with its error.
    pub fn describe(&mut self, group: &str) -> Result<Described, Failure> {
        let request = || message(|request: &mut DescribeGroupsRequest| request.groups = vec![group.into()]);
        let timeout = self.timeout;
        again(timeout, || {
            let (mut client, coordinator) = self.coordinator(group)?;
            let answer = ask!(client, DescribeGroups, request())?;
            let group = answer.groups.into_iter().next();
            let group = group.ok_or("the broker answered nothing")?;
            Ok((group.error_code, Described { coordinator, group }))
        })
    }

    /// Every offset that the group has committed.
    pub fn committed(&mut self, group: &str) -> Result<BTreeMap<TopicPartition, Committed>, Failure> {
        let request = || {
            message(|request: &mut OffsetFetchRequest| {
                request.groups = vec![message(|asked: &mut OffsetFetchRequestGroup| {
                    asked.group_id = group.into();
                    asked.topics = None;
                })];
            })
        };
        let answer = self.ask_coordinator(group, |client| {
            let answer = ask!(client, OffsetFetch, request(), FETCH_VERSIONS)?;
            let group = answer.groups.into_iter().next();
            let group = group.ok_or("the broker answered nothing")?;
            Ok((group.error_code, group))
        })?;
        check_code(answer.error_code)?;
        let mut committed = BTreeMap::new();
        for topic in &answer.topics {
            for row in topic.partitions.iter().filter(|row| row.committed_offset >= 0) {
                check_code(row.error_code)?;
                let partition = TopicPartition::new(&*topic.name, row.partition_index);
                let offset = Committed {
                    offset: row.committed_offset,
                    leader_epoch: row.committed_leader_epoch,
                };
                committed.insert(partition, offset);
            }
        }
        Ok(committed)
    }

    /// Commits offsets for a group that nobody is in.
    pub fn commit(&mut self, group: &str, offsets: &BTreeMap<TopicPartition, i64>) -> Result<(), Failure> {
        let row = |(index, offset): &(i32, i64)| {
            message(|row: &mut OffsetCommitRequestPartition| {
                row.partition_index = *index;
                row.committed_offset = *offset;
                row.committed_leader_epoch = -1;
                row.committed_metadata = Some("".into());
            })
        };
        let topics = by_topic(offsets.iter().map(|(partition, offset)| (partition, *offset)));
        let request = || {
            message(|request: &mut OffsetCommitRequest| {
                request.group_id = group.into();
                request.generation_id_or_member_epoch = -1;
                let topic = |(name, rows): (&&str, &Vec<(i32, i64)>)| {
                    message(|topic: &mut OffsetCommitRequestTopic| {
                        topic.name = (*name).into();
                        topic.partitions = rows.iter().map(row).collect();
                    })
                };
                request.topics = topics.iter().map(topic).collect();
            })
        };
        let code = self.ask_coordinator(group, |client| {
            let answer = ask!(client, OffsetCommit, request(), COMMIT_VERSIONS)?;
            let rows = answer.topics.iter().flat_map(|topic| &topic.partitions);
            let code = rows
                .map(|row| row.error_code)
                .find(|code| *code != 0)
                .unwrap_or(0);
            Ok((code, code))
        })?;
        check_code(code)
    }

    /// The partitions of each topic.
    pub fn partitions(&mut self, topics: &BTreeSet<String>) -> Result<BTreeMap<String, FoundTopic>, Failure> {
        let request = message(|request: &mut MetadataRequest| {
            request.allow_auto_topic_creation = false;
            let asked = |name: &String| {
                message(|topic: &mut MetadataRequestTopic| topic.name = Some(name.as_str().into()))
            };
            request.topics = Some(topics.iter().map(asked).collect());
        });
        let answer = ask!(self.client, Metadata, request)?;
        let mut found = BTreeMap::new();
        for topic in &answer.topics {
            let name = topic.name.as_deref().unwrap_or_default().to_owned();
            let rows = topic.partitions.iter();
            let mut rows: Vec<(i32, bool)> = rows
                .map(|row| (row.partition_index, row.leader_id >= 0))
                .collect();
            rows.sort_unstable();
            found.insert(
                name,
                check_code(topic.error_code)
                    .map(|()| rows)
                    .map_err(|why| why.to_string()),
            );
        }
        Ok(found)
    }

    /// The offsets at that time, or at an end; `None` where there is no record so late.
    pub fn offsets(
        &mut self,
        partitions: &BTreeSet<TopicPartition>,
        timestamp: i64,
    ) -> Result<BTreeMap<TopicPartition, Option<i64>>, Failure> {
        let rows = partitions
            .iter()
            .map(|partition| (partition.topic.to_string(), partition.partition, ()));
        let mut found = BTreeMap::new();
        for (leader, rows) in self.client.by_leader(rows)? {
            let mut client = match leader {
                Some(id) => self.client.connect_to_broker(id)?,
                None => return Err(describe(ErrorCode::LeaderNotAvailable).into()),
            };
            let rows: Vec<TopicPartition> = rows
                .into_iter()
                .map(|(topic, index, ())| TopicPartition::new(topic, index))
                .collect();
            let answer = ask!(client, ListOffsets, list_offsets(&rows, timestamp))?;
            for topic in &answer.topics {
                for row in &topic.partitions {
                    check_code(row.error_code)?;
                    let partition = TopicPartition::new(&*topic.name, row.partition_index);
                    found.insert(partition, (row.offset >= 0).then_some(row.offset));
                }
            }
        }
        Ok(found)
    }
}

fn list_offsets(partitions: &[TopicPartition], timestamp: i64) -> ListOffsetsRequest {
    let row = |(index, ()): &(i32, ())| {
        message(|row: &mut ListOffsetsPartition| {
            row.partition_index = *index;
            row.timestamp = timestamp;
        })
    };
    let topics = by_topic(partitions.iter().map(|partition| (partition, ())));
    message(|request: &mut ListOffsetsRequest| {
        request.replica_id = -1;
        let topic = |(name, rows): (&&str, &Vec<(i32, ())>)| {
            message(|topic: &mut ListOffsetsTopic| {
                topic.name = (*name).into();
                topic.partitions = rows.iter().map(row).collect();
            })
        };
        request.topics = topics.iter().map(topic).collect();
    })
}

/// Sorts what is said of partitions by topic.
pub fn by_topic<'a, T>(
    rows: impl Iterator<Item = (&'a TopicPartition, T)>,
) -> BTreeMap<&'a str, Vec<(i32, T)>> {
    let mut topics: BTreeMap<&str, Vec<(i32, T)>> = BTreeMap::new();
    for (partition, what) in rows {
        let topic = topics.entry(&partition.topic).or_default();
        topic.push((partition.partition, what));
    }
    topics
}

/// Asks until the answer does not begin with an error that passes by itself, or the time is over.
fn again<T>(timeout: Duration, mut ask: impl FnMut() -> Result<(i16, T), Failure>) -> Result<T, Failure> {
    let until = Instant::now() + timeout;
    loop {
        let (code, answer) = ask()?;
        let passes = matches!(
            ErrorCode::from_code(code),
            Some(
                ErrorCode::CoordinatorNotAvailable
                    | ErrorCode::CoordinatorLoadInProgress
                    | ErrorCode::NotCoordinator
            )
        );
        if !passes {
            return Ok(answer);
        }
        if Instant::now() >= until {
            let code = ErrorCode::from_code(code).unwrap_or(ErrorCode::UnknownServerError);
            let waited_ms = timeout.as_millis();
            return Err(format!(
                "{} after {waited_ms} ms: give it more with --timeout",
                describe(code)
            )
            .into());
        }
        std::thread::sleep(PAUSE);
    }
}

/// An error code as a failure, in Kafka's words.
pub fn check_code(code: i16) -> Result<(), Failure> {
    match ErrorCode::from_code(code) {
        Some(ErrorCode::None) => Ok(()),
        Some(code) => Err(describe(code).into()),
        None => Err(format!("the broker answered with error {code}").into()),
    }
}

/// What Kafka's client says of an error when the broker says nothing more (`Errors.message`).
pub fn describe(code: ErrorCode) -> &'static str {
    match code {
        ErrorCode::UnknownTopicOrPartition => "This server does not host this topic-partition.",
        ErrorCode::LeaderNotAvailable => {
            "There is no leader for this topic-partition as we are in the middle of a leadership election."
        }
        ErrorCode::CoordinatorLoadInProgress => {
            "The coordinator is loading and hence can't process requests."
        }
        ErrorCode::CoordinatorNotAvailable => "The coordinator is not available.",
        ErrorCode::NotCoordinator => "This is not the correct coordinator.",
        ErrorCode::InvalidTopicException => {
            "The request attempted to perform an operation on an invalid topic."
        }
        ErrorCode::UnknownMemberId => "The coordinator is not aware of this member.",
        ErrorCode::InvalidGroupId => "The group id is invalid.",
        ErrorCode::NonEmptyGroup => "The group is not empty.",
        ErrorCode::GroupIdNotFound => "The group id does not exist.",
        ErrorCode::GroupSubscribedToTopic => {
            "Deleting offsets of a topic is forbidden while the consumer group is actively subscribed to it."
        }
        other => other.kafka_name(),
    }
}
