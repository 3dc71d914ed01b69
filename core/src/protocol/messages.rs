//! The messages of every API but Produce and Fetch, generated from Kafka's own schemas by the crate
//! `kafka-wire`, and the fence around its decoder.
//!
//! The structures cannot be written as literals (they may gain fields); fill one with [`message`]:
//!
//! ```
//! use highwater_core::protocol::messages::{MetadataResponse, message};
//! let answer = message(|m: &mut MetadataResponse| m.controller_id = 1);
//! assert_eq!(answer.controller_id, 1);
//! ```
//!
//! Encoding refuses a field that the version does not have unless Kafka's schema lets it be left
//! out silently; so a handler sets such a field only from the version that has it.
//!
//! Invariants
//! - the crate's decoder grows an array as its items arrive and never by a claimed count; here the
//!   count is also held under the bytes of the frame and under [`MAX_ITEMS`]
//! - a request that carries no records has at most [`MOST_CONTROL_BYTES`]

use kafka_wire_core::{ApiVersion, DecodeLimits, Decoder, KafkaDecode, KafkaEncode};

use super::primitives::{MAX_ITEMS, Reader, Writer};
use crate::error::Malformed;
use crate::types::Uuid;

pub use kafka_wire::{
    AlterConfigsRequest, AlterConfigsResponse, AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse, AlterPartitionRequest, AlterPartitionResponse, ApiVersionsRequest,
    ApiVersionsResponse, CreatePartitionsRequest, CreatePartitionsResponse, CreateTopicsRequest,
    CreateTopicsResponse, DeleteRecordsRequest, DeleteRecordsResponse, DeleteTopicsRequest,
    DeleteTopicsResponse, DescribeClusterRequest, DescribeClusterResponse, DescribeConfigsRequest,
    DescribeConfigsResponse, DescribeLogDirsRequest, DescribeLogDirsResponse, DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse, ElectLeadersRequest, ElectLeadersResponse, FindCoordinatorRequest,
    FindCoordinatorResponse, IncrementalAlterConfigsRequest, IncrementalAlterConfigsResponse,
    InitProducerIdRequest, InitProducerIdResponse, ListConfigResourcesRequest, ListConfigResourcesResponse,
    ListOffsetsRequest, ListOffsetsResponse, ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse, MetadataRequest, MetadataResponse, OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
};
/// Of the group coordinator.
pub use kafka_wire::{
    ConsumerGroupDescribeRequest, ConsumerGroupDescribeResponse, ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse, DeleteGroupsRequest, DeleteGroupsResponse, DescribeGroupsRequest,
    DescribeGroupsResponse, HeartbeatRequest, HeartbeatResponse, JoinGroupRequest, JoinGroupResponse,
    LeaveGroupRequest, LeaveGroupResponse, ListGroupsRequest, ListGroupsResponse, OffsetCommitRequest,
    OffsetCommitResponse, OffsetDeleteRequest, OffsetDeleteResponse, OffsetFetchRequest, OffsetFetchResponse,
    SyncGroupRequest, SyncGroupResponse,
};
pub use kafka_wire::{
    alter_configs_request, alter_configs_response, alter_partition_reassignments_request,
    alter_partition_reassignments_response, alter_partition_request, alter_partition_response,
    api_versions_request, api_versions_response, create_partitions_request, create_partitions_response,
    create_topics_request, create_topics_response, delete_records_request, delete_records_response,
    delete_topics_request, delete_topics_response, describe_cluster_request, describe_cluster_response,
    describe_configs_request, describe_configs_response, describe_log_dirs_request,
    describe_log_dirs_response, describe_topic_partitions_request, describe_topic_partitions_response,
    elect_leaders_request, elect_leaders_response, find_coordinator_request, find_coordinator_response,
    incremental_alter_configs_request, incremental_alter_configs_response, init_producer_id_request,
    init_producer_id_response, list_config_resources_request, list_config_resources_response,
    list_offsets_request, list_offsets_response, list_partition_reassignments_request,
    list_partition_reassignments_response, metadata_request, metadata_response,
    offset_for_leader_epoch_request, offset_for_leader_epoch_response,
};
pub use kafka_wire::{
    consumer_group_describe_response, delete_groups_request, delete_groups_response, describe_groups_request,
    describe_groups_response, heartbeat_request, heartbeat_response, join_group_request, join_group_response,
    leave_group_request, leave_group_response, list_groups_request, list_groups_response,
    offset_commit_request, offset_commit_response, offset_delete_request, offset_delete_response,
    offset_fetch_request, offset_fetch_response, sync_group_request, sync_group_response,
};
pub use kafka_wire_core::Uuid as WireUuid;

/// Largest request, in bytes, of an API that carries no records. Kafka has no such limit; here it
/// bounds what a stranger can make of many tiny items, each larger in memory than on the wire.
pub const MOST_CONTROL_BYTES: usize = 4 << 20;

/// A message with its default values and then what `fill` sets.
pub fn message<T: Default>(fill: impl FnOnce(&mut T)) -> T {
    let mut message = T::default();
    fill(&mut message);
    message
}

impl From<WireUuid> for Uuid {
    fn from(id: WireUuid) -> Self {
        Uuid(id.to_bytes())
    }
}

impl From<Uuid> for WireUuid {
    fn from(id: Uuid) -> Self {
        WireUuid::from_bytes(id.0)
    }
}

/// Decodes the rest of a frame as one message. Answers the bytes behind it too.
#[inline(always)]
pub(super) fn decode<T: KafkaDecode>(reader: Reader, version: i16) -> Result<(T, usize), Malformed> {
    let body = reader.rest();
    let limits = limits(body.len());
    let mut decoder = Decoder::new(body, limits).map_err(|error| malformed(&error))?;
    let message = T::decode(&mut decoder, ApiVersion::new(version)).map_err(|error| malformed(&error))?;
    Ok((message, decoder.remaining()))
}

/// Appends one message.
#[inline(always)]
pub(super) fn encode<T: KafkaEncode>(
    message: &T,
    writer: &mut Writer,
    version: i16,
) -> Result<(), Malformed> {
    writer.append(|out| {
        message
            .encode_into(out, ApiVersion::new(version))
            .map(drop)
            .map_err(|error| Malformed::Codec(error.to_string()))
    })
}

/// No array of a message of `len` bytes has more items than bytes.
fn limits(len: usize) -> DecodeLimits {
    let mut limits = DecodeLimits::default();
    limits.max_frame_bytes = len;
    limits.max_array_elements = len.min(MAX_ITEMS);
    limits
}

fn malformed(error: &kafka_wire_core::DecodeError) -> Malformed {
    Malformed::Codec(error.to_string())
}
