//! The list of every decoder, each with samples of what it is for.

mod logs;
mod nodes;
mod records;

use std::path::Path;
use std::sync::OnceLock;

use bytes::Bytes;
use highwater_core::broker::admit_answer;
use highwater_core::log::checkpoint;
use highwater_core::log::transaction_index::TransactionIndex;
use highwater_core::protocol::api::{BETWEEN_BROKERS, SERVED};
use highwater_core::protocol::header::decode_response_header;
use highwater_core::protocol::{ApiKey, SentAs, decode_request, decode_response, frame};

/// The dearest item of a request takes one byte there, and in memory a string of 32 in an array that
/// doubles as it grows: the old array of n items, the new one of 2n.
const MULTIPLE: usize = 128;
/// Of an answer, which only our own commands and a follower read: a listed group of three bytes is 152 in
/// memory.
const MULTIPLE_OF_ANSWERS: usize = 160;

pub struct Decoder {
    pub name: String,
    pub samples: Vec<Bytes>,
    /// Bytes of the samples that stay what they are when the rest is made up.
    pub head_bytes: usize,
    pub is_wire: bool,
    /// Times the input's length that it may hold.
    pub multiple: usize,
    /// What it may hold beyond the rule: buffers that a codec has whatever it unpacks.
    pub extra_bytes: usize,
    pub decode: Box<dyn Fn(Bytes) + Send + Sync>,
}

/// All of them, made once.
pub fn decoders() -> &'static [Decoder] {
    static DECODERS: OnceLock<Vec<Decoder>> = OnceLock::new();
    DECODERS.get_or_init(|| {
        [
            wire(),
            disk(),
            records::decoders(),
            logs::decoders(),
            nodes::decoders(),
        ]
        .into_iter()
        .flatten()
        .collect()
    })
}

pub fn fixtures() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/fixtures"))
}

/// A request's header without client id, and an answer's.
fn heads(api: ApiKey, version: i16) -> (Bytes, Bytes) {
    let mut request = [api.code().to_be_bytes(), version.to_be_bytes(), [0; 2], [1; 2]].concat();
    // The one request whose header has no client id.
    if (api, version) != (ApiKey::ControlledShutdown, 0) {
        request.extend([0xff; 2]);
    }
    let mut response = vec![0, 0, 0, 1];
    if api.is_flexible(version) {
        request.push(0);
        if api != ApiKey::ApiVersions {
            response.push(0);
        }
    }
    (request.into(), response.into())
}

fn wire() -> Vec<Decoder> {
    let mut all = Vec::new();
    for served in SERVED.iter().chain(BETWEEN_BROKERS) {
        for version in served.min..=served.max {
            let api = served.api;
            let (request_head, response_head) = heads(api, version);
            let (requests, responses) = recorded(api, version);
            all.push(Decoder {
                name: format!("{api} request v{version}"),
                head_bytes: request_head.len(),
                samples: [vec![request_head], requests].concat(),
                is_wire: true,
                multiple: MULTIPLE,
                extra_bytes: 0,
                decode: Box::new(|bytes| drop(decode_request(bytes))),
            });
            all.push(Decoder {
                name: format!("{api} answer v{version}"),
                head_bytes: response_head.len(),
                samples: [vec![response_head], responses].concat(),
                is_wire: true,
                multiple: MULTIPLE_OF_ANSWERS,
                extra_bytes: 0,
                decode: Box::new(move |bytes| {
                    drop(decode_response_header(bytes.clone(), api, version));
                    drop(decode_response(api, version, bytes.clone()));
                    drop(admit_answer(&bytes, SentAs { api, version }));
                }),
            });
        }
    }
    all.push(Decoder {
        name: "frame length".into(),
        samples: vec![Bytes::from_static(b"GET / HTTP/1.1")],
        head_bytes: 0,
        is_wire: false,
        multiple: MULTIPLE,
        extra_bytes: 0,
        decode: Box::new(|bytes| {
            if let Some(prefix) = bytes.first_chunk() {
                let _ = frame::request_length(*prefix, i32::MAX);
            }
        }),
    });
    all
}

