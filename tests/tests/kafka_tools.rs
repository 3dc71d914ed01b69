//! Apache Kafka's command line tools against our broker: they print what they print of Apache Kafka.
//! And our own against the same broker: they print what Kafka's print.
//!
//! `tests/clients/tools.transcript` holds the commands, each with what was printed. `HIGHWATER_BLESS=1`
//! writes it; with `HIGHWATER_BOOTSTRAP=HOST:PORT` another broker is asked, say Apache Kafka itself,
//! whose node has to be number 1. Needs Java and Kafka's jars: `cargo xtask test` runs it with the clients.

use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use bytes::Bytes;
use highwater_core::record::compression::PURE_RUST;
use highwater_core::record::{BatchBuilder, Codec, Header};
use highwater_tests::broker::{TestBroker, binary};
use highwater_tests::requests::{create_topic, produce, read_log};
use highwater_tests::run_tool::{KafkasTools, OurTools, Tools};
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

/// Commands that Kafka's tools carry out and then ours, each for a group of its own: `OWN`. `LIVE` is a group
/// with a member. Where what is there has no order, lines are sorted.
const OF_GROUPS: &[&str] = &[
    "consumer.ConsoleConsumer --topic keyed --partition 1 --offset earliest --max-messages 3 --formatter-property print.key=true --formatter-property print.headers=true --formatter-property print.offset=true --formatter-property print.partition=true --formatter-property print.timestamp=true",
    "consumer.ConsoleConsumer --topic keyed --partition 1 --offset 1 --max-messages 2 --formatter-property print.key=true --formatter-property key.separator=| --formatter-property null.literal=NIL --formatter-property line.separator=;",
    "consumer.ConsoleConsumer --topic keyed --partition 0 --from-beginning --max-messages 1 --formatter-property print.value=false --formatter-property print.delivery=true --formatter-property print.headers=true",
    "consumer.ConsoleConsumer --topic keyed --partition 0 --offset earliest --max-messages 1 --value-deserializer org.apache.kafka.common.serialization.IntegerDeserializer",
    "consumer.ConsoleConsumer --topic keyed --partition 0 --offset earliest --max-messages 1 --formatter org.apache.kafka.tools.consumer.NoOpMessageFormatter",
    "consumer.ConsoleConsumer --topic keyed --partition 0 --offset latest --timeout-ms 300",
    "consumer.ConsoleConsumer --include key.d --from-beginning --max-messages 4",
    "consumer.ConsoleConsumer --topic keyed --group OWN --from-beginning --max-messages 4",
    "consumer.group.ConsumerGroupCommand --list",
    "consumer.group.ConsumerGroupCommand --list --state",
    "consumer.group.ConsumerGroupCommand --list --state stable,empty --type",
    "consumer.group.ConsumerGroupCommand --list --state Dead",
    "consumer.group.ConsumerGroupCommand --list --type classic",
    "consumer.group.ConsumerGroupCommand --describe --group OWN",
    "consumer.group.ConsumerGroupCommand --describe --group OWN --offsets --verbose",
    "consumer.group.ConsumerGroupCommand --describe --group OWN --members",
    "consumer.group.ConsumerGroupCommand --describe --group OWN --members --verbose",
    "consumer.group.ConsumerGroupCommand --describe --group OWN --state",
    "consumer.group.ConsumerGroupCommand --describe --group OWN --state --verbose",
    "consumer.group.ConsumerGroupCommand --describe --group LIVE",
    "consumer.group.ConsumerGroupCommand --describe --group LIVE --verbose",
    "consumer.group.ConsumerGroupCommand --describe --group LIVE --members",
    "consumer.group.ConsumerGroupCommand --describe --group LIVE --members --verbose",
    "consumer.group.ConsumerGroupCommand --describe --group LIVE --state",
    "consumer.group.ConsumerGroupCommand --describe --group LIVE --state --verbose",
    "consumer.group.ConsumerGroupCommand --describe --group LIVE --group OWN",
    "consumer.group.ConsumerGroupCommand --describe --group nobody",
    "consumer.group.ConsumerGroupCommand --reset-offsets --group OWN --all-topics --to-earliest",
    "consumer.group.ConsumerGroupCommand --reset-offsets --group OWN --topic keyed --to-latest --dry-run",
    "consumer.group.ConsumerGroupCommand --reset-offsets --group OWN --topic keyed:1 --to-offset 2 --execute",
    "consumer.group.ConsumerGroupCommand --reset-offsets --group OWN --topic keyed:1 --to-offset 99 --execute",
    "consumer.group.ConsumerGroupCommand --reset-offsets --group OWN --topic keyed:0,1 --shift-by -1 --execute",
    "consumer.group.ConsumerGroupCommand --reset-offsets --group OWN --topic keyed:0 --shift-by -7 --execute",
    "consumer.group.ConsumerGroupCommand --reset-offsets --group OWN --topic keyed --to-current --dry-run",
    "consumer.group.ConsumerGroupCommand --reset-offsets --group OWN --topic other --to-current --dry-run",
    "consumer.group.ConsumerGroupCommand --reset-offsets --group OWN --topic keyed --to-datetime 2023-11-14T22:13:20.001 --dry-run",
    "consumer.group.ConsumerGroupCommand --reset-offsets --group OWN --topic keyed --to-datetime 2023-11-14T23:13:20.000+01:00 --dry-run",
    "consumer.group.ConsumerGroupCommand --reset-offsets --group OWN --topic keyed --by-duration P1D --dry-run",
    "consumer.group.ConsumerGroupCommand --reset-offsets --group OWN --topic keyed --by-duration P20000D --dry-run",
    "consumer.group.ConsumerGroupCommand --reset-offsets --group OWN --topic keyed --to-offset 1 --export --dry-run",
    "consumer.group.ConsumerGroupCommand --reset-offsets --group OWN --group fresh --topic keyed:0 --to-offset 1 --export --dry-run",
    "consumer.group.ConsumerGroupCommand --reset-offsets --group OWN --from-file json:keyed,1,2 --execute",
    "consumer.group.ConsumerGroupCommand --reset-offsets --group OWN --from-file json:OWN,keyed,1,1 --dry-run",
    "consumer.group.ConsumerGroupCommand --reset-offsets --group OWN --topic none --to-earliest --dry-run",
    "consumer.group.ConsumerGroupCommand --reset-offsets --group OWN --topic keyed:9 --to-earliest --dry-run",
    "consumer.group.ConsumerGroupCommand --reset-offsets --group LIVE --topic keyed --to-earliest --dry-run",
    "consumer.group.ConsumerGroupCommand --describe --group OWN",
    "consumer.group.ConsumerGroupCommand --delete-offsets --group OWN --topic keyed:0 --topic none",
    "consumer.group.ConsumerGroupCommand --delete-offsets --group LIVE --topic keyed",
    "consumer.group.ConsumerGroupCommand --delete-offsets --group nobody --topic keyed",
    "consumer.group.ConsumerGroupCommand --describe --group OWN",
    "consumer.group.ConsumerGroupCommand --delete --group OWN --group LIVE",
    "consumer.group.ConsumerGroupCommand --delete --group OWN",
    "consumer.group.ConsumerGroupCommand --validate-regex a(b",
    "consumer.group.ConsumerGroupCommand --validate-regex a.b",
];

