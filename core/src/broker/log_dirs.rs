//! DescribeLogDirs: what lies where (KIP-113).

use std::collections::{BTreeMap, BTreeSet};

use super::State;
use super::caller::Caller;
use crate::disk::DirId;
use crate::error::ErrorCode;
use crate::protocol::messages::describe_log_dirs_response::{
    DescribeLogDirsPartition, DescribeLogDirsResult, DescribeLogDirsTopic,
};
use crate::protocol::messages::{DescribeLogDirsRequest, DescribeLogDirsResponse, message};
use crate::types::PartitionIndex;

/// "Not known": the core has no view of a volume's size.
const UNKNOWN_BYTES: i64 = -1;

impl State {
    pub(super) fn describe_log_dirs(&mut self, caller: &Caller, request: &DescribeLogDirsRequest) {
        let wanted: Option<BTreeSet<(&str, PartitionIndex)>> = request.topics.as_ref().map(|topics| {
            let named = topics.iter().map(|topic| (&*topic.topic, &topic.partitions));
            named
                .flat_map(|(topic, partitions)| partitions.iter().map(move |&index| (topic, index)))
                .collect()
        });
        let by_dir = self.partitions_by_dir(wanted.as_ref());
        let answer = message(|answer: &mut DescribeLogDirsResponse| {
            answer.results = self
                .directories
                .iter()
                .map(|(dir, directory)| {
                    message(|row: &mut DescribeLogDirsResult| {
                        row.log_dir = directory.path.as_str().into();
                        if caller.version >= 4 {
                            (row.total_bytes, row.usable_bytes) = (UNKNOWN_BYTES, UNKNOWN_BYTES);
                        }
                        match directory.failed {
                            Some(_) => row.error_code = ErrorCode::KafkaStorageError.code(),
                            None => row.topics = by_dir.get(&dir).cloned().unwrap_or_default(),
                        }
                    })
                })
                .collect();
        });
        self.out.answer(caller, answer);
    }

    fn partitions_by_dir(
        &self,
        wanted: Option<&BTreeSet<(&str, PartitionIndex)>>,
    ) -> BTreeMap<DirId, Vec<DescribeLogDirsTopic>> {
        let mut by_dir: BTreeMap<DirId, Vec<DescribeLogDirsTopic>> = BTreeMap::new();
        for topic in self.topics.iter() {
            let mut rows: BTreeMap<DirId, Vec<DescribeLogDirsPartition>> = BTreeMap::new();
            let partitions = topic
                .partitions
                .iter()
                .filter_map(|&id| self.topics.partition(id));
            for partition in partitions {
                let name = partition.name();
                let is_wanted = wanted.is_none_or(|wanted| wanted.contains(&(&*name.topic, name.partition)));
                let Some(log) = partition.log().ok().filter(|_| is_wanted) else {
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
