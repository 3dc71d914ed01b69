//! The tools that stand on our own producer and consumer, as processes against a real broker: what they
//! commit, how they end, and what they say when something is wrong.
//!
//! That they print what Kafka's print, `kafka_tools` shows.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdout, Command, Output, Stdio};

use highwater_core::record::{BatchBuilder, Codec};
use highwater_tests::broker::{TestBroker, binary, free_port};
use highwater_tests::requests::{create_topic, produce};
use highwater_tests::wire::WireClient;

/// So that groups work on a broker alone, at once.
const SETTINGS: &[&str] = &[
    "offsets.topic.replication.factor=1",
    "group.initial.rebalance.delay.ms=0",
];

/// A broker with a topic `t` of one partition, and `count` records in it: `0`, `1`, and so on.
fn broker_with(count: u32) -> TestBroker {
    let broker = TestBroker::start(SETTINGS);
    let mut client = WireClient::connect(&broker.address());
    create_topic(&mut client, "t", 1, &[]).expect("a topic");
    if count > 0 {
        add(&broker, 0..count);
    }
    broker
}

fn add(broker: &TestBroker, numbers: std::ops::Range<u32>) {
    let mut client = WireClient::connect(&broker.address());
    let mut batch = BatchBuilder::new(Codec::Zstd);
    numbers.for_each(|number| {
        batch.append(0, None, Some(number.to_string().as_bytes()), &[]);
    });
    produce(&mut client, "t", 0, batch.build()).expect("a batch is taken");
}

fn tool(name: &str, bootstrap: &str, options: &str) -> Command {
    let mut command = Command::new(binary());
    command.args([name, "--bootstrap-server", bootstrap]);
    command.args(options.split_whitespace());
    command
}

/// What it printed, what it complained of, and how it ended.
fn run(name: &str, broker: &TestBroker, options: &str) -> (String, String, Option<i32>) {
    let mut command = tool(name, &broker.address(), options);
    read(&command.output().expect("run the tool"))
}

fn read(output: &Output) -> (String, String, Option<i32>) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr), output.status.code())
}

/// A tool that goes on until it is stopped.
struct Running {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Running {
    fn start(broker: &TestBroker, options: &str) -> Self {
        Self::spawn(tool("console-consumer", &broker.address(), options))
    }

    fn spawn(mut command: Command) -> Self {
        let piped = command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = piped.spawn().expect("run the tool");
        let lines = BufReader::new(child.stdout.take().expect("stdout is piped"));
        Self { child, lines }
    }

    fn next_line(&mut self) -> String {
        let mut line = String::new();
        self.lines.read_line(&mut line).expect("read a line");
        line.trim_end().to_owned()
    }

