//! No bytes, from the wire or from a disk, may make a decoder panic, loop or allocate more than a
//! small multiple of what it was given.
//!
//! Every decoder of the core is listed in [`decoders`], with samples of what it is for. Each is
//! fed with every sample cut at every byte, with samples in which bytes were changed, with bytes
//! from nowhere, and, for the wire, with bodies made to cost the most: counts as large as they can
//! be believed, of the smallest items that there are. An allocator that counts watches.
//!
//! Invariant: decoding n bytes holds at most its [`multiple`](Decoder::multiple) * n + [`ALLOWED_BYTES`] at once.

#![cfg(not(target_arch = "wasm32"))]

mod allocation;
mod decoders;

use bytes::Bytes;
use proptest::prelude::*;

use allocation::most_held_during;
use decoders::{Decoder, decoders};

/// What a decoder may hold whatever it is given: a first array of four items, an error's text.
const ALLOWED_BYTES: usize = 4096;

fn must_stay_small(decoder: &Decoder, input: &[u8]) {
    let bytes = Bytes::copy_from_slice(input);
    let held = most_held_during(|| (decoder.decode)(bytes));
    let allowed = decoder.multiple * input.len() + ALLOWED_BYTES + decoder.extra_bytes;
    assert!(
        held <= allowed,
        "{} held {held} bytes for an input of {}: {:02x?}",
        decoder.name,
        input.len(),
        &input[..input.len().min(64)],
    );
}

#[test]
fn every_sample_cut_anywhere_is_refused_or_read_but_never_hurts() {
    for decoder in decoders() {
        for sample in &decoder.samples {
            for end in 0..=sample.len() {
                must_stay_small(decoder, &sample[..end]);
            }
        }
    }
}

#[test]
fn the_dearest_counts_stay_small() {
    for decoder in decoders().iter().filter(|decoder| decoder.is_wire) {
        let head = decoder.samples[0].slice(..decoder.head_bytes);
        for items in SMALLEST_ITEMS {
            for before in 0..32 {
                for count in DEAREST_COUNTS {
                    let made_up =
                        [&vec![0; before], *count, &items.repeat(BODY_BYTES / items.len())].concat();
                    must_stay_small(decoder, &[&head, &made_up[..]].concat());
                }
            }
        }
    }
}

const BODY_BYTES: usize = 6200;
/// Empty strings and arrays in both spellings, without and with the tagged fields that follow them.
const SMALLEST_ITEMS: &[&[u8]] = &[&[0], &[1], &[0xff], &[1, 0], &[1, 1, 0], &[1, 1, 1, 0]];
/// About as many items as the body has bytes, and far more, as varint and as four bytes.
const DEAREST_COUNTS: &[&[u8]] = &[
    &[0xac, 0x30],
    &[0xff, 0xff, 0xff, 0xff, 0x07],
    &[0, 0, 0x18, 0x2c],
    &[0x7f, 0xff, 0xff, 0xff],
];

/// A sample with some bytes changed and perhaps an end cut off.
fn spoil(sample: &[u8], changes: &[(prop::sample::Index, u8)], end: prop::sample::Index) -> Vec<u8> {
    let mut bytes = sample.to_vec();
    for (at, value) in changes {
        if !bytes.is_empty() {
            let at = at.index(bytes.len());
            bytes[at] = *value;
        }
    }
    bytes.truncate(bytes.len() - end.index(bytes.len() + 1) / 4);
    bytes
}

/// Bytes that lengths and counts like to be.
fn telling_byte() -> impl Strategy<Value = u8> {
    prop_oneof![Just(0), Just(1), Just(0x7f), Just(0x80), Just(0xff), any::<u8>()]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn changed_samples_never_hurt(
        changes in prop::collection::vec((any::<prop::sample::Index>(), telling_byte()), 1..8),
        end in any::<prop::sample::Index>(),
    ) {
        for decoder in decoders() {
            for sample in &decoder.samples {
                must_stay_small(decoder, &spoil(sample, &changes, end));
            }
        }
    }

    #[test]
    fn bytes_from_nowhere_never_hurt(body in prop::collection::vec(telling_byte(), 0..512)) {
        for decoder in decoders() {
            must_stay_small(decoder, &body);
            if let Some(sample) = decoder.samples.first() {
                let input = [&sample[..decoder.head_bytes], &body[..]].concat();
                must_stay_small(decoder, &input);
            }
        }
    }
}