#[test]
fn the_consumers_tools_print_what_kafkas_print() {
    let broker = TestBroker::start(SETTINGS);
    let mut client = WireClient::connect(&broker.address());
    for topic in ["keyed", "other"] {
        create_topic(&mut client, topic, 2, &[]).expect("a topic");
    }
    for partition in [0, 1] {
        produce(&mut client, "keyed", partition, with_keys()).expect("a batch is taken");
    }
    let mut member = member(&broker.address());
    let mut theirs = KafkasTools::start();
    let mut wrong = String::new();
    for line in OF_GROUPS {
        let (tool, options) = line.split_once(' ').expect("a tool and options");
        let said = |tools: &mut dyn Tools, own: &str, others: &str| {
            let options = options.replace("OWN", own).replace("LIVE", "live");
            let command = format!("{tool} --bootstrap-server {} {options}", broker.address());
            let lines = as_compared(&tools.run(&command));
            let lines = lines.iter().filter(|line| !line.starts_with(others));
            let mut lines: Vec<_> = lines.map(|line| line.replace(own, "OWN")).collect();
            lines.sort();
            lines
        };
        let expected = said(&mut theirs, "kafkas", "ourown");
        let got = said(&mut OurTools, "ourown", "kafkas");
        if expected != got {
            let (expected, got) = (expected.join("\n"), got.join("\n"));
            wrong += &format!("\n{line}\n--- kafka\n{expected}\n--- highwater\n{got}\n");
        }
    }
    member
        .kill()
        .and_then(|()| member.wait().map(drop))
        .expect("end the member");
    assert!(wrong.is_empty(), "{wrong}");
}

