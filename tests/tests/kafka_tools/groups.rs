//! What the tools of consumers and their groups print and do: Kafka's, and then ours, against the same
//! brokers.

use std::io::Read;
use std::process::{Child, Command, Stdio};

use bytes::Bytes;
use highwater_core::record::{BatchBuilder, Codec, Header};
use highwater_tests::broker::{TestBroker, binary};
use highwater_tests::kafka_cluster::KafkaCluster;
use highwater_tests::requests::{create_topic, metadata, produce};
use highwater_tests::run_tool::{KafkasTools, OurTools, Tools};
use highwater_tests::tools::in_few_words;
use highwater_tests::wire::WireClient;

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

/// With `HIGHWATER_BOOTSTRAP` another broker is asked, as for the transcript.
#[test]
fn the_consumers_tools_print_what_kafkas_print() {
    if let Ok(external) = std::env::var("HIGHWATER_BOOTSTRAP") {
        return compare(&|_| external.clone());
    }
    let broker = TestBroker::start(crate::SETTINGS);
    compare(&|_| broker.address());
}

/// The same where Apache Kafka itself is asked.
#[test]
#[ignore = "starts three brokers of Apache Kafka"]
fn the_consumers_tools_print_of_kafka_what_kafkas_print() {
    let settings = [crate::SETTINGS, &["transaction.state.log.replication.factor=1"]];
    let cluster = KafkaCluster::start(&settings.concat());
    compare(&|id| cluster.address_of(id));
}

/// Two groups have two coordinators: `HOST:PORT  (ID)` is whoever has the group's partition.
fn without_coordinator(line: &str) -> String {
    let mut ids = ["  (1) ", "  (2) ", "  (3) "].iter();
    let Some((before, after)) = ids.find_map(|id| line.split_once(id)) else {
        return line.to_owned();
    };
    let before = before.rsplit_once(' ').map_or("", |(before, _)| before);
    format!("{before} COORDINATOR {after}")
}

/// Runs all commands; `address` is that of a broker by its id.
fn compare(address: &dyn Fn(i32) -> String) {
    let bootstrap = address(1);
    prepare(&bootstrap, address);
    let mut member = member(&bootstrap);
    let mut theirs = KafkasTools::start();
    let mut wrong = String::new();
    for line in OF_GROUPS {
        let (tool, options) = line.split_once(' ').expect("a tool and options");
        let said = |tools: &mut dyn Tools, own: &str, others: &str| {
            let options = options.replace("OWN", own).replace("LIVE", "live");
            let lines = as_compared(&tools.run(&format!("{tool} --bootstrap-server {bootstrap} {options}")));
            let lines = lines.iter().filter(|line| !line.starts_with(others));
            let mut lines: Vec<_> = lines
                .map(|line| without_coordinator(&line.replace(own, "OWN")))
                .collect();
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

/// Two topics of two partitions; one has three records in each.
fn prepare(bootstrap: &str, address: &dyn Fn(i32) -> String) {
    let mut client = WireClient::connect(bootstrap);
    for topic in ["keyed", "other"] {
        create_topic(&mut client, topic, 2, &[]).expect("a topic");
    }
    for index in [0, 1] {
        let leader = highwater_tests::cluster::until("keyed has leaders", || {
            let told = metadata(&mut client, "keyed", false);
            let mut rows = told.topics.iter().flat_map(|topic| &topic.partitions);
            let row = rows.find(|row| row.partition_index == index && row.leader_id >= 0);
            row.map(|row| row.leader_id).ok_or("not yet".to_owned())
        });
        let mut leader = WireClient::connect(&address(leader));
        produce(&mut leader, "keyed", index, with_keys()).expect("a batch is taken");
    }
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
