//! Records: written, read, looked up, deleted.

use bytes::Bytes;
use highwater_core::protocol::RequestBody;
use highwater_core::protocol::fetch::FetchPartition;
use highwater_core::record::{BatchBuilder, Codec};
use highwater_core::types::Uuid;

use super::{Case, NOBODY, case};
use crate::requests::*;

pub fn produce_cases() -> Vec<Case> {
    const V: i16 = 12;
    let by_name = |topic: &'static str, records: Option<Bytes>| {
        RequestBody::Produce(produce(topic, Uuid::ZERO, &[(0, records)]))
    };
    let one = || Some(batch(&["a", "b"]));
    let mut cases: Vec<Case> = (3..=V)
        .map(|version| case("a batch", version, move |_| by_name("t", one())))
        .collect();
    let of_producer = |epoch: i16, sequence: i32| {
        let made = BatchBuilder::new(Codec::None).producer(4242, epoch, sequence);
        Some(filled(made, &["x"]))
    };
    cases.extend([
        case("a batch, by id", 13, move |asker| {
            RequestBody::Produce(produce("", asker.id("t"), &[(0, one())]))
        }),
        case("an unknown id", 13, move |_| {
            RequestBody::Produce(produce("", NOBODY, &[(0, one())]))
        }),
        case("no such topic", V, move |_| by_name("none", one())),
        case("no such partition", V, move |_| {
            RequestBody::Produce(produce("t", Uuid::ZERO, &[(9, one())]))
        }),
        case("no topic at all", V, |_| {
            let mut request = produce("t", Uuid::ZERO, &[]);
            request.topics.clear();
            RequestBody::Produce(request)
        }),
        case("acks of 2", V, move |_| {
            let mut request = produce("t", Uuid::ZERO, &[(0, one())]);
            request.acks = 2;
            RequestBody::Produce(request)
        }),
        case("null records", V, move |_| by_name("t", None)),
        case("a batch whose checksum is wrong", V, move |_| {
            let mut bytes = batch(&["a"]).to_vec();
            if let Some(last) = bytes.last_mut() {
                *last ^= 1;
            }
            by_name("t", Some(bytes.into()))
        }),
        case("two batches", V, move |_| {
            by_name("t", Some([batch(&["a"]), batch(&["b"])].concat().into()))
        }),
        case("a control batch", V, move |_| {
            by_name(
                "t",
                Some(filled(BatchBuilder::new(Codec::None).control(true), &["a"])),
            )
        }),
        case("records without keys where they need one", V, move |_| {
            let mut unkeyed = BatchBuilder::new(Codec::None);
            unkeyed.append(TIME, None, Some(b"a"), &[]);
            by_name("keyed", Some(unkeyed.build()))
        }),
        case("a batch that is too large", V, move |_| {
            by_name("small", Some(batch(&[&"x".repeat(300)])))
        }),
        case("a batch with a gzip body", V, move |_| {
            by_name("t", Some(filled(BatchBuilder::new(Codec::Gzip), &["a", "b"])))
        }),
        case("a batch of a transaction that nobody began", V, move |_| {
            let made = BatchBuilder::new(Codec::None)
                .producer(4242, 0, 0)
                .transactional(true);
            let mut request = produce("t", Uuid::ZERO, &[(0, Some(filled(made, &["x"])))]);
            request.transactional_id = Some("nobody".into());
            RequestBody::Produce(request)
        }),
        case("a first batch of a producer", V, move |_| {
            by_name("t", of_producer(1, 0))
        }),
        case("the same batch of a producer again", V, move |_| {
            by_name("t", of_producer(1, 0))
        }),
        case("a batch of a producer with a gap before it", V, move |_| {
            by_name("t", of_producer(1, 9))
        }),
        case("a batch of a producer's older epoch", V, move |_| {
            by_name("t", of_producer(0, 0))
        }),
        case("a new epoch of a producer that does not begin", V, move |_| {
            by_name("t", of_producer(2, 5))
        }),
        case("a partition named twice", V, move |_| {
            let both = [(1, Some(batch(&["first"]))), (1, Some(batch(&["second"])))];
            RequestBody::Produce(produce("made-v2", Uuid::ZERO, &both))
        }),
    ]);
    cases
}

