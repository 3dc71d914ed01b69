//! Any request: bytes to a typed body and back.

use bytes::Bytes;

use super::api::{ApiKey, spoken};
use super::control::{
    ControlledShutdownRequest, LeaderAndIsrRequest, StopReplicaRequest, UpdateMetadataRequest,
};
use super::fetch::FetchRequest;
use super::header::RequestHeader;
use super::messages::{self, *};
use super::primitives::{Reader, Writer};
use super::produce::ProduceRequest;
use crate::error::Malformed;

/// A request, decoded.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    pub header: RequestHeader,
    pub body: RequestBody,
}

macro_rules! requests {
    (by hand { $($by_hand:ident: $ours:ident;)* } generated { $($api:ident: $message:ident;)* }) => {
        /// The body of a request of any API that is served.
        #[derive(Clone, Debug, PartialEq)]
        pub enum RequestBody {
            $($by_hand($ours),)*
            /// ApiVersions at a version that is not served: to be answered with UNSUPPORTED_VERSION
            /// and the list of versions, in the form of version 0.
            UnsupportedApiVersions,
            $($api($message),)*
        }

        impl RequestBody {
            /// The API that the body belongs to.
            pub fn api(&self) -> ApiKey {
                match self {
                    $(RequestBody::$by_hand(_) => ApiKey::$by_hand,)*
                    RequestBody::UnsupportedApiVersions => ApiKey::ApiVersions,
                    $(RequestBody::$api(_) => ApiKey::$api,)*
                }
            }

            fn decode(mut reader: Reader, api: ApiKey, version: i16) -> Result<Self, Malformed> {
                match api {
                    $(ApiKey::$by_hand => {
                        let version = spoken!($by_hand, version);
                        $ours::decode(&mut reader, version).map(RequestBody::$by_hand)
                    })*
                    $(ApiKey::$api => {
                        let version = spoken!($api, version);
                        messages::decode(reader, version).map(|(body, _)| RequestBody::$api(body))
                    })*
                    _ => Err(Malformed::UnsupportedApi { api: api.name() }),
                }
            }

            fn encode(&self, writer: &mut Writer, version: i16) -> Result<(), Malformed> {
                match self {
                    $(RequestBody::$by_hand(body) => body.encode(writer, spoken!($by_hand, version)),)*
                    RequestBody::UnsupportedApiVersions => {}
                    $(RequestBody::$api(body) => messages::encode(body, writer, spoken!($api, version))?,)*
                }
                Ok(())
            }
        }
    };
}

requests! {
    by hand {
        Produce: ProduceRequest;
        Fetch: FetchRequest;
        LeaderAndIsr: LeaderAndIsrRequest;
        StopReplica: StopReplicaRequest;
        UpdateMetadata: UpdateMetadataRequest;
        ControlledShutdown: ControlledShutdownRequest;
    }
    generated {
        ListOffsets: ListOffsetsRequest;
        Metadata: MetadataRequest;
        OffsetCommit: OffsetCommitRequest;
        OffsetFetch: OffsetFetchRequest;
        FindCoordinator: FindCoordinatorRequest;
        JoinGroup: JoinGroupRequest;
        Heartbeat: HeartbeatRequest;
        LeaveGroup: LeaveGroupRequest;
        SyncGroup: SyncGroupRequest;
        DescribeGroups: DescribeGroupsRequest;
        ListGroups: ListGroupsRequest;
        ApiVersions: ApiVersionsRequest;
        CreateTopics: CreateTopicsRequest;
        DeleteTopics: DeleteTopicsRequest;
        DeleteRecords: DeleteRecordsRequest;
        InitProducerId: InitProducerIdRequest;
        OffsetForLeaderEpoch: OffsetForLeaderEpochRequest;
        DescribeConfigs: DescribeConfigsRequest;
        AlterConfigs: AlterConfigsRequest;
        DescribeLogDirs: DescribeLogDirsRequest;
        CreatePartitions: CreatePartitionsRequest;
        ElectLeaders: ElectLeadersRequest;
        IncrementalAlterConfigs: IncrementalAlterConfigsRequest;
        AlterPartitionReassignments: AlterPartitionReassignmentsRequest;
        ListPartitionReassignments: ListPartitionReassignmentsRequest;
        AlterPartition: AlterPartitionRequest;
        DeleteGroups: DeleteGroupsRequest;
        OffsetDelete: OffsetDeleteRequest;
        DescribeCluster: DescribeClusterRequest;
        ListConfigResources: ListConfigResourcesRequest;
        DescribeTopicPartitions: DescribeTopicPartitionsRequest;
        ConsumerGroupHeartbeat: ConsumerGroupHeartbeatRequest;
        ConsumerGroupDescribe: ConsumerGroupDescribeRequest;
    }
}