    /// What it complained of by its end, and how it ended.
    fn end(mut self, signal: &str) -> (String, Option<i32>) {
        let pid = self.child.id().to_string();
        let sent = Command::new("kill").args([signal, &pid]).status();
        assert!(sent.is_ok_and(|status| status.success()), "kill {signal}");
        let mut stderr = String::new();
        let complaints = self.child.stderr.as_mut().expect("stderr is piped");
        complaints.read_to_string(&mut stderr).expect("read what it says");
        (stderr, self.child.wait().expect("it ends").code())
    }
}

/// CURRENT-OFFSET of the only partition that the group has committed.
fn committed(broker: &TestBroker, group: &str) -> String {
    let (said, complaint, code) = run("consumer-groups", broker, &format!("--describe --group {group}"));
    assert_eq!(code, Some(0), "{complaint}");
    let row = said.lines().last().unwrap_or_default();
    row.split_whitespace().nth(3).unwrap_or_default().to_owned()
}

#[test]
fn a_consumer_that_is_stopped_commits_what_it_printed_and_leaves() {
    let broker = broker_with(3);
    for (group, signal, code) in [("interrupted", "-INT", 130), ("terminated", "-TERM", 143)] {
        let mut running = Running::start(&broker, &format!("--topic t --group {group} --from-beginning"));
        let printed: Vec<String> = (0..3).map(|_| running.next_line()).collect();
        assert_eq!(printed, ["0", "1", "2"]);
        let (complaint, ended) = running.end(signal);
        assert_eq!(complaint, "Processed a total of 3 messages\n");
        assert_eq!(ended, Some(code));
        assert_eq!(committed(&broker, group), "3");
        let (_, complaint, _) = run(
            "consumer-groups",
            &broker,
            &format!("--describe --group {group} --state"),
        );
        assert!(complaint.contains("has no active members"), "{complaint}");
    }
}

#[test]
fn what_was_read_and_not_printed_is_read_again() {
    let broker = broker_with(5);
    let two = "--topic t --group g --from-beginning --max-messages 2";
    assert_eq!(run("console-consumer", &broker, two).0, "0\n1\n");
    assert_eq!(committed(&broker, "g"), "2");
    assert_eq!(run("console-consumer", &broker, two).0, "2\n3\n");
    let rest = "--topic t --group g --from-beginning --max-messages 1";
    assert_eq!(run("console-consumer", &broker, rest).0, "4\n");
}

#[test]
fn without_a_group_nothing_is_committed() {
    let broker = broker_with(2);
    let all = "--topic t --from-beginning --max-messages 2";
    assert_eq!(run("console-consumer", &broker, all).0, "0\n1\n");
    let (groups, _, _) = run("consumer-groups", &broker, "--list");
    let group = groups.trim();
    assert!(group.starts_with("console-consumer-"), "{groups}");
    let (said, _, _) = run("consumer-groups", &broker, &format!("--describe --group {group}"));
    assert_eq!(said, "");
}

#[test]
fn a_member_is_told_of_while_it_runs_and_a_group_with_members_is_left_alone() {
    let broker = broker_with(1);
    let mut member = Running::start(&broker, "--topic t --group g --from-beginning");
    assert_eq!(member.next_line(), "0");
    let (said, _, _) = run(
        "consumer-groups",
        &broker,
        "--describe --group g --members --verbose",
    );
    assert!(
        said.lines().last().is_some_and(|row| row.contains(" t:0 ")),
        "{said}"
    );
    let reset = "--reset-offsets --group g --topic t --to-earliest --execute";
    let (said, _, code) = run("consumer-groups", &broker, reset);
    let why =
        "Error: Assignments can only be reset if the group 'g' is inactive, but the current state is Stable.";
    assert!(said.contains(why), "{said}");
    assert_eq!(code, Some(1));
    let (said, _, code) = run("consumer-groups", &broker, "--delete --group g");
    let why = "* Group 'g' could not be deleted due to: The group is not empty.";
    assert!(said.contains(why), "{said}");
    assert_eq!(code, Some(1));
    // The member did not notice any of it.
    add(&broker, 1..2);
    assert_eq!(member.next_line(), "1");
    assert_eq!(member.end("-INT").1, Some(130));
}

#[test]
fn a_reader_that_has_seen_enough_ends_the_consumer() {
    let broker = broker_with(1);
    let mut running = Running::start(&broker, "--topic t --from-beginning");
    assert_eq!(running.next_line(), "0");
    let (unread, _) = std::io::pipe().expect("make a pipe");
    running.lines = BufReader::new(ChildStdout::from(std::os::fd::OwnedFd::from(unread)));
    add(&broker, 1..2);
    let mut complaint = String::new();
    let stderr = running.child.stderr.as_mut().expect("stderr is piped");
    stderr.read_to_string(&mut complaint).expect("read what it says");
    let expected = "Unable to write to standard out, closing consumer.\nProcessed a total of 2 messages\n";
    assert_eq!(complaint, expected);
    assert_eq!(running.child.wait().expect("it ends").code(), Some(0));
}

/// What it complains of when nobody reads what it prints, and how it ends.
fn unread(mut command: Command) -> (String, Option<i32>) {
    let (reader, writer) = std::io::pipe().expect("make a pipe");
    drop(reader);
    let output = command.stdout(writer).output().expect("run the tool");
    let (_, complaint, code) = read(&output);
    (complaint, code)
}

/// The same when nobody reads what it complains of either.
fn unheard(mut command: Command) -> Option<i32> {
    let (reader, writer) = std::io::pipe().expect("make a pipe");
    drop(reader);
    let complaints = writer.try_clone().expect("a second end");
    let status = command.stdout(writer).stderr(complaints).status();
    status.expect("run the tool").code()
}

#[test]
fn a_command_that_nobody_reads_ends_quietly() {
    let broker = broker_with(1000);
    let log = broker.data().join("t-0/00000000000000000000.log");
    let log = log.display().to_string();
    let script = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/scenarios/acks/all_survives_the_leader"
    );
    let with_broker = [
        ("topics", "--describe"),
        ("topics", "--list"),
        ("topics", "--create --topic made-{}"),
        ("configs", "--describe --all --entity-type topics"),
        ("configs", "--describe --all --entity-type brokers"),
        ("get-offsets", ""),
        (
            "leader-election",
            "--election-type preferred --topic t --partition 0",
        ),
        ("reassign-partitions", "--list"),
        ("consumer-groups", "--list"),
        ("consumer-groups", "--all-groups --describe"),
        (
            "producer-perf-test",
            "--topic t --num-records 10 --record-size 10 --throughput -1",
        ),
        ("consumer-perf-test", "--topic t --num-records 1000"),
    ];
    let alone: [&[&str]; 8] = [
        &["--help"],
        &["--version"],
        &["configs", "--help"],
        &["dump-log", "--print-data-log", "--files", &log],
        &["sim", script],
        &["sim", script, "--json", "--describe"],
        &["sim", "--seeds", "2"],
        &["consumer-groups", "--validate-regex", "a|b"],
    ];
    let made = |(name, options): (&str, &str), number: &str| {
        tool(name, &broker.address(), &options.replace("{}", number))
    };
    let on_its_own = |arguments: &[&str]| {
        let mut command = Command::new(binary());
        command.args(arguments);
        command
    };
    for case in with_broker {
        assert_eq!(unread(made(case, "1")), (String::new(), Some(0)), "{case:?}");
        assert_eq!(unheard(made(case, "2")), Some(0), "{case:?}");
    }
    for case in alone {
        assert_eq!(unread(on_its_own(case)), (String::new(), Some(0)), "{case:?}");
        assert_eq!(unheard(on_its_own(case)), Some(0), "{case:?}");
    }
    // Kafka's says why it ends.
    let consumer = || {
        tool(
            "console-consumer",
            &broker.address(),
            "--topic t --from-beginning",
        )
    };
    let (complaint, code) = unread(consumer());
    assert!(
        complaint.starts_with("Unable to write to standard out, closing consumer.\n"),
        "{complaint}"
    );
    assert_eq!(code, Some(0));
    assert_eq!(unheard(consumer()), Some(0));
    // What failed has failed, whoever hears of it.
    let wrong = || tool("topics", &broker.address(), "--describe --topic nowhere");
    assert_eq!(unread(wrong()).1, Some(1));
    assert_eq!(unheard(wrong()), Some(1));
}

