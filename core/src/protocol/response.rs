//! Any answer: a typed body to the parts that are sent, and back.

use bytes::Bytes;

use super::api::{ApiKey, spoken};
use super::control::{
    ControlledShutdownResponse, LeaderAndIsrResponse, StopReplicaResponse, UpdateMetadataResponse,
};
use super::fetch::FetchResponse;
use super::header::{decode_response_header, encode_response_header};
use super::messages::{self, *};
use super::primitives::{Reader, Writer};
use super::produce::ProduceResponse;
use crate::disk::Parts;
use crate::error::Malformed;

/// An answer, decoded.
#[derive(Clone, Debug, PartialEq)]
pub struct Response {
    pub correlation_id: i32,
    pub body: ResponseBody,
}

macro_rules! responses {
    (by hand { $($by_hand:ident: $ours:ident;)* } generated { $($api:ident: $message:ident;)* }) => {
        /// The body of an answer of any API that is served.
        #[derive(Clone, Debug, PartialEq)]
        pub enum ResponseBody {
            $($by_hand($ours),)*
            $($api($message),)*
        }

        impl ResponseBody {
            /// The API that the body belongs to.
            pub fn api(&self) -> ApiKey {
                match self {
                    $(ResponseBody::$by_hand(_) => ApiKey::$by_hand,)*
                    $(ResponseBody::$api(_) => ApiKey::$api,)*
                }
            }

            fn decode(mut reader: Reader, api: ApiKey, version: i16) -> Result<Self, Malformed> {
                match api {
                    $(ApiKey::$by_hand => {
                        let version = spoken!($by_hand, version);
                        let body = $ours::decode(&mut reader, version)?;
                        let finished = reader.finish(concat!(stringify!($by_hand), " answer"));
                        finished.map(|()| ResponseBody::$by_hand(body))
                    })*
                    $(ApiKey::$api => match messages::decode(reader, spoken!($api, version))? {
                        (body, 0) => Ok(ResponseBody::$api(body)),
                        (_, left) => Err(Malformed::TrailingBytes {
                            what: concat!(stringify!($api), " answer"),
                            left: left as u64,
                        }),
                    },)*
                    _ => Err(Malformed::UnsupportedApi { api: api.name() }),
                }
            }

            fn encode(&self, writer: &mut Writer, version: i16) -> Result<(), Malformed> {
                match self {
                    $(ResponseBody::$by_hand(body) => body.encode(writer, spoken!($by_hand, version)),)*
                    $(ResponseBody::$api(body) => messages::encode(body, writer, spoken!($api, version))?,)*
                }
                Ok(())
            }
        }

        $(
            impl From<$ours> for ResponseBody {
                fn from(body: $ours) -> Self {
                    ResponseBody::$by_hand(body)
                }
            }
        )*

        $(
            impl From<$message> for ResponseBody {
                fn from(body: $message) -> Self {
                    ResponseBody::$api(body)
                }
            }
        )*
    };
}

