//! Admission: what a connection does with a frame before the owner sees it.
//!
//! Decoding and checking records takes most of a request's time and needs nothing of the broker but
//! a few rules, so it happens on the connection's side, against a snapshot of those rules. The
//! owner only decides. When the rules have changed in between, the owner checks again, once.

use std::sync::Arc;

use bytes::Bytes;

use crate::error::Malformed;
use crate::types::Millis;

/// The rules for admitting requests: a snapshot, replaced as a whole when a topic or a configuration changes.
#[derive(Clone, Debug, Default)]
pub struct Admission {
    /// Rises with each snapshot.
    pub version: u64,
}

/// A request, decoded and (for produce) validated.
#[derive(Debug)]
pub struct Admitted {
    pub api: i16,
    pub version: i16,
    pub correlation_id: i32,
    pub client_id: Option<Arc<str>>,
    /// Produces may be handled behind unanswered produces of their connection; anything else waits.
    pub is_produce: bool,
    /// False for a produce with acks=0: its answer has no part and only frees its place.
    pub expects_answer: bool,
    /// Length of the frame that the request keeps alive, for the memory budget.
    pub frame_bytes: u64,
}

/// Decodes a frame (without its length prefix) and checks what it carries.
///
/// An error means that the connection must be closed; the error's text is the reason. A request
/// that is well formed but wrong (unknown topic, bad batch) is admitted and answered with Kafka's error.
pub fn admit(frame: &Bytes, _rules: &Admission, _now: Millis) -> Result<Admitted, Malformed> {
    let short = |needed| Malformed::Truncated {
        what: "request header",
        needed,
        left: frame.len() as u64,
    };
    let head: &[u8; 8] = frame.first_chunk().ok_or_else(|| short(8))?;
    Err(Malformed::UnknownApi(i16::from_be_bytes([head[0], head[1]])))
}
