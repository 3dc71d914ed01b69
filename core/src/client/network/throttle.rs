//! How long a node wants to be left alone (KIP-219). Before the versions named here the broker itself
//! held the answer back, and its number was only for information (`shouldClientThrottle`).

use crate::protocol::{ResponseBody, SentAs};
use crate::types::Millis;

/// The pause that an answer asks for, in ms; 0 for none.
pub(super) fn throttle_ms(sent: SentAs, body: &ResponseBody) -> Millis {
    let (throttle_ms, first) = match body {
        ResponseBody::Produce(answer) => (answer.throttle_time_ms, 6),
        ResponseBody::Fetch(answer) => (answer.throttle_time_ms, 8),
        ResponseBody::ListOffsets(answer) => (answer.throttle_time_ms, 3),
        ResponseBody::Metadata(answer) => (answer.throttle_time_ms, 6),
        ResponseBody::OffsetCommit(answer) => (answer.throttle_time_ms, 4),
        ResponseBody::OffsetFetch(answer) => (answer.throttle_time_ms, 4),
        ResponseBody::FindCoordinator(answer) => (answer.throttle_time_ms, 2),
        ResponseBody::JoinGroup(answer) => (answer.throttle_time_ms, 3),
        ResponseBody::Heartbeat(answer) => (answer.throttle_time_ms, 2),
        ResponseBody::LeaveGroup(answer) => (answer.throttle_time_ms, 2),
        ResponseBody::SyncGroup(answer) => (answer.throttle_time_ms, 2),
        ResponseBody::ApiVersions(answer) => (answer.throttle_time_ms, 2),
        ResponseBody::InitProducerId(answer) => (answer.throttle_time_ms, 1),
        _ => (0, 0),
    };
    if sent.version >= first {
        throttle_ms.into()
    } else {
        0
    }
}