#[test]
fn what_a_command_is_there_to_do_is_done_though_nobody_reads_of_it() {
    let broker = broker_with(10);
    let directory = tempfile::tempdir().expect("make a temporary directory");
    let file = directory.path().join("offsets.json");
    let offsets = r#"{"partitions": [{"topic": "t", "partition": 0, "offset": 4}], "version": 1}"#;
    std::fs::write(&file, offsets).expect("write the file");
    let mut command = tool("delete-records", &broker.address(), "--offset-json-file");
    command.arg(&file);
    assert_eq!(unread(command), (String::new(), Some(0)));
    let (said, _, _) = run("get-offsets", &broker, "--topic t --time earliest");
    assert_eq!(said, "t:0:4\n");

    let script = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/scenarios/acks/all_survives_the_leader"
    );
    let mut command = Command::new(binary());
    command.args(["sim", script, "--dump-dir"]).arg(directory.path());
    assert_eq!(unread(command), (String::new(), Some(0)));
    assert!(directory.path().join("broker-1/orders-0").is_dir());
}

#[test]
fn output_that_is_lost_fails_the_command() {
    let broker = broker_with(1);
    let full = || {
        std::fs::OpenOptions::new()
            .write(true)
            .open("/dev/full")
            .expect("open /dev/full")
    };
    let log = broker.data().join("t-0/00000000000000000000.log");
    let mut dump = Command::new(binary());
    dump.args(["dump-log", "--files"]).arg(log);
    for mut command in [tool("topics", &broker.address(), "--list"), dump] {
        let (_, complaint, code) = read(&command.stdout(full()).output().expect("run the tool"));
        let expected =
            "highwater: what there is to say cannot be written: No space left on device (os error 28)\n";
        assert_eq!((&*complaint, code), (expected, Some(1)));
    }
}

#[test]
fn a_producer_that_is_stopped_sends_what_it_read() {
    let broker = broker_with(0);
    // It lingers for longer than anybody would wait.
    let mut command = tool(
        "console-producer",
        &broker.address(),
        "--topic t --timeout 100000",
    );
    command.args(["--command-property", "delivery.timeout.ms=200000"]);
    command.stdin(Stdio::piped());
    let mut running = Running::spawn(command);
    let mut input = running.child.stdin.take().expect("stdin is piped");
    let mut reader = Running::start(&broker, "--topic t --from-beginning");
    // A batch that has no room any more goes out by itself: then the line after it has been read, too.
    let (long, last) = ("x".repeat(20_000), "y".repeat(100));
    write!(input, "{long}\n{last}\n").expect("write lines");
    assert_eq!(reader.next_line(), long);
    let (complaint, code) = running.end("-INT");
    assert_eq!((&*complaint, code), ("", Some(130)));
    assert_eq!(reader.next_line(), last);
    assert_eq!(reader.end("-INT").1, Some(130));
}

