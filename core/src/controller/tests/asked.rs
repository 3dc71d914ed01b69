//! What a client asks an [`Office`] for, with what it hears.

use super::office::Office;
use crate::controller::{CallerToken, ElectionKind};
use crate::error::ErrorCode;
use crate::protocol::ResponseBody;
use crate::types::TopicPartition;

/// Who asks.
const ASKED: CallerToken = 1_000;

impl Office {
    /// Elections; what is heard of each partition.
    pub fn elect(
        &mut self,
        kind: ElectionKind,
        named: Option<Vec<TopicPartition>>,
    ) -> Vec<(String, ErrorCode)> {
        self.with(|controller, cx| controller.elect_leaders(cx, ASKED, kind, named));
        self.run();
        let Some(ResponseBody::ElectLeaders(answer)) = self.answers.remove(&ASKED) else {
            panic!("{:?}", self.answers);
        };
        let rows = answer.replica_election_results.iter().flat_map(|topic| {
            let name = |index| format!("{}-{index}", topic.topic);
            let code = |code| ErrorCode::from_code(code).unwrap();
            let partitions = topic.partition_result.iter();
            partitions.map(move |row| (name(row.partition_id), code(row.error_code)))
        });
        rows.collect()
    }

    /// The partitions that move.
    pub fn moving(&mut self) -> Vec<String> {
        self.with(|controller, cx| controller.list_moves(cx, ASKED, None));
        self.run();
        let Some(ResponseBody::ListPartitionReassignments(answer)) = self.answers.remove(&ASKED) else {
            panic!("{:?}", self.answers);
        };
        let rows = answer.topics.iter().flat_map(|topic| {
            let partitions = topic.partitions.iter();
            partitions.map(|row| format!("{}-{}", topic.name, row.partition_index))
        });
        rows.collect()
    }
}
