//! A partition of an internal topic, as its coordinator reaches it.

use bytes::Bytes;

use crate::broker::State;
use crate::broker::directories::Then;
use crate::coordinator::AppendAndWatch;
use crate::cx::Cx;
use crate::disk::Lane;
use crate::error::{ErrorCode, Refused};
use crate::record::{BatchHeader, Validated};
use crate::replica::Partition;
use crate::replica::partition::PartitionId;
use crate::types::Offset;

/// `id` is `None` when this broker does not lead it.
pub(super) struct InternalPartition<'a> {
    pub state: &'a mut State,
    pub id: Option<PartitionId>,
}

impl AppendAndWatch for InternalPartition<'_> {
    fn append(&mut self, cx: &mut Cx, batch: Bytes) -> Result<Offset, Refused> {
        let id = self.id.ok_or(ErrorCode::NotLeaderOrFollower)?;
        let partition = self.state.topics.partition_mut(id);
        let partition = partition.ok_or(ErrorCode::NotLeaderOrFollower)?;
        partition.check_append(cx, true)?;
        let header = BatchHeader::parse(&batch).ok_or(ErrorCode::UnknownServerError)?;
        let validated = Validated {
            header,
            bytes: batch,
            log_append_time_ms: None,
        };
        let (appended, ticket) = partition.append(cx, &validated)?;
        let dir = partition.dir();
        let directories = &mut self.state.directories;
        directories.after(dir, Lane::Strict, ticket, Then::Partition(id));
        self.state.after_aside(dir, id);
        self.state.reschedule(id);
        Ok(appended.base_offset)
    }

    fn high_watermark(&self) -> Offset {
        let partition = self.id.and_then(|id| self.state.topics.partition(id));
        partition.map_or(0, Partition::high_watermark)
    }

    fn max_batch_bytes(&self) -> usize {
        let name = self
            .id
            .and_then(|id| self.state.topics.partition(id))
            .map(Partition::name);
        let topic = name.and_then(|name| self.state.topics.by_name(&name.topic));
        topic.map_or(0, |topic| topic.rules.validation.max_message_bytes as usize)
    }
}
