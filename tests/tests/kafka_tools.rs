//! Apache Kafka's command line tools against our broker: they print what they print of Apache Kafka.
//!
//! `tests/clients/tools.transcript` holds the commands, each with what was printed. `HIGHWATER_BLESS=1`
//! writes it; with `HIGHWATER_BOOTSTRAP=HOST:PORT` another broker is asked, say Apache Kafka itself,
//! whose node has to be number 1. Needs Java and Kafka's jars: `cargo xtask test` runs it with the clients.

use std::path::Path;
use std::process::Command;

use highwater_tests::broker::TestBroker;

#[test]
fn kafkas_tools_print_what_they_print_of_kafka() {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    let transcript = tests.join("clients/tools.transcript");
    let external = std::env::var("HIGHWATER_BOOTSTRAP").ok();
    let broker = external.is_none().then(|| TestBroker::start(&[]));
    let bootstrap = external.or(broker.as_ref().map(TestBroker::address));
    let bootstrap = bootstrap.expect("a broker was started or named");
    let java = tests.join("../target/clients/java");
    let output = Command::new("java")
        .args(["-Xmx256m", "-cp"])
        .arg(format!("{0}/classes:{0}/lib/*", java.display()))
        .args(["Tools", &bootstrap])
        .arg(&transcript)
        .output()
        .expect("run java: `cargo xtask test` says what is missing and how to get it");
    let said = String::from_utf8_lossy(&output.stdout);
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{complaint}\n{said}");
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

/// The line without what differs from run to run. `None` for an empty line, one of a stack
/// trace, and one that a tool logs.
fn comparable(line: &str, bootstrap: &str) -> Option<String> {
    // What a new KRaft cluster sets for all its brokers: see the page of differences.
    const SET_BY_KRAFT: &str = "DYNAMIC_DEFAULT_BROKER_CONFIG:min.insync.replicas=1";
    let is_of_stack = line.starts_with("\tat ") || line.starts_with("\t... ");
    let is_logged = line.contains("] ERROR org.apache.kafka.");
    if line.is_empty() || is_of_stack || is_logged || line.ends_with(&format!("={{{SET_BY_KRAFT}}}")) {
        return None;
    }
    let (host, port) = bootstrap.split_once(':').unwrap_or((bootstrap, ""));
    let mut line = line.replace(bootstrap, "BOOTSTRAP");
    line = line.replace(&format!("{host} {port} "), "HOST PORT ");
    line = masked(&line, "TopicId: ", |c| !c.is_whitespace());
    line = masked(&line, " records sent, ", |_| true);
    line = line.replace(&format!("{SET_BY_KRAFT}, "), "");
    line = line.replace("Configs: min.insync.replicas=1,", "Configs: ");
    let gap = if line.starts_with("$ ") { "\n" } else { "" };
    Some(format!("{gap}{line}\n"))
}

/// The line with `*` for what follows the words, as long as it is `part` of the value.
fn masked(line: &str, words: &str, part: impl Fn(char) -> bool) -> String {
    match line.split_once(words) {
        None => line.to_owned(),
        Some((before, value)) => format!("{before}{words}*{}", value.trim_start_matches(part)),
    }
}