/// Folders of recorded frames.
const RECORDED: [&str; 2] = ["wire", "control-3.9"];

/// What Kafka, its clients and its brokers sent of an API and version, if that was recorded.
fn recorded(api: ApiKey, version: i16) -> (Vec<Bytes>, Vec<Bytes>) {
    let (mut requests, mut responses) = (Vec::new(), Vec::new());
    for folder in RECORDED {
        let file = format!("{folder}/{:02}-{api}-v{version}.txt", api.code());
        let text = std::fs::read_to_string(fixtures().join(file)).unwrap_or_default();
        for line in text.lines() {
            match line.split_once(' ') {
                Some(("request", hex)) => requests.push(unhex(hex)),
                Some(("response", hex)) => responses.push(unhex(hex)),
                _ => panic!("a line that is neither request nor response"),
            }
        }
    }
    (requests, responses)
}

fn unhex(hex: &str) -> Bytes {
    let digits = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).expect("hex digits");
    (0..hex.len()).step_by(2).map(digits).collect()
}

#[test]
fn recorded_frames_are_found() {
    let (requests, responses) = recorded(ApiKey::Fetch, 18);
    assert!(!requests.is_empty() && !responses.is_empty());
}

#[test]
fn every_recorded_frame_has_its_round_trip_in_the_unit_tests() {
    let listed = include_str!("../../src/protocol/wire_samples.rs");
    let entries = RECORDED.map(|folder| std::fs::read_dir(fixtures().join(folder)).expect("list the frames"));
    for entry in entries.into_iter().flatten() {
        let path = entry.expect("read an entry").path();
        if path.extension().is_some_and(|extension| extension == "txt") {
            let name = path
                .file_name()
                .and_then(|name| name.to_str())
                .expect("a name in UTF-8");
            assert!(
                listed.contains(&format!("\"{name}\"")),
                "{name} is not in wire_samples.rs"
            );
        }
    }
}

/// A decoder of files: `names` are those of its samples.
fn file(name: &str, names: &[&str], decode: impl Fn(&[u8]) + Send + Sync + 'static) -> Decoder {
    let read = |name: &&str| Bytes::from(std::fs::read(fixtures().join(name)).expect(name));
    Decoder {
        name: name.into(),
        samples: names.iter().map(read).collect(),
        head_bytes: 0,
        is_wire: false,
        multiple: MULTIPLE,
        extra_bytes: 0,
        decode: Box::new(move |bytes| decode(&bytes)),
    }
}

fn disk() -> Vec<Decoder> {
    use checkpoint::{CleanShutdown, MetaProperties, PartitionMetadata};
    let mut all = vec![
        file(
            "offset checkpoint",
            &["recovery-point-offset-checkpoint", "log-start-offset-checkpoint"],
            |bytes| drop(checkpoint::read_offsets(bytes)),
        ),
        file(
            "leader epoch checkpoint",
            &["fx-txn-0/leader-epoch-checkpoint"],
            |bytes| {
                drop(checkpoint::read_epochs(bytes));
            },
        ),
        file("partition.metadata", &["fx-txn-0/partition.metadata"], |bytes| {
            drop(PartitionMetadata::read(bytes));
        }),
        file("meta.properties", &["meta.properties"], |bytes| {
            drop(MetaProperties::read(bytes));
        }),
        file(
            "transaction index",
            &["fx-txn-0/00000000000000000004.txnindex"],
            |bytes| drop(TransactionIndex::from_bytes(0, bytes)),
        ),
        file("clean shutdown mark", &[], |bytes| {
            drop(CleanShutdown::read(bytes));
        }),
    ];
    let mark = all.last_mut().expect("the list above");
    mark.samples.push(CleanShutdown { broker_epoch: 7 }.write());
    all
}
