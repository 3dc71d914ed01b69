//! Our producer beside Java's: keys go to the same partitions, and batches are the same bytes.
//!
//! `tests/clients/java/…/Partition.java` asks the class that Java's producer asks, of kafka-clients 4.4;
//! `Repack.java` reads our batches with Java's classes and writes them anew. Needs Java and Kafka's jars:
//! `cargo xtask test` runs it with the clients.

use bytes::Bytes;
use highwater_core::producer::partitioner::murmur2::partition_for_key;
use highwater_core::record::compression::PURE_RUST;
use highwater_core::record::{Batch, BatchBuilder, Codec, Header, Record};
use highwater_core::types::Rng;
use highwater_tests::java;

const KEYS: u64 = 10_000;
/// Powers of two hide mistakes in the highest bits.
const COUNTS: &[i32] = &[1, 3, 5, 7, 10, 12, 37, 50, 100, 999, 1 << 16, i32::MAX];
/// Batches for each codec.
const BATCHES: u64 = 60;
const CODECS: &[Codec] = &[Codec::None, Codec::Gzip, Codec::Snappy, Codec::Lz4, Codec::Zstd];
const MOST_BYTES: usize = 1 << 20;

/// At most so many bytes.
fn drawn(rng: &mut Rng, most: u64) -> Vec<u8> {
    let bytes = rng.below(most + 1);
    (0..bytes).map(|_| rng.below(256) as u8).collect()
}

#[test]
fn keys_go_where_javas_producer_sends_them() {
    let mut rng = Rng::new(1);
    let mut keys: Vec<Vec<u8>> = (1..KEYS).map(|_| drawn(&mut rng, 40)).collect();
    keys.push(Vec::new());
    let cases = || keys.iter().zip(COUNTS.iter().cycle());
    let line = |(key, count): (&Vec<u8>, &i32)| format!("{}\t{count}\n", java::to_hex(key));
    let answers = java::ask("Partition", cases().map(line).collect());
    assert_eq!(answers.lines().count(), keys.len());
    for ((key, count), theirs) in cases().zip(answers.lines()) {
        let ours = partition_for_key(key, *count).to_string();
        assert_eq!(ours, theirs, "key {} of {count} partitions", java::to_hex(key));
    }
}

/// A batch as a producer may send it: with or without numbers, with nulls, headers and odd times.
fn batch(rng: &mut Rng, codec: Codec) -> Bytes {
    let mut builder = BatchBuilder::new(codec);
    if rng.below(2) == 0 {
        let id = rng.below(1 << 40) as i64;
        builder = builder.producer(id, rng.below(1000) as i16, rng.below(i32::MAX as u64) as i32);
    }
    let field = |rng: &mut Rng, most| (rng.below(5) > 0).then(|| drawn(rng, most));
    for _ in 0..1 + rng.below(20) {
        let (key, value) = (field(rng, 30), field(rng, 300));
        let header = |rng: &mut Rng| Header {
            key: format!("h{}", rng.below(9)).into(),
            value: field(rng, 20).map(Bytes::from),
        };
        let headers: Vec<Header> = (0..rng.below(3)).map(|_| header(rng)).collect();
        let timestamp = 1_700_000_000_000 + rng.below(100_000) as i64;
        builder.append(timestamp, key.as_deref(), value.as_deref(), &headers);
    }
    builder.build()
}

fn records(bytes: &Bytes) -> Vec<Record> {
    let batch = Batch::parse(bytes).expect("a batch");
    batch.check_crc().expect("sound");
    let records = batch.records(&PURE_RUST, MOST_BYTES).expect("packed records");
    records.map(|record| record.expect("a record")).collect()
}

#[test]
fn batches_are_read_by_both_and_written_alike() {
    let mut rng = Rng::new(2);
    for codec in CODECS {
        let ours: Vec<Bytes> = (0..BATCHES).map(|_| batch(&mut rng, *codec)).collect();
        let lines = ours.iter().map(|bytes| java::to_hex(bytes) + "\n").collect();
        let answers = java::ask("Repack", lines);
        assert_eq!(answers.lines().count(), ours.len(), "{codec:?}");
        for (ours, theirs) in ours.iter().zip(answers.lines()) {
            let theirs = Bytes::from(java::from_hex(theirs));
            if *codec == Codec::None {
                assert_eq!(ours, &theirs, "the same bytes");
            }
            assert_eq!(records(ours), records(&theirs), "{codec:?}");
            let header = |bytes: &Bytes| {
                let header = Batch::parse(bytes).expect("a batch").header;
                let numbers = (header.producer_id, header.producer_epoch, header.base_sequence);
                (
                    numbers,
                    header.attributes,
                    header.base_timestamp,
                    header.max_timestamp,
                )
            };
            assert_eq!(header(ours), header(&theirs), "{codec:?}");
        }
    }
}