pub fn fetch_cases() -> Vec<Case> {
    const V: i16 = 12;
    let of = |parts: Vec<FetchPartition>| RequestBody::Fetch(fetch("t", Uuid::ZERO, parts));
    let mut cases: Vec<Case> = (4..=12)
        .map(|version| {
            case("two batches", version, move |_| {
                let mut part = part(0, 0);
                part.max_bytes = 180;
                of(vec![part])
            })
        })
        .collect();
    cases.extend((13..=18).map(|version| {
        case("the last batches", version, move |asker| {
            RequestBody::Fetch(fetch("", asker.id("t"), vec![part(0, 24)]))
        })
    }));
    cases.extend([
        case("an unknown id", 17, |_| {
            RequestBody::Fetch(fetch("", NOBODY, vec![part(0, 0)]))
        }),
        case("no such topic", V, |_| {
            RequestBody::Fetch(fetch("none", Uuid::ZERO, vec![part(0, 0)]))
        }),
        case("no such partition", V, move |_| of(vec![part(9, 0)])),
        case("an empty partition", V, move |_| of(vec![part(1, 0)])),
        case("an offset within a batch", V, move |_| {
            let mut part = part(0, 1);
            part.max_bytes = 1;
            of(vec![part])
        }),
        case("the end", V, move |_| of(vec![part(0, 10_000)])),
        case("an offset below all", V, move |_| of(vec![part(0, -1)])),
        case("a leader epoch to come", V, move |_| {
            let mut part = part(0, 0);
            part.current_leader_epoch = 5;
            of(vec![part])
        }),
        case("a last fetched epoch to come", V, move |_| {
            let mut part = part(0, 2);
            part.last_fetched_epoch = 5;
            of(vec![part])
        }),
        case(
            "a last fetched epoch with an offset beyond its end",
            V,
            move |_| {
                let mut part = part(0, 9_999);
                part.last_fetched_epoch = 0;
                of(vec![part])
            },
        ),
        case("a limit of no bytes", V, move |_| {
            let mut request = fetch("t", Uuid::ZERO, vec![part(0, 0)]);
            request.max_bytes = 0;
            RequestBody::Fetch(request)
        }),
        case("a limit below none", V, move |_| {
            let mut request = fetch("t", Uuid::ZERO, vec![part(0, 0)]);
            request.max_bytes = -1;
            RequestBody::Fetch(request)
        }),
        case("a partition's limit below none", V, move |_| {
            let mut part = part(0, 0);
            part.max_bytes = -1;
            of(vec![part])
        }),
        case("committed records only", V, move |_| {
            let mut request = fetch("t", Uuid::ZERO, vec![part(0, 24)]);
            request.isolation_level = 1;
            RequestBody::Fetch(request)
        }),
        case("an isolation level that does not exist", V, move |_| {
            let mut request = fetch("t", Uuid::ZERO, vec![part(0, 24)]);
            request.isolation_level = 7;
            RequestBody::Fetch(request)
        }),
        case("an unknown session", V, move |_| {
            let mut request = fetch("t", Uuid::ZERO, vec![part(0, 0)]);
            (request.session_id, request.session_epoch) = (99, 1);
            RequestBody::Fetch(request)
        }),
        case("a new session", V, move |_| {
            let mut request = fetch("t", Uuid::ZERO, vec![part(1, 0)]);
            request.session_epoch = 0;
            RequestBody::Fetch(request)
        }),
        case("a partition named twice", V, move |_| {
            of(vec![part(1, 0), part(1, 0)])
        }),
        case("nothing at all", V, |_| {
            let mut request = fetch("t", Uuid::ZERO, vec![]);
            request.topics.clear();
            RequestBody::Fetch(request)
        }),
    ]);
    cases
}