/// Commands that Kafka's tools carry out and then ours, each for a topic of its own: `OWN`.
const OF_PRODUCERS: &[&str] = &[
    r"ConsoleProducer --topic OWN <<< one\ntwo\n\nfour",
    r"ConsoleProducer --topic OWN --reader-property parse.key=true <<< k\tv\nk2\tv2\tand more\n",
    r"ConsoleProducer --topic OWN --reader-property parse.key=true --reader-property parse.headers=true --reader-property null.marker=NULL <<< h:1,i:2\tk\tv\nh:NULL\tk2\tNULL\nNULL\tNULL\tv\n",
    r"ConsoleProducer --topic OWN --reader-property parse.key=true --reader-property key.separator=| --reader-property ignore.error=true <<< k|v\nno key\n",
    r"ConsoleProducer --topic OWN --sync --compression-codec zstd --request-required-acks all <<< in\nsync\n",
    r"ConsoleProducer --topic OWN --compression-codec <<< zipped\n",
    r"ConsoleProducer --topic OWN --command-property acks=0 --command-property enable.idempotence=false <<< unasked\n",
    r"ConsoleProducer --topic OWN --reader-property parse.key=true --command-property max.block.ms=30000 <<< \tempty key\n\tand again\n",
    r"ConsoleProducer --topic OWN --max-block-ms 500 --command-property max.request.size=100 <<< aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\nshort\n",
    "ProducerPerformance --topic OWN --num-records 20 --record-size 30 --throughput -1",
    "ProducerPerformance --topic OWN --num-records 20 --payload-monotonic --throughput 1000 --command-property linger.ms=1 acks=1",
    "ProducerPerformance --topic OWN --num-records 20 --record-size 5 --throughput -1 --key-distribution random --record-key-range 100 --random-seed -7",
    "ProducerPerformance --topic OWN --num-records 9 --payload-monotonic --throughput -1 --key-distribution range --record-key-range 4",
    "ProducerPerformance --topic OWN --num-records 8 --throughput -1 --payload-delimiter , --payload-file json:a,bc,def --warmup-records 3",
    "ProducerPerformance --topic OWN --num-records 0 --record-size 30 --throughput -1",
];

