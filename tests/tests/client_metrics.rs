//! What our clients measure of themselves, as the perf tests print it with `--print-metrics`.

use std::collections::BTreeMap;
use std::process::Command;

use highwater_tests::broker::{TestBroker, binary};
use highwater_tests::requests::create_topic;
use highwater_tests::wire::WireClient;

/// So that groups work on a broker alone, at once.
const SETTINGS: &[&str] = &[
    "offsets.topic.replication.factor=1",
    "group.initial.rebalance.delay.ms=0",
];

/// What the tool prints; it has nothing to complain of.
fn run(name: &str, broker: &TestBroker, options: &str) -> String {
    let mut command = Command::new(binary());
    command.args([name, "--bootstrap-server", &broker.address()]);
    command.args(options.split_whitespace());
    let output = command.output().expect("run the tool");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert_eq!(
        (text(&output.stderr).as_str(), output.status.code()),
        ("", Some(0))
    );
    text(&output.stdout)
}

/// The figures that were printed, by group and name.
fn metrics(said: &str) -> BTreeMap<String, f64> {
    let rows = said
        .lines()
        .skip_while(|line| !line.starts_with("Metric Name "))
        .skip(1);
    let rows = rows.map(|row| {
        let (name, value) = row.split_once(" : ").expect("a name and a value");
        (name.trim_end().to_owned(), value.parse().expect("a number"))
    });
    rows.collect()
}

#[test]
fn what_clients_measure_is_printed_under_kafkas_names() {
    let broker = TestBroker::start(SETTINGS);
    let mut client = WireClient::connect(&broker.address());
    create_topic(&mut client, "t", 1, &[]).expect("a topic");
    let options = "--topic t --num-records 1000 --record-size 100 --throughput -1 --print-metrics";
    let said = run("producer-perf-test", &broker, options);
    let all = metrics(&said);
    let of = |group: &str, name: &str, tags: &str| all[&format!("{group}:{name}:{{client-id={tags}}}")];
    let producer = |name: &str| of("producer-metrics", name, "perf-producer-client");
    assert_eq!(producer("record-send-total"), 1000.0);
    assert_eq!(
        (producer("record-error-total"), producer("record-retry-total")),
        (0.0, 0.0)
    );
    assert_eq!(producer("buffer-total-bytes"), 33_554_432.0);
    assert_eq!(
        producer("buffer-available-bytes"),
        33_554_432.0,
        "all of it is given back"
    );
    assert_eq!(producer("requests-in-flight"), 0.0);
    assert!((1000.0..16_384.5).contains(&producer("batch-size-avg")), "{said}");
    assert!(
        producer("request-latency-avg") <= producer("request-latency-max"),
        "{said}"
    );
    assert!(producer("records-per-request-avg") > 1.0, "{said}");
    let topic = |name: &str| of("producer-topic-metrics", name, "perf-producer-client, topic=t");
    assert_eq!(topic("record-send-total"), 1000.0);
    assert!(topic("byte-total") > 100_000.0, "{said}");

    // One more than there are: so that nothing is left of any answer.
    let options = "--topic t --num-records 1001 --timeout 1000 --print-metrics";
    let said = run("consumer-perf-test", &broker, options);
    let all = metrics(&said);
    let consumer = |name: &str| {
        all[&format!("consumer-fetch-manager-metrics:{name}:{{client-id=perf-consumer-client}}")]
    };
    assert_eq!(consumer("records-consumed-total"), 1000.0);
    assert_eq!(
        consumer("records-lag-max"),
        500.0,
        "behind the first max.poll.records"
    );
    // Around its value a record has its length and the value's, of two bytes each, its attributes, its key's
    // length and the number of its headers, of one, and two distances of one or two.
    assert!(
        (109_000.0..=111_000.0).contains(&consumer("bytes-consumed-total")),
        "{said}"
    );
    assert!(
        consumer("fetch-total") >= 1.0 && consumer("fetch-latency-avg") >= 0.0,
        "{said}"
    );
    assert!(
        consumer("fetch-size-max") <= consumer("bytes-consumed-total"),
        "{said}"
    );
    assert!(consumer("records-per-request-avg") > 0.0, "{said}");
}
