//! Two hosts, one broker: the native driver with real sockets and files, and the host in memory.
//!
//! Both are given the same requests at the same times. Every answer must be the same bytes, and at the
//! end so must every file. So whatever is seen in the simulator is what the real program does.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use highwater::clock::Clock;
use highwater::coordination::Embedded;
use highwater::disk::Disk;
use highwater::driver::{Driver, Stage, Untraced};
use highwater::server::{Connections, Limits, serve};
use highwater_core::broker::{Boot, BootDir, Broker};
use highwater_core::config::{BrokerConfig, Endpoint};
use highwater_core::io::{ConnId, Input, RequestId};
use highwater_core::protocol::fetch::{FetchPartition, FetchRequest, FetchTopic};
use highwater_core::protocol::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};
use highwater_core::protocol::messages::metadata_request::MetadataRequestTopic;
use highwater_core::protocol::messages::{
    ApiVersionsRequest, InitProducerIdRequest, ListOffsetsRequest, MetadataRequest, message,
};
use highwater_core::protocol::produce::{ProducePartition, ProduceRequest, ProduceTopic};
use highwater_core::protocol::{RequestBody, RequestHeader, encode_request};
use highwater_core::record::{BatchBuilder, Codec};
use highwater_core::sim::Host;
use highwater_core::sim::host::{Answer, EPOCH_MS};
use highwater_core::trace::Trace;
use highwater_core::types::Millis;
use highwater_tests::requests::{CREATE_TOPICS, create_topic_request};

const SETTINGS: [&str; 4] = [
    "broker.id=1",
    "log.dirs=data",
    "log.segment.bytes=1048576",
    "log.index.interval.bytes=100",
];
/// The seed of the first life of a broker in memory.
const FIRST_SEED: u64 = 2;
/// A host that has not answered by then has lost something.
const PATIENCE: Duration = Duration::from_secs(20);

/// The native host, with a clock turned by hand.
struct Native {
    driver: Arc<Driver>,
    runtime: tokio::runtime::Runtime,
    root: tempfile::TempDir,
    /// Serves the broker's session for as long as it lives.
    _service: Embedded,
    _coordination: tempfile::TempDir,
    clients: BTreeMap<ConnId, TcpStream>,
}

impl Native {
    fn start() -> Self {
        let root = tempfile::tempdir().expect("temporary directory");
        let (disk, states) = Disk::open(&[root.path().to_owned()], 64).expect("open the directory");
        assert!(states.iter().all(Result::is_ok));
        let config = BrokerConfig::load("settings", &SETTINGS.join("\n"), &[]).expect("settings");
        let boot = Boot {
            config: Arc::new(config.config),
            advertised: vec![Endpoint {
                name: "PLAINTEXT".to_owned(),
                host: "localhost".to_owned(),
                port: 9092,
            }],
            dirs: vec![BootDir {
                path: "data".to_owned(),
                state: Ok(()),
            }],
            seed: FIRST_SEED,
        };
        let clock = Clock::manual(EPOCH_MS);
        let broker = Broker::boot(clock.now(), boot, &mut Trace::off());
        let core = Box::new(Untraced::new(broker));
        let driver = Driver::new(core, disk, Connections::new(Limits::default()), clock, None);
        let coordination = tempfile::tempdir().expect("temporary directory");
        let service = Embedded::open(coordination.path(), Embedded::options(), Clock::manual(EPOCH_MS));
        let service = service.expect("open the coordination service");
        driver.coordinate_with(|tell| service.attach(tell));
        driver.start();
        let native = Self {
            driver,
            runtime: tokio::runtime::Builder::new_multi_thread()
                .worker_threads(2)
                .enable_all()
                .build()
                .expect("runtime"),
            root,
            _service: service,
            _coordination: coordination,
            clients: BTreeMap::new(),
        };
        native.wait_for(|stage| *stage == Stage::Ready);
        native
    }

    fn wait_for(&self, reached: impl FnMut(&Stage) -> bool) {
        let mut stage = self.driver.stage();
        let waited = self.runtime.block_on(async {
            tokio::time::timeout(PATIENCE, stage.wait_for(reached))
                .await
                .is_ok()
        });
        assert!(waited, "stuck at {:?}", *self.driver.stage().borrow());
    }