responses! {
    by hand {
        Produce: ProduceResponse;
        Fetch: FetchResponse;
        LeaderAndIsr: LeaderAndIsrResponse;
        StopReplica: StopReplicaResponse;
        UpdateMetadata: UpdateMetadataResponse;
        ControlledShutdown: ControlledShutdownResponse;
    }
    generated {
        ListOffsets: ListOffsetsResponse;
        Metadata: MetadataResponse;
        OffsetCommit: OffsetCommitResponse;
        OffsetFetch: OffsetFetchResponse;
        FindCoordinator: FindCoordinatorResponse;
        JoinGroup: JoinGroupResponse;
        Heartbeat: HeartbeatResponse;
        LeaveGroup: LeaveGroupResponse;
        SyncGroup: SyncGroupResponse;
        DescribeGroups: DescribeGroupsResponse;
        ListGroups: ListGroupsResponse;
        ApiVersions: ApiVersionsResponse;
        CreateTopics: CreateTopicsResponse;
        DeleteTopics: DeleteTopicsResponse;
        DeleteRecords: DeleteRecordsResponse;
        InitProducerId: InitProducerIdResponse;
        OffsetForLeaderEpoch: OffsetForLeaderEpochResponse;
        DescribeConfigs: DescribeConfigsResponse;
        AlterConfigs: AlterConfigsResponse;
        DescribeLogDirs: DescribeLogDirsResponse;
        CreatePartitions: CreatePartitionsResponse;
        ElectLeaders: ElectLeadersResponse;
        IncrementalAlterConfigs: IncrementalAlterConfigsResponse;
        AlterPartitionReassignments: AlterPartitionReassignmentsResponse;
        ListPartitionReassignments: ListPartitionReassignmentsResponse;
        AlterPartition: AlterPartitionResponse;
        DeleteGroups: DeleteGroupsResponse;
        OffsetDelete: OffsetDeleteResponse;
        DescribeCluster: DescribeClusterResponse;
        ListConfigResources: ListConfigResourcesResponse;
        DescribeTopicPartitions: DescribeTopicPartitionsResponse;
        ConsumerGroupHeartbeat: ConsumerGroupHeartbeatResponse;
        ConsumerGroupDescribe: ConsumerGroupDescribeResponse;
    }
}

/// Encodes an answer as a frame, its length included, to a request of `version`. An answer to
/// ApiVersions at a version that is not served takes the form of version 0.
///
/// An error means that a field was set that the version does not have: a mistake of the handler.
pub fn encode_response(correlation_id: i32, version: i16, body: &ResponseBody) -> Result<Parts, Malformed> {
    let api = body.api();
    let served = api
        .served()
        .ok_or(Malformed::UnsupportedApi { api: api.name() })?;
    let version = match api {
        _ if served.has(version) => version,
        ApiKey::ApiVersions => 0,
        _ => return Err(served.lacks(version)),
    };
    let mut writer = Writer::frame(false);
    encode_response_header(&mut writer, api, version, correlation_id);
    body.encode(&mut writer, version)?;
    writer.finish_frame()
}

/// Decodes the frame, without its length, of an answer to a request of `api` and `version`: the
/// client's side. A broker that does not have the asked version of ApiVersions answers in the form
/// of version 0, which is understood too.
pub fn decode_response(api: ApiKey, version: i16, frame: Bytes) -> Result<Response, Malformed> {
    let decode = |frame: Bytes, version: i16| {
        let (correlation_id, reader) = decode_response_header(frame, api, version)?;
        let body = ResponseBody::decode(reader, api, version)?;
        Ok(Response { correlation_id, body })
    };
    let first = decode(frame.clone(), version);
    if first.is_err() && api == ApiKey::ApiVersions && version > 0 {
        return decode(frame, 0);
    }
    first
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::Part;
    use crate::error::ErrorCode;

    #[test]
    fn a_refusal_of_api_versions_is_readable_at_any_version() {
        let body = message(|m: &mut ApiVersionsResponse| m.error_code = ErrorCode::UnsupportedVersion.code());
        let parts = encode_response(7, 99, &body.into()).unwrap();
        let [Part::Bytes(bytes)] = parts.as_slice() else {
            panic!("{parts:?}")
        };
        // Correlation id, error code, an empty list: the form of version 0.
        assert_eq!(bytes[..], [0, 0, 0, 10, 0, 0, 0, 7, 0, 35, 0, 0, 0, 0]);
        let back = decode_response(ApiKey::ApiVersions, 5, bytes.slice(4..)).unwrap();
        let ResponseBody::ApiVersions(answer) = back.body else {
            panic!("another API")
        };
        assert_eq!(answer.error_code, 35);
    }

    #[test]
    fn a_field_that_the_version_lacks_is_an_error_and_not_dropped() {
        let body = message(|m: &mut FindCoordinatorResponse| m.node_id = 1);
        assert!(encode_response(1, 3, &body.clone().into()).is_ok());
        assert!(encode_response(1, 4, &body.into()).is_err());
    }
}
