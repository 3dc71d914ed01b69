//! ApiVersions: which requests this broker serves, in which versions (KIP-35, KIP-511).

use super::State;
use super::caller::Caller;
use crate::error::ErrorCode;
use crate::protocol::api::{ApiKey, SERVED};
use crate::protocol::messages::api_versions_response::ApiVersion;
use crate::protocol::messages::{ApiVersionsRequest, ApiVersionsResponse, message};

impl State {
    /// No features are listed: none that KIP-584 versions exists here.
    pub(super) fn api_versions(&mut self, caller: &Caller, request: &ApiVersionsRequest) {
        let error = if caller.version >= 3 && !is_valid(request) {
            ErrorCode::InvalidRequest
        } else if self.is_another(request) {
            ErrorCode::RebootstrapRequired
        } else {
            ErrorCode::None
        };
        self.out.answer(caller, answer(error));
    }

    /// The client means another broker, or one of another cluster, by this address (KIP-1242).
    fn is_another(&self, request: &ApiVersionsRequest) -> bool {
        let other_cluster = |id: &str| id != &**self.image.cluster_id();
        let other_node = request.node_id >= 0 && request.node_id != self.config.node_id;
        request.cluster_id.as_deref().is_some_and(other_cluster) || other_node
    }

    /// A version that is not served: the answer takes the form of version 0, which every client reads.
    pub(super) fn unsupported_api_versions(&mut self, caller: &Caller) {
        self.out.answer(caller, answer(ErrorCode::UnsupportedVersion));
    }
}

fn answer(error: ErrorCode) -> ApiVersionsResponse {
    message(|answer: &mut ApiVersionsResponse| {
        answer.error_code = error.code();
        answer.api_keys = SERVED
            .iter()
            .filter(|served| match error {
                ErrorCode::None => true,
                // Enough to ask again rightly; what Kafka says too.
                ErrorCode::UnsupportedVersion => served.api == ApiKey::ApiVersions,
                _ => false,
            })
            .map(|served| {
                message(|row: &mut ApiVersion| {
                    row.api_key = served.api.code();
                    row.min_version = served.listed_min;
                    row.max_version = served.max;
                })
            })
            .collect();
    })
}

/// Kafka's `ApiVersionsRequest.isValid`: name and version of the client's software begin and end with
/// a letter or digit and hold nothing but letters, digits, `.` and `-`.
fn is_valid(request: &ApiVersionsRequest) -> bool {
    [&*request.client_software_name, &*request.client_software_version]
        .into_iter()
        .all(|text| {
            let ends = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
            ends(text.chars().next())
                && ends(text.chars().last())
                && text
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-'))
        })
}
