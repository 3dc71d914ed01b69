//! Disks that fill up, fail, are away or are somebody else's, under a real broker.
//!
//! A disk fills up in two ways here. A limit on the size of files works for every user and fails the
//! write itself; a small tmpfs is the real thing, but somebody must be allowed to mount it. Where nobody
//! is, the tests say so, and `cargo xtask test --skip tmpfs` leaves them out.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use bytes::Bytes;
use highwater_core::error::ErrorCode;
use highwater_core::protocol::ApiKey;
use highwater_core::record::compression::PureRust;
use highwater_core::record::{Batch, BatchBuilder, Codec};
use highwater_core::types::{Offset, PartitionIndex};
use highwater_tests::broker::{TestBroker, run_to_end};
use highwater_tests::requests::*;
use highwater_tests::wire::WireClient;

/// How large a disk, or a file, may become.
const MOST_BYTES: u64 = 4 << 20;
const VALUE_BYTES: usize = 32 << 10;
/// Far more batches than fit.
const ENOUGH_BATCHES: i32 = 1000;
const IN_FLIGHT: i32 = 4;
const TOPIC: &str = "t";

/// How the disk is kept from growing.
#[derive(Clone, Copy, PartialEq)]
enum Limit {
    FileSize,
    Tmpfs,
}

/// A broker with log directories, of which one will fill up. The partition of the same number lies there.
struct Doomed {
    limit: Limit,
    doomed: PartitionIndex,
    broker: TestBroker,
    directories: Vec<PathBuf>,
    _root: tempfile::TempDir,
}

impl Doomed {
    fn start(limit: Limit, directories: usize, doomed: PartitionIndex) -> Self {
        let root = tempfile::tempdir().expect("make a temporary directory");
        let directories: Vec<PathBuf> = (0..directories)
            .map(|number| root.path().join(format!("disk-{number}")))
            .collect();
        let listed: Vec<String> = directories
            .iter()
            .map(|path| path.display().to_string())
            .collect();
        let dirs = format!("log.dirs={}", listed.join(","));
        let broker = match limit {
            Limit::FileSize => TestBroker::start_with_file_limit(&[&dirs], MOST_BYTES),
            Limit::Tmpfs => {
                let place = &directories[doomed as usize];
                std::fs::create_dir(place).expect("make a directory");
                mount(place, &format!("size={MOST_BYTES}"));
                TestBroker::start(&[&dirs])
            }
        };
        let mut client = WireClient::connect(&broker.address());
        create_topic(&mut client, TOPIC, directories.len() as i32, &[]).expect("a topic");
        let this = Self {
            limit,
            doomed,
            broker,
            directories,
            _root: root,
        };
        assert!(this.path().join(format!("{TOPIC}-{doomed}")).is_dir());
        this
    }

    fn client(&self) -> WireClient {
        WireClient::connect(&self.broker.address())
    }

    /// The directory that will fill up.
    fn path(&self) -> &Path {
        &self.directories[self.doomed as usize]
    }

    /// Produces into the doomed partition until something is refused; what was acknowledged, by offset.
    fn fill(&self) -> BTreeMap<Offset, i32> {
        let mut client = self.client();
        let mut acknowledged = BTreeMap::new();
        let mut refused = false;
        for number in 0..ENOUGH_BATCHES {
            let acks = if number % 2 == 0 { -1 } else { 1 };
            if !client.send(PRODUCE, &produce_request(TOPIC, self.doomed, acks, batch(number))) {
                return acknowledged;
            }
            let answered = number - IN_FLIGHT;
            if answered < 0 {
                continue;
            }
            match client
                .receive(ApiKey::Produce, PRODUCE, answered + 1)
                .map(produced)
            {
                Some(Ok(offset)) => {
                    assert!(!refused, "batch {answered} is acknowledged after one was refused");
                    acknowledged.insert(offset, answered);
                }
                Some(Err(ErrorCode::KafkaStorageError)) if !refused => refused = true,
                Some(Err(ErrorCode::KafkaStorageError)) => return acknowledged,
                // The broker has ended.
                None => return acknowledged,
                Some(Err(other)) => panic!("batch {answered}: {other}"),
            }
        }
        panic!("the disk never fills up");
    }

