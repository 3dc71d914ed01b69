//! Command line tools against three brokers, some of them away: Apache Kafka's tools print of ours what
//! they print of Apache Kafka's, and our tools print what Kafka's print.
//!
//! `tests/clients/cluster_tools.transcript` holds the commands, each with what Kafka's tools print of
//! Apache Kafka, and between them what befalls the brokers. The test that asks Apache Kafka itself is a
//! long one; with `HIGHWATER_BLESS=1` it writes the transcript.

mod three;

use std::path::PathBuf;

use highwater_tests::cluster::{Seen, TestCluster};
use highwater_tests::kafka_cluster::KafkaCluster;
use highwater_tests::requests::{all_partitions, config, metadata, of_topic};
use highwater_tests::run_tool::{KafkasTools, OurTools, Tools};
use highwater_tests::tools::{comparable, in_few_words};
use highwater_tests::wire::WireClient;

use three::{Deed, Three};

const BROKERS: std::ops::RangeInclusive<i32> = 1..=3;

fn transcript() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("clients/cluster_tools.transcript")
}

/// Ours, with time enough for a paused broker to be asked for something before it is missed.
fn ours() -> TestCluster {
    TestCluster::start_with(
        3,
        &[
            "zookeeper.session.timeout.ms=10000",
            "zookeeper.connection.timeout.ms=60000",
            "replica.lag.time.max.ms=2000",
            "controlled.shutdown.retry.backoff.ms=100",
            "auto.leader.rebalance.enable=false",
            "group.initial.rebalance.delay.ms=0",
        ],
    )
}

#[test]
fn kafkas_tools_print_of_three_brokers_what_they_print_of_kafka() {
    let mut cluster = ours();
    let controller = cluster.await_controller(None);
    let said = play(&mut cluster, controller, &mut KafkasTools::start());
    compare(&said, |said| said.to_vec());
}

#[test]
fn our_tools_print_of_three_brokers_what_kafkas_print() {
    let mut cluster = ours();
    let controller = cluster.await_controller(None);
    let said = play(&mut cluster, controller, &mut OurTools);
    compare(&said, |said| {
        let said = said.join("\n").replace(OF_THROTTLES, "");
        in_few_words(&said)
    });
}

/// Ours have no throttles.
const OF_THROTTLES: &str = " The --additional flag can also be used to change the throttle by resubmitting the current reassignment.";

#[test]
#[ignore = "starts three brokers of Apache Kafka"]
fn apache_kafka_prints_the_transcript() {
    let mut cluster = KafkaCluster::start(&[
        "broker.session.timeout.ms=10000",
        "broker.heartbeat.interval.ms=500",
        "replica.lag.time.max.ms=2000",
        "offsets.topic.replication.factor=1",
        "auto.leader.rebalance.enable=false",
    ]);
    let said = play(&mut cluster, 1, &mut KafkasTools::start());
    if std::env::var_os("HIGHWATER_BLESS").is_none() {
        return compare(&said, |said| said.to_vec());
    }
    let text: String = said.iter().map(Said::text).collect();
    std::fs::write(transcript(), text).expect("write the transcript");
}

/// A line of the transcript, and what was printed below it.
struct Said {
    line: String,
    printed: Vec<String>,
}

impl Said {
    fn text(&self) -> String {
        let gap = if self.line.starts_with("$ ") { "\n" } else { "" };
        let printed: String = self.printed.iter().map(|line| format!("{line}\n")).collect();
        format!("{gap}{}\n{printed}", self.line)
    }
}

/// The transcript as it is written down.
fn written() -> Vec<Said> {
    let text = std::fs::read_to_string(transcript()).expect("read the transcript");
    let mut all: Vec<Said> = Vec::new();
    for line in text.lines().filter(|line| !line.is_empty()) {
        let begins = ["# ", "! ", "$ "].iter().any(|mark| line.starts_with(mark));
        match all.last_mut().filter(|_| !begins) {
            Some(last) => last.printed.push(line.to_owned()),
            None => all.push(Said {
                line: line.to_owned(),
                printed: Vec::new(),
            }),
        }
    }
    all
}

