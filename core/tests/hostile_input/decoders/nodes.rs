//! The coordination tree's files, what its nodes hold, and the text of a configuration.

use bytes::Bytes;
use highwater_core::config::BrokerConfig;
use highwater_core::coordination::{Coordination, Multi, recover};
use highwater_core::cx::Cx;
use highwater_core::disk::{DiskOp, DiskQueue};
use highwater_core::metadata::MetadataImage;
use highwater_core::trace::{EventId, Trace};
use highwater_core::types::Rng;

use super::{Decoder, file};

/// Nodes as a broker with one topic writes them, parents first.
const NODES: &[(&str, &str)] = &[
    ("/cluster", ""),
    ("/cluster/id", r#"{"version":"1","id":"AAAAAAAAQACAAAAAAAAAAQ"}"#),
    (
        "/latest_producer_id_block",
        r#"{"version":1,"broker":1,"block_start":"0","block_end":"999"}"#,
    ),
    ("/config", ""),
    ("/config/brokers", ""),
    (
        "/config/brokers/<default>",
        r#"{"version":1,"config":{"log.retention.ms":"1000"}}"#,
    ),
    ("/config/topics", ""),
    (
        "/config/topics/t",
        r#"{"version":1,"config":{"retention.ms":"1000"}}"#,
    ),
    ("/brokers", ""),
    ("/brokers/topics", ""),
    (
        "/brokers/topics/t",
        r#"{"removing_replicas":{},"partitions":{"0":[1]},"topic_id":"AAAAAAAAQACAAAAAAAAAAQ","adding_replicas":{},"version":3}"#,
    ),
    ("/brokers/topics/t/partitions", ""),
    ("/brokers/topics/t/partitions/0", ""),
    (
        "/brokers/topics/t/partitions/0/state",
        r#"{"controller_epoch":1,"leader":1,"version":1,"leader_epoch":0,"isr":[1]}"#,
    ),
];

pub fn decoders() -> Vec<Decoder> {
    let mut snapshot = file("coordination snapshot", &[], |bytes| drop(recover(bytes, &[])));
    let mut log = file("coordination log", &[], |bytes| drop(recover(&[], bytes)));
    let (_, written) = tree_with("", &Bytes::new());
    snapshot.samples.push(written.clone());
    log.samples.push(written);
    let mut properties = file("server.properties", &[], |bytes| {
        drop(BrokerConfig::load("f", &String::from_utf8_lossy(bytes), &[]));
    });
    properties.samples.push(Bytes::from_static(
        b"broker.id=1\nlisteners=PLAINTEXT://127.0.0.1:9092\nlog.dirs=/a,\\\n  /b\nlog.retention.ms=\\u0031\n",
    ));
    let nodes = NODES.iter().filter(|(_, data)| !data.is_empty());
    let nodes = nodes.map(|&(path, data)| Decoder {
        name: format!("node {path}"),
        samples: vec![Bytes::from_static(data.as_bytes())],
        head_bytes: 0,
        is_wire: false,
        extra_bytes: OTHER_NODES_BYTES,
        decode: Box::new(move |bytes| {
            let (tree, _) = tree_with(path, &bytes);
            drop(MetadataImage::read(tree.tree()));
        }),
    });
    nodes.chain([snapshot, log, properties]).collect()
}

/// The rest of the tree, and the table of keys that a configuration is read against.
const OTHER_NODES_BYTES: usize = 1 << 20;

/// The tree of [`NODES`] in which `path` holds `data` instead, and its log as the core writes it.
fn tree_with(path: &str, data: &Bytes) -> (Coordination, Bytes) {
    let (mut rng, mut disk, mut trace) = (Rng::new(1), DiskQueue::default(), Trace::off());
    let mut cx = Cx {
        now: 0,
        rng: &mut rng,
        disk: &mut disk,
        trace: &mut trace,
        cause: EventId::default(),
    };
    let empty = recover(&[], &[]).expect("nothing is sound");
    let mut tree = Coordination::open(&mut cx, 0, empty);
    for &(node, usual) in NODES {
        let data = match node == path {
            true => data.clone(),
            false => Bytes::from_static(usual.as_bytes()),
        };
        tree.submit(&mut cx, &Multi::new().create(node, data))
            .expect("a new node");
    }
    let appended = disk.take().into_iter().filter_map(|queued| match queued.op {
        DiskOp::Append { bufs, .. } => Some(bufs.concat()),
        _ => None,
    });
    (tree, appended.collect::<Vec<_>>().concat().into())
}

#[test]
fn the_usual_nodes_are_read() {
    let (tree, _) = tree_with("", &Bytes::new());
    assert_eq!(MetadataImage::read(tree.tree()).1, []);
}