    /// Starts again with room, and finds what was acknowledged, and nothing that was never sent.
    fn restart_with_room(&mut self, acknowledged: &BTreeMap<Offset, i32>) {
        if self.limit == Limit::Tmpfs {
            mount(self.path(), "remount,size=64m");
        }
        self.broker.restart();
        let mut client = self.client();
        let stored = read_log(&mut client, TOPIC, self.doomed, 0);
        let stored: BTreeMap<Offset, i32> = stored
            .iter()
            .map(|batch| (batch.header.base_offset, number_of(batch)))
            .collect();
        assert!(acknowledged.len() > 10, "some fit");
        for (offset, number) in acknowledged {
            assert_eq!(stored.get(offset), Some(number), "acknowledged at {offset}");
        }
        // In order and once: the offset of each is its number.
        assert!(
            stored
                .iter()
                .all(|(offset, number)| *offset == i64::from(*number))
        );
        let next = produce(&mut client, TOPIC, self.doomed, batch(stored.len() as i32));
        assert_eq!(next, Ok(stored.len() as Offset), "and it takes more");
    }

    /// The lines of the broker's log that speak of a directory that is offline.
    fn offline_lines(&self) -> Vec<String> {
        let log = self.broker.log();
        let lines = log.lines().filter(|line| line.contains("is offline"));
        lines.map(str::to_owned).collect()
    }
}

fn batch(number: i32) -> Bytes {
    let mut batch = BatchBuilder::new(Codec::None);
    let value = format!("{number}:{:VALUE_BYTES$}", "");
    batch.append(now_ms(), None, Some(value.as_bytes()), &[]);
    batch.build()
}

fn now_ms() -> i64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.expect("a clock").as_millis() as i64
}

fn number_of(batch: &Batch) -> i32 {
    let mut records = batch.records(&PureRust, 1 << 20).expect("records");
    let value = records
        .next()
        .and_then(Result::ok)
        .and_then(|record| record.value);
    let text = String::from_utf8(value.expect("a value").to_vec()).expect("text");
    let number = text.split(':').next().and_then(|number| number.parse().ok());
    number.expect("a number")
}

fn mount(place: &Path, options: &str) {
    let mut mount = Command::new("mount");
    mount.args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(place);
    assert!(mount.status().expect("run mount").success(), "{mount:?}");
}

/// Whether the test shall do its work here and now. If not, it was done by a process that may mount.
fn may_mount(test: &str) -> bool {
    const INSIDE: &str = "HIGHWATER_MAY_MOUNT";
    if std::env::var_os(INSIDE).is_some() {
        return true;
    }
    let skipped = std::env::var("HIGHWATER_SKIP").unwrap_or_default();
    if skipped.split(',').any(|name| name == "tmpfs") {
        println!("left out by --skip tmpfs");
        return false;
    }
    let inside = |program: &Path| {
        let mut unshare = Command::new("unshare");
        unshare.args(["--map-root-user", "--mount"]).arg(program);
        unshare
    };
    let allowed = inside(Path::new("true")).status();
    assert!(
        allowed.is_ok_and(|status| status.success()),
        "no file system of its own may be mounted here (unshare --map-root-user --mount): \
         allow it, or leave these tests out with `cargo xtask test --skip tmpfs`"
    );
    let this = std::env::current_exe().expect("path of the running test");
    let mut again = inside(&this);
    again.args(["--exact", test, "--nocapture"]).env(INSIDE, "1");
    assert!(again.status().expect("run the test").success(), "{test} failed");
    false
}

/// One directory of two fills up, the one with the topics among its files or the other.
fn one_of_two_fills_up(limit: Limit, doomed: PartitionIndex) {
    let mut setup = Doomed::start(limit, 2, doomed);
    let healthy = 1 - doomed;
    let mut bystander = setup.client();
    assert_eq!(produce(&mut bystander, TOPIC, healthy, batch(0)), Ok(0));
    let acknowledged = setup.fill();

    // What lies there is refused, and nobody is told of success any more.
    let refused = Err(ErrorCode::KafkaStorageError);
    assert_eq!(produce(&mut bystander, TOPIC, doomed, batch(0)), refused);
    let answer = fetch(&mut bystander, TOPIC, doomed, 0);
    assert_eq!(answer.error_code, ErrorCode::KafkaStorageError);
    assert_eq!(delete_records(&mut bystander, TOPIC, doomed, -1), refused);

    // The rest goes on, on the same connection.
    for number in 1..20 {
        assert_eq!(
            produce(&mut bystander, TOPIC, healthy, batch(number)),
            Ok(i64::from(number))
        );
    }
    assert_eq!(read_log(&mut bystander, TOPIC, healthy, 0).len(), 20);
    let made = match create_topic(&mut bystander, "later", 1, &[]) {
        Ok(_) => {
            assert_eq!(produce(&mut bystander, "later", 0, batch(0)), Ok(0));
            true
        }
        // The list of topics is kept in the first directory: it may have found no room there.
        Err(code) => {
            assert_eq!((code, doomed), (ErrorCode::KafkaStorageError, 0));
            false
        }
    };
    let lines = setup.offline_lines();
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(
        lines[0].contains(&*setup.path().to_string_lossy()),
        "{}",
        lines[0]
    );

    assert!(setup.broker.stop().success());
    setup.restart_with_room(&acknowledged);
    let mut client = setup.client();
    assert_eq!(read_log(&mut client, TOPIC, healthy, 0).len(), 20);
    assert_eq!(
        topic_id(&mut client, "later").is_some(),
        made,
        "what was answered"
    );
}

