//! Apache Kafka's command line tools against our broker: they print what they print of Apache Kafka.
//! And our own against the same broker: they print what Kafka's print.
//!
//! `tests/clients/tools.transcript` holds the commands, each with what was printed. `HIGHWATER_BLESS=1`
//! writes it; with `HIGHWATER_BOOTSTRAP=HOST:PORT` another broker is asked, say Apache Kafka itself,
//! whose node has to be number 1. Needs Java and Kafka's jars: `cargo xtask test` runs it with the clients.

mod groups;
mod producers;

use std::path::Path;
use std::process::Command;

use bytes::Bytes;
use highwater_core::record::{BatchBuilder, Codec};
use highwater_tests::broker::{TestBroker, binary};
use highwater_tests::requests::{create_topic, produce};
use highwater_tests::tools::{comparable, in_few_words};
use highwater_tests::wire::WireClient;

/// So that groups work on a broker alone, at once.
const SETTINGS: &[&str] = &[
    "offsets.topic.replication.factor=1",
    "group.initial.rebalance.delay.ms=0",
];

#[test]
fn kafkas_tools_print_what_they_print_of_kafka() {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    let transcript = tests.join("clients/tools.transcript");
    let external = std::env::var("HIGHWATER_BOOTSTRAP").ok();
    let broker = external.is_none().then(|| TestBroker::start(SETTINGS));
    let bootstrap = external.or(broker.as_ref().map(TestBroker::address));
    let bootstrap = bootstrap.expect("a broker was started or named");
    let said = kafkas_transcript(&bootstrap, &transcript);
    let now: String = said
        .lines()
        .filter_map(|line| comparable(line, &bootstrap))
        .collect();
    if std::env::var_os("HIGHWATER_BLESS").is_some() {
        return std::fs::write(&transcript, now).expect("write the transcript");
    }
    let was = std::fs::read_to_string(&transcript).expect("read the transcript");
    let changed = was.lines().zip(now.lines()).find(|(was, now)| was != now);
    assert!(
        was == now,
        "first difference: {changed:?}; all that was said:\n{now}"
    );
}

/// Runs the commands of the transcript with Kafka's tools; the transcript as it is now.
fn kafkas_transcript(bootstrap: &str, transcript: &Path) -> String {
    let java = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/clients/java");
    let output = Command::new("java")
        .args(["-Xmx256m", "-cp"])
        .arg(format!("{0}/classes:{0}/lib/*", java.display()))
        .args(["Tools", bootstrap])
        .arg(transcript)
        .output()
        .expect("run java: `cargo xtask test` says what is missing and how to get it");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{complaint}\n{said}");
    said
}

/// Kafka's tools that only look, the options that both are given, and ours.
const LOOKS: [(&str, &str, &[&str]); 2] = [
    (
        "TopicCommand",
        "topics",
        &[
            "--list",
            "--list --topic alp.*",
            "--list --topic alpha|beta",
            "--list --topic gamma,beta",
            "--list --topic \"alpha\"",
            "--list --topic alpha.one",
            "--list --topic al",
            "--list --topic [a",
            "--list --topic .*_.* --exclude-internal",
            "--describe --topic alpha.?one",
            "--describe --topic beta|alpha",
            "--describe --topic none.*",
            "--describe --topic none.* --if-exists",
            "--describe --topics-with-overrides",
            "--create --topic alpha.one --if-not-exists",
            "--alter --topic none.* --partitions 3",
            "--delete --topic none.* --if-exists",
        ],
    ),
    (
        "GetOffsetShell",
        "get-offsets",
        &[
            "",
            "--topic beta",
            "--topic alpha.*",
            "--topic alpha,beta",
            "--topic be",
            "--topic [a",
            "--partitions 1,11",
            "--topic .* --partitions 0",
            "--topic-partitions beta:10-",
            "--topic-partitions beta:1,alpha.*:0",
            "--topic-partitions :0",
            "--topic-partitions alpha:-1,b.*:-2",
            "--topic-partitions none:0",
            "--topic .* --time earliest",
            "--topic beta --time max-timestamp",
            "--topic beta --time latest-tiered",
            "--topic beta --time 99999999999999",
        ],
    ),
];

#[test]
fn the_tools_print_what_kafkas_tools_print() {
    let broker = TestBroker::start(&[]);
    let mut client = WireClient::connect(&broker.address());
    for (topic, partitions) in [("alpha", 1), ("alpha.one", 1), ("gamma_one", 2), ("beta", 12)] {
        let settings: &[_] = if topic == "beta" {
            &[("retention.ms", "3600000000")]
        } else {
            &[]
        };
        create_topic(&mut client, topic, partitions, settings).expect("a topic");
        for _ in 0..partitions {
            produce(&mut client, topic, partitions - 1, batch()).expect("a batch is taken");
        }
    }
    let commands = || {
        let tools = LOOKS.iter();
        tools.flat_map(|(theirs, ours, options)| options.iter().map(move |options| (theirs, ours, *options)))
    };
    let lines =
        commands().map(|(theirs, _, options)| format!("$ {theirs} --bootstrap-server BOOTSTRAP {options}\n"));
    let directory = tempfile::tempdir().expect("make a temporary directory");
    let transcript = directory.path().join("looks.transcript");
    std::fs::write(&transcript, lines.collect::<String>()).expect("write the commands");
    let said = kafkas_transcript(&broker.address(), &transcript);
    let blocks = said.split("$ ").skip(1);
    let printed: Vec<&str> = blocks
        .map(|block| block.split_once('\n').map_or("", |(_, said)| said))
        .collect();
    assert_eq!(printed.len(), commands().count());
    for ((_, ours, options), printed) in commands().zip(printed) {
        let mut command = Command::new(binary());
        command.args([ours, "--bootstrap-server", &broker.address()]);
        let output = command
            .args(options.split_whitespace())
            .output()
            .expect("run our tool");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let mut said = text(&output.stdout) + &text(&output.stderr);
        if let Some(code) = output.status.code().filter(|code| *code != 0) {
            said += &format!("exit {code}\n");
        }
        let (mut said, mut printed) = (in_few_words(&said), in_few_words(printed));
        if options.contains("--describe") {
            // Kafka's shows topics in the order of a hash map.
            said.sort();
            printed.sort();
        }
        assert_eq!(said, printed, "{ours} {options}");
    }
}

fn batch() -> Bytes {
    let mut batch = BatchBuilder::new(Codec::None);
    batch.append(1_700_000_000_000, None, Some(b"value"), &[]);
    batch.build()
}
