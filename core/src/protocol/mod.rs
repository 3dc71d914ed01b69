//! # The wire: what travels between a client and a broker
//!
//! A connection carries frames: four bytes of length, then a header, then a body. The header of a
//! request names an API (Produce, Fetch, …) and a version of it; the shape of everything after
//! depends on the two. From some version on an API is *flexible* (KIP-482): strings and arrays
//! have compact lengths, and every structure ends with a list of tagged fields that an older
//! reader skips. An answer repeats the request's correlation id and nothing else, so a client must
//! remember what it asked.
//!
//! Reading order: [`primitives`] (the bounded reader and the writer), [`frame`] (what a length may
//! be), [`header`], [`api`] (which versions are served), [`produce`] and [`fetch`] (by hand, since
//! they carry records and must not copy them), [`control`] (by hand, since Kafka 4 has them no
//! more), [`messages`] (everything else, from the crate `kafka-wire`), [`request`] and [`response`]
//! (one enum each, over all of it); [`sent`] is what a client must remember, [`consumer_protocol`]
//! what members of a group tell each other within two of these.
//!
//! Invariants
//! - no length and no count is believed before the bytes that it promises are seen: decoding n
//!   bytes allocates at most a small multiple of n, whatever they claim
//! - records are never copied: a decoded produce holds slices of its frame, an encoded fetch holds
//!   the [`Part`](crate::disk::Part)s that it was given
//! - null and empty are never confused
//! - `kafka-wire` is named only below this module

pub mod api;
#[cfg(test)]
mod by_hand_against_schemas;
pub mod consumer_protocol;
pub mod control;
pub mod fetch;
pub mod frame;
pub mod header;
pub mod leadership;
pub mod messages;
pub mod primitives;
pub mod produce;
pub mod request;
pub mod response;
pub mod sent;
#[cfg(test)]
mod wire_samples;

pub use api::{ApiKey, ServedApi};
pub use header::RequestHeader;
pub use kafka_wire_core::StrBytes;
pub use request::{Request, RequestBody, decode_request, encode_request};
pub use response::{Response, ResponseBody, decode_response, encode_response};
pub use sent::{SendId, SentAs};