/// The only directory fills up: the broker ends, and says why in one line.
fn the_last_one_fills_up(limit: Limit) {
    let mut setup = Doomed::start(limit, 1, 0);
    let acknowledged = setup.fill();
    assert!(!setup.broker.wait_until_ended().success());
    let lines = setup.offline_lines();
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].starts_with("highwater: "), "{}", lines[0]);
    assert!(
        lines[0].contains(&*setup.path().to_string_lossy()),
        "{}",
        lines[0]
    );
    setup.restart_with_room(&acknowledged);
}

#[test]
fn a_directory_that_cannot_be_written_takes_only_its_own_partitions() {
    one_of_two_fills_up(Limit::FileSize, 1);
}

#[test]
fn the_directory_with_the_topics_may_fail_and_the_rest_goes_on() {
    one_of_two_fills_up(Limit::FileSize, 0);
}

#[test]
fn the_last_directory_that_cannot_be_written_ends_the_broker() {
    the_last_one_fills_up(Limit::FileSize);
}

#[test]
fn a_full_tmpfs_takes_only_its_own_partitions() {
    if may_mount("a_full_tmpfs_takes_only_its_own_partitions") {
        one_of_two_fills_up(Limit::Tmpfs, 1);
        one_of_two_fills_up(Limit::Tmpfs, 0);
    }
}

#[test]
fn a_full_tmpfs_that_is_the_only_one_ends_the_broker() {
    if may_mount("a_full_tmpfs_that_is_the_only_one_ends_the_broker") {
        the_last_one_fills_up(Limit::Tmpfs);
    }
}

/// A directory that is away at the start: a file stands where it was, so nobody can use it.
#[test]
fn a_log_directory_lost_at_start_is_offline_and_comes_back_whole() {
    let root = tempfile::tempdir().expect("make a temporary directory");
    let [first, second, away] = ["first", "second", "away"].map(|name| root.path().join(name));
    let dirs = format!("log.dirs={},{}", first.display(), second.display());
    let mut broker = TestBroker::start(&[&dirs]);
    let mut client = WireClient::connect(&broker.address());
    create_topic(&mut client, TOPIC, 2, &[]).expect("a topic");
    for partition in 0..2 {
        assert_eq!(produce(&mut client, TOPIC, partition, batch(0)), Ok(0));
    }
    assert!(broker.stop().success());

    std::fs::rename(&second, &away).expect("take the directory away");
    std::fs::write(&second, "no directory").expect("put a file in its place");
    broker.restart();
    let line = broker.wait_for_line("offline");
    assert!(line.contains(&*second.to_string_lossy()), "{line}");
    let mut client = WireClient::connect(&broker.address());
    assert_eq!(produce(&mut client, TOPIC, 0, batch(1)), Ok(1));
    let refused = Err(ErrorCode::KafkaStorageError);
    assert_eq!(produce(&mut client, TOPIC, 1, batch(1)), refused);
    assert!(broker.stop().success());

    std::fs::remove_file(&second).expect("take the file away");
    std::fs::rename(&away, &second).expect("put the directory back");
    broker.restart();
    let mut client = WireClient::connect(&broker.address());
    assert_eq!(read_log(&mut client, TOPIC, 0, 0).len(), 2);
    assert_eq!(read_log(&mut client, TOPIC, 1, 0).len(), 1);

    // Without the first one there are no topics, and so no broker.
    assert!(broker.stop().success());
    std::fs::remove_dir_all(&first).expect("remove the first directory");
    std::fs::write(&first, "no directory").expect("put a file in its place");
    let line = refusal(&["server".into(), broker.properties().into()]);
    assert!(line.contains(&*first.to_string_lossy()), "{line}");
}