fn compare(said: &[Said], as_read: impl Fn(&[String]) -> Vec<String>) {
    let mut wrong = String::new();
    for (was, now) in written().iter().zip(said) {
        let (expected, got) = (as_read(&was.printed), as_read(&now.printed));
        if expected != got {
            wrong += &format!(
                "\n{}\n--- expected\n{}\n--- printed\n{}\n",
                was.line,
                expected.join("\n"),
                got.join("\n")
            );
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// Plays the whole transcript.
fn play(three: &mut dyn Three, controller: i32, tools: &mut dyn Tools) -> Vec<Said> {
    let other = BROKERS.clone().find(|id| *id != controller).expect("another");
    let all: Vec<String> = BROKERS.clone().map(|id| three.address(id)).collect();
    let places = [
        ("ALL", all.join(",")),
        ("FIRST", three.address(1)),
        ("OTHER", three.address(other)),
    ];
    let play = |Said { line, .. }: Said| {
        let mut printed = Vec::new();
        if let Some(command) = line.strip_prefix("$ ") {
            await_agreement(three);
            let text = tools.run(&replaced(command, &places));
            let named = all.iter().zip(BROKERS);
            let named = named.fold(text, |text, (address, id)| {
                text.replace(address, &format!("BROKER-{id}"))
            });
            let lines = named.lines().filter_map(|line| comparable(line, "BOOTSTRAP"));
            printed.extend(lines.map(|line| without_places(line.trim_end_matches('\n'))));
        } else if let Some(deed) = line.strip_prefix("! ") {
            befall(three, deed);
        }
        Said { line, printed }
    };
    written().into_iter().map(play).collect()
}

/// The line without where logs lie, and with sets in one order: Kafka's tools print hash maps, and an ISR
/// is in the order in which its members entered.
fn without_places(line: &str) -> String {
    const DIRS: &str = "\"log_dirs\":[";
    let mut line = line.to_owned();
    if let Some((before, after)) = line.split_once(DIRS)
        && let Some((_, behind)) = after.split_once(']')
    {
        line = format!("{before}{DIRS}*]{behind}");
    }
    line = in_order(&line, " for partitions ", ", ", "\n");
    in_order(&line, "\tIsr: ", ",", "\t")
}

/// Sorts the list that follows the words, up to what ends it.
fn in_order(line: &str, words: &str, between: &str, end: &str) -> String {
    let Some((before, list)) = line.split_once(words) else {
        return line.to_owned();
    };
    let (list, behind) = match list.split_once(end) {
        Some((list, behind)) => (list, format!("{end}{behind}")),
        None => (list, String::new()),
    };
    let mut items: Vec<&str> = list.split(between).collect();
    items.sort_unstable();
    format!("{before}{words}{}{behind}", items.join(between))
}

fn replaced(command: &str, places: &[(&str, String)]) -> String {
    places
        .iter()
        .fold(command.to_owned(), |command, (name, address)| {
            command.replace(
                &format!("--bootstrap-server {name} "),
                &format!("--bootstrap-server {address} "),
            )
        })
}

/// `stop|kill|pause|start ID`, `await TOPIC-PARTITION LEADER ISR`, or `hear TOPIC KEY VALUE`
fn befall(three: &mut dyn Three, line: &str) {
    let words: Vec<&str> = line.split(' ').collect();
    let number = |word: &str| {
        word.parse::<i32>()
            .unwrap_or_else(|_| panic!("a number in {line:?}"))
    };
    let deed = match words[..] {
        ["await", partition, leader, isr] => {
            let isr = isr.split(',').map(number).collect();
            return await_partition(three, partition, number(leader), isr);
        }
        ["hear", topic, key, value] => return await_config(three, topic, key, value),
        ["stop", _] => Deed::Stop,
        ["kill", _] => Deed::Kill,
        ["pause", _] => Deed::Pause,
        ["start", _] => Deed::Start,
        _ => panic!("{line:?} is no deed"),
    };
    three.do_to(number(words[1]), deed);
}

/// Until the brokers that run tell the same of all topics: a command is answered before every broker has
/// heard what it did.
fn await_agreement(three: &dyn Three) {
    highwater_tests::cluster::until("the brokers tell the same of all topics", || {
        let running = BROKERS.filter(|id| three.is_running(*id));
        let told = running.map(|id| all_partitions(&mut WireClient::connect(&three.address(id))));
        let told: Vec<_> = told.collect();
        match told.windows(2).all(|pair| pair[0] == pair[1]) {
            true => Ok(()),
            false => Err(format!("{told:?}")),
        }
    });
}

/// Until every broker that runs has heard of the topic's setting.
fn await_config(three: &dyn Three, topic: &str, key: &str, value: &str) {
    for id in BROKERS.filter(|id| three.is_running(*id)) {
        let mut client = WireClient::connect(&three.address(id));
        let what = format!("broker {id}: {key}={value} for {topic}");
        highwater_tests::cluster::until(&what, || match config(&mut client, of_topic(topic), key) {
            Some(heard) if heard == value => Ok(()),
            heard => Err(format!("{heard:?}")),
        });
    }
}

/// Until every broker that runs tells so.
fn await_partition(three: &dyn Three, partition: &str, leader: i32, isr: Vec<i32>) {
    let (topic, index) = partition.rsplit_once('-').expect("TOPIC-PARTITION");
    let index: i32 = index.parse().expect("a partition's number");
    for id in BROKERS.filter(|id| three.is_running(*id)) {
        let mut client = WireClient::connect(&three.address(id));
        let what = format!("broker {id}: {partition} led by {leader} with ISR {isr:?}");
        highwater_tests::cluster::until(&what, || {
            let told = metadata(&mut client, topic, false);
            let partitions = told.topics.iter().flat_map(|topic| &topic.partitions);
            let mut of_index = partitions.filter(|partition| partition.partition_index == index);
            match of_index.next().map(Seen::of) {
                Some(seen) if (seen.leader, &seen.isr) == (leader, &isr) => Ok(()),
                seen => Err(format!("{seen:?}")),
            }
        });
    }
}