/// Decodes a request's frame, without its length. Bytes behind the body are ignored, as Kafka does.
///
/// An API or a version that is not served is an error that closes the connection, except for
/// ApiVersions ([`RequestBody::UnsupportedApiVersions`]).
pub fn decode_request(frame: Bytes) -> Result<Request, Malformed> {
    let size = frame.len();
    let (header, reader) = RequestHeader::decode(frame)?;
    let (api, version) = (header.api, header.version);
    if !api.serves(version) {
        let body = RequestBody::UnsupportedApiVersions;
        return Ok(Request { header, body });
    }
    if api != ApiKey::Produce && size > MOST_CONTROL_BYTES {
        return Err(Malformed::TooLarge {
            what: api.name(),
            size: size as u64,
            most: MOST_CONTROL_BYTES as u64,
        });
    }
    let body = RequestBody::decode(reader, api, version)?;
    Ok(Request { header, body })
}

/// Encodes a request as a frame, its length included: the client's side. The header's API must be
/// the body's.
pub fn encode_request(header: &RequestHeader, body: &RequestBody) -> Result<Bytes, Malformed> {
    let mut writer = Writer::frame(false);
    header.encode(&mut writer);
    body.encode(&mut writer, header.version)?;
    writer.finish_whole_frame()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(api: i16, version: i16, rest: &[u8]) -> Bytes {
        let head = [
            &api.to_be_bytes()[..],
            &version.to_be_bytes(),
            &7i32.to_be_bytes(),
        ]
        .concat();
        [&head, rest].concat().into()
    }

    #[test]
    fn api_versions_of_a_version_from_the_future_is_still_a_request() {
        for rest in [&[][..], &[0xff, 0xff, 0], &[0x7f, 0xff, 1]] {
            let request = decode_request(frame(18, 99, rest)).unwrap();
            assert_eq!(request.body, RequestBody::UnsupportedApiVersions);
            assert_eq!(request.header.correlation_id, 7);
        }
    }

    #[test]
    fn what_is_not_served_is_refused_by_name() {
        let line = |api, version| {
            decode_request(frame(api, version, &[0xff, 0xff]))
                .unwrap_err()
                .to_string()
        };
        assert!(line(0, 2).starts_with("Produce version 2 is not served, only 3 to 13:"));
        assert!(line(1, 19).starts_with("Fetch version 19 is not served, only 4 to 18:"));
        assert_eq!(line(24, 5), "AddPartitionsToTxn is not served here");
        assert!(line(999, 0).starts_with("unknown API key 999: this is no Kafka client"));
    }

    #[test]
    fn bytes_behind_the_body_are_ignored_as_kafka_does() {
        let request = decode_request(frame(18, 0, &[0xff, 0xff, 1, 2, 3])).unwrap();
        assert!(matches!(request.body, RequestBody::ApiVersions(_)));
    }

    #[test]
    fn a_huge_request_without_records_is_refused() {
        let rest = [&[0xff, 0xff][..], &vec![0; MOST_CONTROL_BYTES]].concat();
        assert!(matches!(
            decode_request(frame(3, 1, &rest)),
            Err(Malformed::TooLarge { what: "Metadata", .. })
        ));
    }

    #[test]
    fn fourteen_bytes_that_claim_two_billion_items_are_refused() {
        // An empty client id, then the count.
        let request = frame(3, 1, &[0, 0, 0x7f, 0xff, 0xff, 0xff]);
        assert_eq!(request.len(), 14);
        assert!(decode_request(request).is_err());
    }
}
