//! The coordination tree's files, what its nodes hold, and the text of a configuration.

use bytes::Bytes;
use highwater_core::config::BrokerConfig;
use highwater_core::coordination::{
    Coordination, CoordinationOp, Multi, Service, ServiceInput, ServiceOptions, ServiceOutput, recover,
};
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
    let (service_snapshot, service_log) = files_of_a_service();
    let behind = service_snapshot.clone();
    let mut log = file("coordination log", &[], move |bytes| {
        drop((recover(&[], bytes), recover(&behind, bytes)));
    });
    let (_, written) = tree_with("", &Bytes::new());
    log.samples.push(written);
    snapshot.samples.push(service_snapshot);
    log.samples.push(service_log);
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
        multiple: super::MULTIPLE,
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

/// Snapshot and log of a service with sessions, their nodes and numbered ones.
fn files_of_a_service() -> (Bytes, Bytes) {
    let mut trace = Trace::off();
    let empty = recover(&[], &[]).expect("nothing is sound");
    let mut service = Service::open(0, empty, ServiceOptions::default(), &mut trace);
    let mut files = (Bytes::new(), Vec::new());
    let mut put_in = |input| service.handle(0, input, EventId::default(), &mut trace);
    let ask = |multi| ServiceInput::Ask {
        client: 1,
        id: 0,
        op: CoordinationOp::Multi(multi),
    };
    let connect = |client| ServiceInput::Connect {
        client,
        timeout_ms: 6000,
        resume: None,
    };
    put_in(connect(1));
    put_in(connect(2));
    put_in(ask(Multi::new().create("/a", "").create_ephemeral("/e", "mine")));
    // So much that a snapshot follows, and none of it in the snapshot.
    put_in(ask(Multi::new().set("/a", vec![0; 1_000_000], None).set(
        "/a",
        vec![0; 100_000],
        None,
    )));
    put_in(ask(Multi::new().set("/a", "x", None)));
    write_down(&mut service, &mut files);
    for input in [
        connect(3),
        ask(Multi::new()
            .create_sequential("/a/n", "")
            .create_ephemeral("/a/e", "")
            .delete("/e", None)),
        ServiceInput::Close { client: 2 },
    ] {
        service.handle(0, input, EventId::default(), &mut trace);
    }
    write_down(&mut service, &mut files);
    (files.0, files.1.into())
}

fn write_down(service: &mut Service, (snapshot, log): &mut (Bytes, Vec<u8>)) {
    while let Some(output) = service.poll_output() {
        match output {
            ServiceOutput::Disk {
                op: DiskOp::Append { bufs, .. },
                ..
            } => log.extend_from_slice(&bufs.concat()),
            ServiceOutput::Disk {
                op: DiskOp::Truncate { len, .. },
                ..
            } => log.truncate(len as usize),
            ServiceOutput::Disk {
                op: DiskOp::Replace { bytes, .. },
                ..
            } => *snapshot = bytes,
            _ => {}
        }
    }
}

#[test]
fn a_service_leaves_both_files() {
    let (snapshot, log) = files_of_a_service();
    assert!(!snapshot.is_empty() && snapshot.len() < 1000 && !log.is_empty());
    let found = recover(&snapshot, &log).expect("sound files");
    assert_eq!(found.sessions.len(), 2, "one of three was closed");
    assert!(found.tree.exists("/a/n0000000000") && found.cut_bytes == 0);
}

#[test]
fn the_usual_nodes_are_read() {
    let (tree, _) = tree_with("", &Bytes::new());
    assert_eq!(MetadataImage::read(tree.tree()).1, []);
}