/// Runs what must not start; the one line that says why.
fn refusal(arguments: &[OsString]) -> String {
    let (status, printed) = run_to_end(arguments);
    assert!(!status.success(), "{arguments:?} ended well:\n{printed}");
    let lines: Vec<&str> = printed
        .lines()
        .filter(|line| line.starts_with("highwater: "))
        .collect();
    assert_eq!(lines.len(), 1, "{arguments:?}:\n{printed}");
    lines[0].to_owned()
}

/// A broker with these properties must not start; the one line that says why.
fn refused_properties(text: &str) -> String {
    let root = tempfile::tempdir().expect("make a temporary directory");
    let file = root.path().join("server.properties");
    let text = text.replace("{root}", &root.path().to_string_lossy());
    std::fs::write(&file, text).expect("write server.properties");
    refusal(&["server".into(), file.into()])
}

#[test]
fn a_second_broker_on_the_same_directory_or_port_is_refused_with_one_line() {
    let broker = TestBroker::start(&[]);
    let same: OsString = broker.properties().into();
    let line = refusal(&["server".into(), same.clone()]);
    assert!(
        line.contains(&broker.address()) && line.contains("taken"),
        "{line}"
    );
    let elsewhere = "listeners=PLAINTEXT://127.0.0.1:0".into();
    let line = refusal(&["server".into(), same, "--override".into(), elsewhere]);
    assert!(line.contains(&*broker.data().to_string_lossy()), "{line}");
    assert!(line.contains("in use by another broker"), "{line}");
    // The first one did not notice.
    create_topic(&mut WireClient::connect(&broker.address()), TOPIC, 1, &[]).expect("a topic");
}

#[test]
fn what_cannot_be_started_is_said_in_one_line_that_names_it() {
    let port = "broker.id=1\nlisteners=PLAINTEXT://127.0.0.1:0\n";
    let cases: &[(&str, &[&str])] = &[
        ("log.dirs=/proc/highwater", &["/proc/highwater"]),
        ("log.dirs=/dev/null", &["/dev/null"]),
        ("log.dirs=/dev/null,/proc/highwater", &["/dev/null", "of 2"]),
        ("log.dirs=", &["log.dirs", "server.properties line 3"]),
        (
            "log.dirs={root}/d\nnum.partitions=many",
            &["num.partitions", "line 4", "many"],
        ),
        (
            "log.dirs={root}/d\nlog.segment.bytes=-5",
            &["log.segment.bytes", "line 4", "-5"],
        ),
        ("log.dirs={root}/d\nlisteners=PLAINTEXT", &["listeners", "line 4"]),
        (
            "log.dirs={root}/d\nlisteners=SSL://:9093",
            &["listeners", "line 4", "SSL"],
        ),
        (
            "log.dirs={root}/d\nlisteners=PLAINTEXT://192.0.2.1:9092",
            &["192.0.2.1:9092"],
        ),
        ("log.dirs={root}/d\nbroker.id=x", &["broker.id", "line 4"]),
        ("log.dirs={root}/d,{root}/d", &["log.dirs", "line 3"]),
    ];
    for (lines, words) in cases {
        let line = refused_properties(&format!("{port}{lines}\n"));
        for word in *words {
            assert!(line.contains(word), "{lines}: {word} is missing in\n{line}");
        }
    }
    let line = refused_properties("log.dirs={root}/d\n");
    assert!(line.contains("broker.id"), "{line}");
    let line = refusal(&["server".into(), "/no/such/server.properties".into()]);
    assert!(line.contains("/no/such/server.properties"), "{line}");
}

#[test]
fn a_directory_of_another_broker_or_cluster_is_refused_with_one_line() {
    let mut broker = TestBroker::start(&[]);
    assert!(broker.stop().success());
    let start = |more: &str| {
        let file = broker.properties().into();
        refusal(&["server".into(), file, "--override".into(), more.into()])
    };
    let line = start("broker.id=2");
    assert!(
        line.contains("meta.properties") && line.contains("broker 1"),
        "{line}"
    );

    let mut other = TestBroker::start(&[]);
    assert!(other.stop().success());
    let dirs = format!("log.dirs={},{}", broker.data().display(), other.data().display());
    let line = start(&dirs);
    assert!(
        line.contains("cluster") && line.contains("meta.properties"),
        "{line}"
    );
}