#[test]
fn records_that_cannot_be_sent_are_named_and_the_others_are_sent() {
    let broker = broker_with(0);
    let options = "--topic t --command-property max.request.size=1000";
    let mut command = tool("console-producer", &broker.address(), options);
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = piped.stderr(Stdio::piped()).spawn().expect("run the tool");
    let mut input = child.stdin.take().expect("stdin is piped");
    write!(input, "short\n{}\nlast\n", "x".repeat(2000)).expect("write lines");
    drop(input);
    let (_, complaint, code) = read(&child.wait_with_output().expect("it ends"));
    let begin = "highwater: Error when sending message to topic t with key: null, value: 2000 bytes with error: \
                 The message is ";
    assert!(complaint.starts_with(begin), "{complaint}");
    assert_eq!((complaint.lines().count(), code), (1, Some(1)));
    let all = "--topic t --from-beginning --max-messages 2";
    assert_eq!(run("console-consumer", &broker, all).0, "short\nlast\n");
}

#[test]
fn the_writing_of_records_is_measured() {
    let broker = broker_with(0);
    let options = "--topic t --num-records 5000 --record-size 100 --throughput -1 --warmup-records 1000 \
                   --command-property linger.ms=0";
    let (said, complaint, code) = run("producer-perf-test", &broker, options);
    assert_eq!((&*complaint, code), ("", Some(0)));
    let lines: Vec<&str> = said.lines().collect();
    let begins = [
        "Warmup first 1000 records. Steady state results will print after the complete test summary.",
        "5000 records sent, ",
        "4000 steady state records sent, ",
    ];
    assert_eq!(lines.len(), begins.len(), "{said}");
    for (line, begin) in lines.iter().zip(begins) {
        assert!(line.starts_with(begin), "{said}");
    }
    let (said, _, _) = run(
        "consumer-perf-test",
        &broker,
        "--topic t --num-records 5000 --hide-header",
    );
    let figures: Vec<&str> = said.trim().split(", ").collect();
    assert_eq!(
        figures.get(2..5).map(|some| (some[0], some[2])),
        Some(("0.4768", "5000")),
        "{said}"
    );
}

/// Between two records it sleeps for half a second, and the answers come within milliseconds.
#[test]
fn a_latency_ends_with_the_answer_and_not_with_the_next_record() {
    let broker = broker_with(0);
    let options = "--topic t --num-records 5 --record-size 100 --throughput 2 --command-property linger.ms=0";
    let (said, _, _) = run("producer-perf-test", &broker, options);
    let median = said
        .split(", ")
        .find_map(|figure| figure.strip_suffix(" ms 50th"));
    let median: u32 = median.and_then(|ms| ms.parse().ok()).expect("a median");
    assert!(median < 250, "{said}");
}

