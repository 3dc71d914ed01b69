//! # The stages of a producer
//!
//! The path of a record, each stage a file of its own:
//!
//! ```text
//! ProducerRecord ──► [interceptor] ──► [serializer] ──► [partitioner] ──► batches, requests ──► broker
//! ```
//!
//! [`config`] has the settings, [`record`] what goes in and what comes out. Each stage is a value that
//! can be copied with the world it lives in, decides by what it is handed, and draws chance only from
//! the client's seed.
//!
//! Invariants
//! - equal keys go to equal partitions, and to the same ones as with Java's clients
//! - an interceptor that fails stops neither the others nor the record

pub mod config;
pub mod interceptor;
pub mod partitioner;
pub mod record;
pub mod serializer;

pub use config::ProducerConfig;
pub use interceptor::{Interceptors, ProducerInterceptor};
pub use record::{FlushId, ProducerError, ProducerEvent, ProducerRecord, RecordId, RecordMetadata};
pub use serializer::{Data, Serializer};