    fn connect(&mut self, id: ConnId) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("bind");
        let client = TcpStream::connect(listener.local_addr().expect("address")).expect("connect");
        client.set_read_timeout(Some(PATIENCE)).expect("read timeout");
        let (socket, peer) = listener.accept().expect("accept");
        socket.set_nonblocking(true).expect("non-blocking");
        let connection = self
            .driver
            .connections
            .add(socket, peer, 0, EPOCH_MS)
            .expect("room");
        self.runtime.spawn(serve(connection, Arc::clone(&self.driver)));
        self.clients.insert(id, client);
    }

    fn read_frame(&mut self, id: ConnId) -> Bytes {
        let client = self.clients.get_mut(&id).expect("connected");
        let mut length = [0; 4];
        client.read_exact(&mut length).expect("an answer");
        let mut frame = vec![0; u32::from_be_bytes(length) as usize];
        client.read_exact(&mut frame).expect("the whole answer");
        frame.into()
    }
}

/// Both hosts, given the same.
struct Pair {
    memory: Host,
    native: Native,
    /// Requests without an answer so far, in order, by connection.
    open: BTreeMap<ConnId, Vec<RequestId>>,
    compared: usize,
}

impl Pair {
    fn start() -> Self {
        Self {
            memory: Host::start(&SETTINGS),
            native: Native::start(),
            open: BTreeMap::new(),
            compared: 0,
        }
    }

    fn connect(&mut self) -> ConnId {
        let id = self.memory.connect();
        self.native.connect(id);
        id
    }

    /// Sends a request to both and compares every answer that the host in memory has given since.
    fn send(&mut self, conn: ConnId, version: i16, body: &RequestBody) {
        let open = self.open.entry(conn).or_default();
        let header = RequestHeader {
            api: body.api(),
            version,
            correlation_id: i32::try_from(self.compared).unwrap_or(0),
            client_id: Some("conformance".into()),
        };
        let frame = encode_request(&header, body).expect("encode");
        open.push(self.memory.send_frame(conn, &frame.slice(4..)));
        let client = self.native.clients.get_mut(&conn).expect("connected");
        client.write_all(&frame).expect("send");
        self.compare();
    }

    fn compare(&mut self) {
        for (&conn, open) in &mut self.open {
            while let Some(answer) = open
                .first()
                .and_then(|&request| self.memory.raw_answer(conn, request))
            {
                open.remove(0);
                self.compared += 1;
                if let Answer::Frame(expected) = answer {
                    assert_eq!(
                        self.native.read_frame(conn),
                        expected,
                        "answer {} differs",
                        self.compared
                    );
                }
            }
        }
    }

    /// Lets time pass for both, from one time-out to the next.
    fn advance(&mut self, by_ms: Millis) {
        let until = self.memory.now + by_ms;
        while let Some(due) = self.memory.poll_timeout().filter(|&due| due <= until) {
            self.await_due(due);
            self.memory.advance(due - self.memory.now);
            self.native.driver.clock.set(due);
            self.native.driver.submit(Input::Tick);
            self.compare();
        }
        self.memory.advance(until - self.memory.now);
        self.native.driver.clock.set(until);
    }

    /// Waits until the native broker wants to be called at the same time.
    fn await_due(&self, due: Millis) {
        let start = Instant::now();
        while self.native.driver.due() != Some(due) {
            let now = self.native.driver.due();
            assert!(
                start.elapsed() < PATIENCE,
                "the next time-out is {now:?}, in memory it is {due}"
            );
            std::thread::yield_now();
        }
    }

    /// Stops both and compares all files.
    fn stop_and_compare_files(mut self) {
        assert!(
            self.open.values().all(Vec::is_empty),
            "unanswered: {:?}",
            self.open
        );
        self.memory.handle(Input::Shutdown);
        self.native.driver.submit(Input::Shutdown);
        self.native
            .wait_for(|stage| *stage == Stage::Stopped { failed: None });
        let mut expected = BTreeMap::new();
        for (dir, path, _) in self.memory.disk.files() {
            let content = self.memory.disk.read_file(dir, &path).expect("read from memory");
            expected.insert(path, content);
        }
        let mut real = BTreeMap::new();
        gather(self.native.root.path(), "", &mut real);
        real.remove(".lock");
        let names = |files: &BTreeMap<String, Bytes>| files.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&real), names(&expected));
        for (path, content) in &expected {
            assert!(real[path] == *content, "{path} differs");
        }
        assert!(
            expected.keys().any(|path| path.ends_with(".timeindex")),
            "{:?}",
            names(&expected)
        );
    }
}

fn gather(root: &Path, inside: &str, files: &mut BTreeMap<String, Bytes>) {
    for entry in std::fs::read_dir(root.join(inside)).expect("list").flatten() {
        let name = entry.file_name().into_string().expect("a name");
        let path = if inside.is_empty() {
            name
        } else {
            format!("{inside}/{name}")
        };
        if entry.path().is_dir() {
            gather(root, &path, files);
        } else {
            let content = std::fs::read(entry.path()).expect("read");
            files.insert(path, content.into());
        }
    }
}

