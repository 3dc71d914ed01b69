//! What whoever sends a request must remember of it, since the answer says neither API nor version.

use super::ApiKey;

/// A request to a broker, numbered by its sender and never again; its correlation id is `id as i32`.
pub type SendId = u64;

/// What a request was sent as, which its answer does not say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SentAs {
    pub api: ApiKey,
    pub version: i16,
}
