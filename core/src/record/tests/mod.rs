//! The record layer as a whole: against what Kafka wrote, against damage, and the validator's cases.

mod damage;
mod fixtures;
#[cfg(not(target_arch = "wasm32"))]
mod properties;
mod validation;

use bytes::Bytes;

use super::compression::PURE_RUST;
use super::{Batch, Batches, Header, Record};

/// Far above what any test holds.
const LIMIT: usize = 10 << 20;

fn batches(bytes: &'static [u8]) -> Vec<Batch> {
    Batches::new(Bytes::from_static(bytes))
        .map(|batch| batch.unwrap())
        .collect()
}

fn records(batch: &Batch) -> Vec<Record> {
    batch
        .records(&PURE_RUST, LIMIT)
        .unwrap()
        .map(|record| record.unwrap())
        .collect()
}

fn header(key: &str, value: Option<&str>) -> Header {
    Header {
        key: Bytes::copy_from_slice(key.as_bytes()),
        value: value.map(|value| Bytes::copy_from_slice(value.as_bytes())),
    }
}