fn metadata(topic: &str) -> RequestBody {
    RequestBody::Metadata(message(|body: &mut MetadataRequest| {
        body.topics = Some(vec![message(|t: &mut MetadataRequestTopic| {
            t.name = Some(topic.into());
        })]);
    }))
}

fn produce(partition: i32, acks: i16, records: Bytes) -> RequestBody {
    RequestBody::Produce(ProduceRequest {
        transactional_id: None,
        acks,
        timeout_ms: 1000,
        topics: vec![ProduceTopic {
            name: "t".into(),
            topic_id: Default::default(),
            partitions: vec![ProducePartition {
                index: partition,
                records: Some(records),
            }],
        }],
    })
}

fn batch(codec: Codec, round: i64, records: usize, bytes: usize) -> Bytes {
    let mut builder = BatchBuilder::new(codec);
    for record in 0..records {
        let value: Vec<u8> = (0..bytes).map(|i| (i * 7 + record) as u8).collect();
        let key = format!("key {round}");
        builder.append(EPOCH_MS + round, Some(key.as_bytes()), Some(&value), &[]);
    }
    builder.build()
}

fn fetch(partition: i32, from: i64, max_bytes: i32, max_wait_ms: i32) -> RequestBody {
    RequestBody::Fetch(FetchRequest {
        max_wait_ms,
        min_bytes: 1,
        max_bytes,
        topics: vec![FetchTopic {
            name: "t".into(),
            topic_id: Default::default(),
            partitions: vec![FetchPartition {
                partition,
                fetch_offset: from,
                max_bytes,
                ..FetchPartition::default()
            }],
        }],
        ..FetchRequest::default()
    })
}

fn offset_at(timestamp: Millis) -> RequestBody {
    RequestBody::ListOffsets(message(|body: &mut ListOffsetsRequest| {
        body.replica_id = -1;
        body.topics = vec![message(|topic: &mut ListOffsetsTopic| {
            topic.name = "t".into();
            topic.partitions = vec![message(|partition: &mut ListOffsetsPartition| {
                partition.partition_index = 0;
                partition.current_leader_epoch = -1;
                partition.timestamp = timestamp;
            })];
        })];
    }))
}

#[test]
fn both_hosts_give_the_same_answers_and_leave_the_same_files() {
    let mut pair = Pair::start();
    let (a, b) = (pair.connect(), pair.connect());
    pair.send(a, 3, &RequestBody::ApiVersions(ApiVersionsRequest::default()));
    pair.send(a, CREATE_TOPICS, &create_topic_request("t", 2, &[]));
    pair.send(a, 12, &metadata("t"));
    // Past several segments, with every codec, acknowledged or not, valid or not.
    for round in 0..60 {
        let codec = Codec::ALL[round as usize % Codec::ALL.len()];
        let records = batch(codec, round, 1 + round as usize % 7, 20_000);
        pair.send(a, 12, &produce(0, -1, records.clone()));
        pair.send(a, 7, &produce(1, [0, 1][round as usize % 2], records));
        pair.send(b, 12, &fetch(0, round / 2, 200_000, 0));
    }
    let mut spoiled = batch(Codec::None, 0, 3, 100).to_vec();
    spoiled[70] ^= 1;
    pair.send(a, 12, &produce(0, -1, spoiled.into()));
    for version in [1, 7] {
        for timestamp in [-1, -2, EPOCH_MS + 30, EPOCH_MS + 10_000] {
            pair.send(b, version, &offset_at(timestamp));
        }
    }
    pair.send(
        b,
        5,
        &RequestBody::InitProducerId(message(|body: &mut InitProducerIdRequest| {
            body.transaction_timeout_ms = 1000;
            body.producer_id = (-1).into();
            body.producer_epoch = -1;
        })),
    );
    // A fetch at the end waits: once until its time is over, once until data comes.
    let end = (0..60).map(|round| 1 + round % 7).sum();
    pair.send(b, 12, &fetch(0, end, 1 << 20, 500));
    pair.advance(700);
    pair.send(b, 12, &fetch(0, end, 1 << 20, 5_000));
    pair.advance(100);
    pair.send(a, 12, &produce(0, -1, batch(Codec::None, 100, 300, 10)));
    // Checkpoints and whatever else happens by itself.
    pair.advance(120_000);
    assert!(pair.compared > 190, "{} answers", pair.compared);
    pair.stop_and_compare_files();
}