pub fn list_offsets_cases() -> Vec<Case> {
    const V: i16 = 11;
    let of = |partitions: &[(i32, i32, i64)]| RequestBody::ListOffsets(list_offsets("t", partitions));
    let mut cases: Vec<Case> = (1..=V)
        .map(|version| case("latest", version, move |_| of(&[(0, -1, -1)])))
        .collect();
    for special in -7..=-2 {
        let name = format!("special {special}");
        cases.push(case(&name, V, move |_| of(&[(0, -1, special)])));
        cases.push(case(&format!("special {special}, nothing there"), V, move |_| {
            of(&[(1, -1, special)])
        }));
    }
    cases.extend([
        case("a time", V, move |_| of(&[(0, -1, TIME + 1)])),
        case("a time before all", V, move |_| of(&[(0, -1, 0)])),
        case("a time after all", V, move |_| of(&[(0, -1, TIME * 2)])),
        case("a time, nothing there", V, move |_| of(&[(1, -1, TIME)])),
        case("a special before its time", 6, move |_| of(&[(0, -1, -3)])),
        case("no such partition", V, move |_| of(&[(9, -1, -1)])),
        case("no such topic", V, |_| {
            RequestBody::ListOffsets(list_offsets("none", &[(0, -1, -1)]))
        }),
        case("a leader epoch to come", V, move |_| of(&[(0, 5, -1)])),
        case("the leader epoch", V, move |_| of(&[(0, 0, -1)])),
        case("a partition named twice", V, move |_| {
            of(&[(0, -1, -1), (0, -1, -2)])
        }),
        case("committed records only", V, move |_| {
            let mut request = list_offsets("t", &[(0, -1, -1)]);
            request.isolation_level = 1;
            RequestBody::ListOffsets(request)
        }),
        case("an isolation level that does not exist", V, move |_| {
            let mut request = list_offsets("t", &[(0, -1, -1)]);
            request.isolation_level = 7;
            RequestBody::ListOffsets(request)
        }),
    ]);
    cases
}

pub fn epoch_cases() -> Vec<Case> {
    let mut cases: Vec<Case> = (2..=4)
        .map(|version| case("the epoch", version, |_| epoch_ends("t", &[(0, -1, 0)])))
        .collect();
    cases.extend([
        case("an epoch to come", 4, |_| epoch_ends("t", &[(0, -1, 5)])),
        case("no epoch", 4, |_| epoch_ends("t", &[(0, -1, -1)])),
        case("an empty partition", 4, |_| epoch_ends("t", &[(1, -1, 0)])),
        case("an epoch to come of an empty partition", 4, |_| {
            epoch_ends("t", &[(1, -1, 5)])
        }),
        case("a leader epoch to come", 4, |_| epoch_ends("t", &[(0, 5, 0)])),
        case("no such partition", 4, |_| epoch_ends("t", &[(9, -1, 0)])),
        case("no such topic", 4, |_| epoch_ends("none", &[(0, -1, 0)])),
    ]);
    cases
}

pub fn producer_id_cases() -> Vec<Case> {
    let mut cases: Vec<Case> = (0..=6)
        .map(|version| case("a new producer", version, |_| init_producer_id(None, -1, -1)))
        .collect();
    cases.extend([
        case("a producer without an epoch", 4, |_| {
            init_producer_id(None, 5, -1)
        }),
        case("a known producer without a transaction", 4, |_| {
            init_producer_id(None, 5, 3)
        }),
        case("an empty transactional id", 4, |_| {
            init_producer_id(Some(""), -1, -1)
        }),
    ]);
    cases
}

pub fn delete_records_cases() -> Vec<Case> {
    let mut cases: Vec<Case> = (0..=2)
        .map(|version| {
            case("below an offset", version, move |_| {
                delete_records("t", &[(0, 1 + i64::from(version))])
            })
        })
        .collect();
    cases.extend([
        case("below what is gone", 2, |_| delete_records("t", &[(0, 1)])),
        case("all of an empty partition", 2, |_| {
            delete_records("t", &[(1, -1)])
        }),
        case("beyond the end", 2, |_| delete_records("t", &[(0, 100_000)])),
        case("an offset below -1", 2, |_| delete_records("t", &[(0, -2)])),
        case("no such partition", 2, |_| delete_records("t", &[(9, 0)])),
        case("no such topic", 2, |_| delete_records("none", &[(0, 0)])),
        case("a partition named twice", 2, |_| {
            delete_records("t", &[(1, 0), (1, 0)])
        }),
    ]);
    cases
}