#[test]
fn what_is_wrong_is_said_in_one_line() {
    let broker = broker_with(1);
    let nowhere = format!("127.0.0.1:{}", free_port());
    let mut command = tool("console-consumer", &nowhere, "--topic t --timeout-ms 300");
    let (_, complaint, code) = read(&command.output().expect("run the tool"));
    let expected =
        format!("highwater: cannot connect to {nowhere}: Connection refused (os error 111); trying again");
    assert_eq!(complaint.lines().next(), Some(&*expected));
    assert_eq!(complaint.lines().count(), 2, "{complaint}");
    assert_eq!(code, Some(0), "as when no record comes");
    let cases = [
        (
            "console-consumer",
            "--topic t --command-property partition.assignment.strategy=x",
            "highwater: partition.assignment.strategy: there is no assignor 'x'",
        ),
        (
            "console-consumer",
            "--topic t --command-property fetch.min.bytes=many",
            "highwater: Invalid value many for configuration fetch.min.bytes: Not a number of type INT",
        ),
        (
            "console-consumer",
            "--topic t --group g --group= --timeout-ms 300",
            "error: the argument '--group <GROUP>' cannot be used multiple times",
        ),
        (
            "console-consumer",
            "--topic t --command-property group.id= --timeout-ms 300",
            "highwater: The configured group.id should not be an empty string or whitespace.",
        ),
        (
            "console-consumer",
            "--include [ --timeout-ms 300",
            "highwater: '[' is no pattern for topics: ",
        ),
        (
            "console-consumer",
            "--topic t --formatter x",
            "highwater: --formatter x: not known here",
        ),
        (
            "console-consumer",
            "--topic t --command-config no/such",
            "highwater: cannot read no/such: ",
        ),
        (
            "console-consumer",
            "--topic t --command-property auto.offset.reset=none --group fresh --timeout-ms 30000",
            "highwater: Undefined offset with no reset policy for partitions: [t-0]",
        ),
        (
            "console-consumer",
            "--topic t --partition 0 --offset 0 --value-deserializer org.apache.kafka.common.serialization.LongDeserializer",
            "highwater: t-0 at offset 0 cannot be printed: Size of data received by LongDeserializer is not 8",
        ),
        (
            "consumer-groups",
            "--describe --group nobody",
            "highwater: Group nobody not found.",
        ),
        (
            "consumer-groups",
            "--reset-offsets --group g --topic t:7 --to-earliest --dry-run",
            "highwater: The partitions \"t-7\" do not exist",
        ),
        (
            "consumer-groups",
            "--reset-offsets --group g --topic t --shift-by 1 --dry-run",
            "highwater: Cannot shift offset for partition t-0 since there is no current committed offset",
        ),
        (
            "consumer-groups",
            "--reset-offsets --group g --topic t --to-datetime soon --dry-run",
            "highwater: --to-datetime soon: it reads YYYY-MM-DDThh:mm:ss.sss",
        ),
        (
            "consumer-groups",
            "--reset-offsets --group g --to-earliest --dry-run",
            "highwater: One of the reset scopes should be defined: --all-topics, --topic.",
        ),
        (
            "console-producer",
            "--topic t --request-required-acks 2",
            "highwater: Invalid value 2 for configuration acks: ",
        ),
        (
            "console-producer",
            "--topic t --line-reader x",
            "highwater: --line-reader x: not known here",
        ),
        (
            "console-producer",
            "--topic t --property headers.separator=:",
            "highwater: headers.separator and headers.key.separator may not be equal",
        ),
        (
            "producer-perf-test",
            "--topic t --num-records 1 --throughput -1",
            "error: the following required arguments were not provided:",
        ),
        (
            "producer-perf-test",
            "--topic t --num-records 1 --throughput -1 --record-size 1 --command-property acks",
            "highwater: Invalid property: acks",
        ),
        (
            "producer-perf-test",
            "--topic t --num-records 2 --throughput -1 --payload-file no/such",
            "highwater: cannot read no/such: ",
        ),
        (
            "producer-perf-test",
            "--topic a/b --num-records 1 --throughput -1 --record-size 1",
            "highwater: record 0: INVALID_TOPIC_EXCEPTION: Invalid topics: [a/b]",
        ),
        (
            "consumer-perf-test",
            "--topic t --num-records 1 --date-format EEE",
            "error: invalid value 'EEE'",
        ),
    ];
    for (name, options, line) in cases {
        let (_, complaint, code) = run(name, &broker, options);
        assert!(
            complaint.lines().any(|said| said.starts_with(line)),
            "{name} {options}:\n{complaint}"
        );
        assert_ne!(code, Some(0), "{name} {options}:\n{complaint}");
    }
}

#[test]
fn the_reading_of_records_is_measured() {
    let broker = broker_with(1000);
    let (said, _, code) = run("consumer-perf-test", &broker, "--topic t --num-records 1000");
    assert_eq!(code, Some(0));
    let lines: Vec<&str> = said.lines().collect();
    let [names, figures] = lines[..] else {
        panic!("{said}")
    };
    let (names, figures): (Vec<&str>, Vec<&str>) =
        (names.split(", ").collect(), figures.split(", ").collect());
    assert_eq!((names.len(), figures.len()), (10, 10), "{said}");
    let at = |name: &str| figures[names.iter().position(|n| *n == name).expect("a column")];
    assert_eq!(at("data.consumed.in.nMsg"), "1000");
    assert_eq!(
        at("data.consumed.in.MB"),
        "0.0028",
        "10 of one byte, 90 of two, 900 of three"
    );
    let short = "--topic t --num-records 2000 --timeout 500 --hide-header";
    let (said, _, _) = run("consumer-perf-test", &broker, short);
    assert!(
        said.starts_with(
            "WARNING: Exiting before consuming the expected number of records: timeout (500 ms)"
        )
    );
}
