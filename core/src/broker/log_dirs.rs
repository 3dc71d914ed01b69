//! DescribeLogDirs: what lies where (KIP-113), and how much room there is (KIP-827).
//!
//! How large a volume is only the file system can tell, so a job asks it; then the answer is made of
//! what the broker knows at that moment.

use super::State;
use super::caller::Caller;
use super::job::Job;
use super::jobs::JobFor;
use crate::disk::{DirId, Volume};
use crate::error::ErrorCode;
use crate::ordered::{OrderedMap, OrderedSet};
use crate::protocol::messages::describe_log_dirs_response::{
    DescribeLogDirsPartition, DescribeLogDirsResult, DescribeLogDirsTopic,
};
use crate::protocol::messages::{DescribeLogDirsRequest, DescribeLogDirsResponse, message};
use crate::types::{PartitionIndex, TopicPartition};

/// "Not known", of a volume's size.
const UNKNOWN_BYTES: i64 = -1;
/// First version that tells the size of volumes.
const FIRST_WITH_VOLUMES: i16 = 4;

/// A request that waits for the sizes of the volumes.
#[derive(Clone, Debug)]
pub(super) struct DescribingLogDirs {
    caller: Caller,
    /// `None`: all partitions.
    wanted: Option<OrderedMap<Box<str>, OrderedSet<PartitionIndex>>>,
}

impl DescribingLogDirs {
    fn wants(&self, name: &TopicPartition) -> bool {
        let Some(wanted) = &self.wanted else { return true };
        let partitions = wanted.get(&*name.topic);
        partitions.is_some_and(|partitions| partitions.contains(&name.partition))
    }
}

impl State {
    pub(super) fn describe_log_dirs(&mut self, caller: &Caller, request: &DescribeLogDirsRequest) {
        let wanted = request.topics.as_ref().map(|topics| {
            let mut wanted: OrderedMap<Box<str>, OrderedSet<PartitionIndex>> = OrderedMap::new();
            for topic in topics {
                let partitions = wanted.entry((*topic.topic).into()).or_default();
                partitions.extend(&topic.partitions);
            }
            wanted
        });
        let asked = DescribingLogDirs {
            caller: *caller,
            wanted,
        };
        let dirs = self.directories.online().collect();
        self.start_job(Job::Volumes { dirs }, JobFor::LogDirs(Box::new(asked)));
    }

    pub(super) fn volumes_found(&mut self, asked: &DescribingLogDirs, volumes: &OrderedMap<DirId, Volume>) {
        let mut by_dir = self.partitions_by_dir(asked);
        let answer = message(|answer: &mut DescribeLogDirsResponse| {
            answer.results = self
                .directories
                .iter()
                .map(|(dir, directory)| {
                    message(|row: &mut DescribeLogDirsResult| {
                        row.log_dir = directory.path.as_str().into();
                        if asked.caller.version >= FIRST_WITH_VOLUMES {
                            let volume = volumes.get(&dir).filter(|_| directory.failed.is_none());
                            let bytes = |of: fn(&Volume) -> u64| {
                                volume.map_or(UNKNOWN_BYTES, |volume| {
                                    i64::try_from(of(volume)).unwrap_or(i64::MAX)
                                })
                            };
                            row.total_bytes = bytes(|volume| volume.total_bytes);
                            row.usable_bytes = bytes(|volume| volume.usable_bytes);
                        }
                        match directory.failed {
                            Some(_) => row.error_code = ErrorCode::KafkaStorageError.code(),
                            None => row.topics = by_dir.remove(&dir).unwrap_or_default(),
                        }
                    })
                })
                .collect();
        });
        self.out.answer(&asked.caller, answer);
    }

    fn partitions_by_dir(&self, asked: &DescribingLogDirs) -> OrderedMap<DirId, Vec<DescribeLogDirsTopic>> {
        let mut by_dir: OrderedMap<DirId, Vec<DescribeLogDirsTopic>> = OrderedMap::new();
        for topic in self.topics.iter() {
            let mut rows: OrderedMap<DirId, Vec<DescribeLogDirsPartition>> = OrderedMap::new();
            let partitions = topic
                .partitions
                .iter()
                .filter_map(|(_, &id)| self.topics.partition(id));
            for partition in partitions {
                let name = partition.name();
                let Some(log) = partition.log().ok().filter(|_| asked.wants(name)) else {
                    continue;
                };
                let row = message(|row: &mut DescribeLogDirsPartition| {
                    row.partition_index = name.partition;
                    row.partition_size = log.size_bytes() as i64;
                });
                rows.entry(partition.dir()).or_default().push(row);
            }
            for (dir, partitions) in rows {
                let entry = message(|row: &mut DescribeLogDirsTopic| {
                    row.name = (&*topic.name).into();
                    row.partitions = partitions;
                });
                by_dir.entry(dir).or_default().push(entry);
            }
        }
        by_dir
    }
}