#[test]
fn the_producers_tools_print_and_write_what_kafkas_do() {
    let broker = TestBroker::start(SETTINGS);
    let mut client = WireClient::connect(&broker.address());
    let mut theirs = KafkasTools::start();
    let mut wrong = String::new();
    for (number, line) in OF_PRODUCERS.iter().enumerate() {
        let (tool, options) = line.split_once(' ').expect("a tool and options");
        let mut done = |tools: &mut dyn Tools, own: &str| {
            let own = format!("{own}-{number}");
            create_topic(&mut client, &own, 3, &[]).expect("a topic");
            let options = options.replace("OWN", &own);
            let said = tools.run(&format!(
                "{tool} --bootstrap-server {} {options}",
                broker.address()
            ));
            let said = in_few_words(&said.replace(&own, "OWN"));
            // Kafka's ends well even so.
            let is_lossy = said
                .iter()
                .any(|line| line.starts_with("Error when sending message"));
            let is_bad = said.iter().any(|line| line.starts_with("exit ")) && !is_lossy;
            let mut said: Vec<String> = said.into_iter().filter(|line| !is_logged(line)).collect();
            if is_bad {
                // Whatever the tool says on its use.
                said.clear();
            }
            said.push(format!("ended {}", if is_bad { "badly" } else { "well" }));
            (said, written(&mut client, &own))
        };
        let (expected, got) = (done(&mut theirs, "kafkas"), done(&mut OurTools, "ourown"));
        if expected != got {
            wrong += &format!("\n{line}\n--- kafka\n{expected:#?}\n--- highwater\n{got:#?}\n");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// What Kafka's logger says is not ours to say, nor in these words.
fn is_logged(line: &str) -> bool {
    [
        "Error when sending message to topic ",
        "The message is ",
        "Reading payloads from: ",
        "exit ",
    ]
    .iter()
    .any(|words| line.contains(words))
}

/// Key, headers, value and codec of each record, sorted: without a key, chance chooses the partition.
fn written(client: &mut WireClient, topic: &str) -> Vec<String> {
    let mut all = Vec::new();
    for partition in 0..3 {
        for batch in read_log(client, topic, partition, 0) {
            let records = batch.records(&PURE_RUST, 1 << 20).expect("records");
            for record in records.map(|record| record.expect("a record")) {
                let text = |bytes: &Option<Bytes>| {
                    bytes
                        .as_ref()
                        .map(|bytes| String::from_utf8_lossy(bytes).into_owned())
                };
                let headers: Vec<_> = record
                    .headers
                    .iter()
                    .map(|h| (text(&Some(h.key.clone())), text(&h.value)))
                    .collect();
                let codec = batch.header.codec();
                let place = record.key.as_ref().map(|_| partition);
                all.push(format!(
                    "{:?} {headers:?} {:?} {codec:?} {place:?}",
                    text(&record.key),
                    text(&record.value)
                ));
            }
        }
    }
    all.sort();
    all
}

/// Without what is expected to differ: see the page of differences.
fn as_compared(said: &str) -> Vec<String> {
    let is_expected = |line: &&String| {
        line.starts_with("The consumer rebalance protocol (KIP-848)")
            || line.starts_with("console-consumer-")
            || line.starts_with("exit ")
            // Kafka logs these two, and with a trace.
            || line.starts_with("New offset (")
            || line == &"null"
            || line.starts_with("The regular expression `a(b` is invalid")
    };
    let mut lines = in_few_words(said);
    lines.retain(|line| !is_expected(&line));
    lines
}

/// A member of the group `live` that has what it wants.
fn member(bootstrap: &str) -> Child {
    let options = "--topic keyed --group live --from-beginning --command-property group.instance.id=static";
    let mut command = Command::new(binary());
    command.args(["console-consumer", "--bootstrap-server", bootstrap]);
    command.args(options.split_whitespace());
    command.args(["--command-property", "enable.auto.commit=false"]);
    let mut child = command.stdout(Stdio::piped()).spawn().expect("run the tool");
    let printed = child.stdout.as_mut().expect("stdout is piped");
    let mut first = [0];
    printed.read_exact(&mut first).expect("it prints a record");
    child
}

fn with_keys() -> Bytes {
    let header = |key: &'static str, value: Option<&'static str>| Header {
        key: Bytes::from_static(key.as_bytes()),
        value: value.map(|value| Bytes::from_static(value.as_bytes())),
    };
    let mut batch = BatchBuilder::new(Codec::Lz4);
    let headers = [header("h", Some("1")), header("i", None)];
    batch.append(1_700_000_000_000, Some(b"key"), Some(b"four"), &headers);
    batch.append(1_700_000_000_001, None, Some(b"without a key"), &[]);
    batch.append(1_700_000_000_002, Some(b"deleted"), None, &headers[..1]);
    batch.build()
}

fn batch() -> Bytes {
    let mut batch = BatchBuilder::new(Codec::None);
    batch.append(1_700_000_000_000, None, Some(b"value"), &[]);
    batch.build()
}
