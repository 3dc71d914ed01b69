//! Any request: bytes to a typed body and back.

use bytes::Bytes;

use super::api::ApiKey;
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

macro_rules! generated_requests {
    ($($api:ident: $message:ident;)*) => {
        /// The body of a request of any API that is served.
        #[derive(Clone, Debug, PartialEq)]
        pub enum RequestBody {
            Produce(ProduceRequest),
            Fetch(FetchRequest),
            /// ApiVersions at a version that is not served: to be answered with UNSUPPORTED_VERSION
            /// and the list of versions, in the form of version 0.
            UnsupportedApiVersions,
            $($api($message),)*
        }

        impl RequestBody {
            /// The API that the body belongs to.
            pub fn api(&self) -> ApiKey {
                match self {
                    RequestBody::Produce(_) => ApiKey::Produce,
                    RequestBody::Fetch(_) => ApiKey::Fetch,
                    RequestBody::UnsupportedApiVersions => ApiKey::ApiVersions,
                    $(RequestBody::$api(_) => ApiKey::$api,)*
                }
            }

            fn decode(mut reader: Reader, api: ApiKey, version: i16) -> Result<Self, Malformed> {
                match api {
                    ApiKey::Produce => ProduceRequest::decode(&mut reader, version).map(RequestBody::Produce),
                    ApiKey::Fetch => FetchRequest::decode(&mut reader, version).map(RequestBody::Fetch),
                    $(ApiKey::$api => messages::decode(reader, version).map(|(body, _)| RequestBody::$api(body)),)*
                    _ => Err(Malformed::UnsupportedApi { api: api.name() }),
                }
            }

            fn encode(&self, writer: &mut Writer, version: i16) -> Result<(), Malformed> {
                match self {
                    RequestBody::Produce(body) => body.encode(writer, version),
                    RequestBody::Fetch(body) => body.encode(writer, version),
                    RequestBody::UnsupportedApiVersions => {}
                    $(RequestBody::$api(body) => messages::encode(body, writer, version)?,)*
                }
                Ok(())
            }
        }
    };
}

generated_requests! {
    ListOffsets: ListOffsetsRequest;
    Metadata: MetadataRequest;
    FindCoordinator: FindCoordinatorRequest;
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
    IncrementalAlterConfigs: IncrementalAlterConfigsRequest;
    DescribeCluster: DescribeClusterRequest;
    DescribeTopicPartitions: DescribeTopicPartitionsRequest;
}

/// Decodes a request's frame, without its length. Bytes behind the body are ignored, as Kafka does.
///
/// An API or a version that is not served is an error that closes the connection, except for
/// ApiVersions ([`RequestBody::UnsupportedApiVersions`]).
pub fn decode_request(frame: Bytes) -> Result<Request, Malformed> {
    let size = frame.len();
    let (header, reader) = RequestHeader::decode(frame)?;
    let (api, version) = (header.api, header.version);
    let served = api
        .served()
        .ok_or(Malformed::UnsupportedApi { api: api.name() })?;
    let body = if served.has(version) {
        if api != ApiKey::Produce && size > MOST_CONTROL_BYTES {
            return Err(Malformed::TooLarge {
                what: api.name(),
                size: size as u64,
                most: MOST_CONTROL_BYTES as u64,
            });
        }
        RequestBody::decode(reader, api, version)?
    } else if api == ApiKey::ApiVersions {
        RequestBody::UnsupportedApiVersions
    } else {
        return Err(Malformed::UnsupportedVersion {
            api: api.name(),
            version,
        });
    };
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
