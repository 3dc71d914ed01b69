//! The public test suites of franz-go and kafka-python against our brokers: all that passes on Apache Kafka
//! 4.4 must pass here, but for what asks for something that is not there yet.
//!
//! `tests/clients/suites/` has a line for each test that Kafka passes: its area, its name, and, if we do not,
//! what is missing; those are not run. The table in the book is made of that and of the run.
//! `HIGHWATER_BLESS=1` writes it instead of comparing it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use highwater_tests::broker::{TestBroker, free_port, free_ports};
use highwater_tests::repository;

/// A test that passes on Kafka.
struct Judge {
    area: String,
    name: String,
    missing: Option<String>,
}

struct Suite {
    title: &'static str,
    judges: Vec<Judge>,
    passed: BTreeSet<String>,
}

fn clients(part: &str) -> PathBuf {
    repository().join("tests/clients/suites").join(part)
}

fn built(part: &str) -> PathBuf {
    repository().join("target/clients/suites").join(part)
}

fn judges(file: &str) -> Vec<Judge> {
    let path = clients(file);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let judge = |line: &str| {
        let mut fields = line.split('\t').map(str::to_owned);
        Judge {
            area: fields.next().expect("an area"),
            name: fields.next().expect("a name"),
            missing: fields.next(),
        }
    };
    text.lines().map(judge).collect()
}

/// What the command printed; whether it ended well is seen by each test's own line.
fn said(mut command: Command) -> String {
    let output = command
        .output()
        .unwrap_or_else(|e| panic!("{command:?}: {e}; `cargo xtask test --soak` builds it"));
    let text = [output.stdout, output.stderr].concat();
    String::from_utf8_lossy(&text).into_owned()
}

/// Three brokers in one process.
fn franz_go() -> Suite {
    let judges = judges("franz-go.txt");
    let tests = judges.iter().filter(|judge| judge.missing.is_none());
    let tests: BTreeSet<&str> = tests.filter_map(|judge| judge.name.split('/').next()).collect();
    let tests: Vec<&str> = tests.into_iter().collect();
    let gaps = judges.iter().filter(|judge| judge.missing.is_some());
    let gaps = gaps.map(|judge| {
        let parts: Vec<String> = judge.name.split('/').map(|part| format!("^{part}$")).collect();
        parts.join("/")
    });
    let gaps: Vec<String> = gaps.collect();
    let directory = Arc::new(tempfile::tempdir().expect("make a temporary directory"));
    let brokers = TestBroker::start_up(directory, free_ports(3), 3);
    let mut command = Command::new(built("franz-go.test"));
    command
        .current_dir(built(""))
        .args(["-test.v", "-test.parallel=2", "-test.timeout=20m", "-test.run"])
        .arg(format!("^({})$", tests.join("|")))
        .arg(format!("-test.skip={}", gaps.join("|")))
        .env("KGO_SEEDS", brokers.address())
        .env("KGO_TEST_RF", "3")
        // Of its own 500,000.
        .env("KGO_TEST_RECORDS", "20000")
        .env("KGO_TEST_MAX_TOPIC_PARTS", "7")
        .env("KGO_LOG_LEVEL", "none");
    let said = said(command);
    // `    --- PASS: TestName/case (1.00s)`
    let passed = said.lines().filter_map(|line| {
        let (name, _) = line.trim_start().strip_prefix("--- PASS: ")?.split_once(' ')?;
        Some(name.to_owned())
    });
    let passed = passed.collect();
    complain("franz-go", &judges, &passed, &said);
    Suite {
        title: "franz-go 1.22.3",
        judges,
        passed,
    }
}

/// One broker, which must be number 0.
fn kafka_python() -> Suite {
    let judges = judges("kafka-python.txt");
    let port = free_port();
    let listener = format!("listeners=PLAINTEXT://127.0.0.1:{port}");
    let _broker = TestBroker::start(&[
        "broker.id=0",
        &listener,
        // A test asks whether the file has it.
        &format!("advertised.{listener}"),
        "offsets.topic.replication.factor=1",
        "group.initial.rebalance.delay.ms=0",
        "group.min.session.timeout.ms=1000",
    ]);
    let source = built("kafka_python-3.0.12");
    let mut command = Command::new(built("python/bin/python"));
    command
        .current_dir(&source)
        .args([
            "-m",
            "pytest",
            "-q",
            "-rA",
            "--tb=short",
            "-p",
            "no:cacheprovider",
        ])
        .args(["--timeout=120", "test/integration"])
        .env("KAFKA_ROOT", &source)
        .env("KAFKA_URI", format!("kafka://127.0.0.1:{port}"))
        .env("KAFKA_VERSION", "4.3");
    for judge in judges.iter().filter(|judge| judge.missing.is_some()) {
        let name = judge.name.replacen("::", ".py::", 1);
        command.arg(format!("--deselect=test/integration/{name}"));
    }
    let said = said(command);
    // `PASSED test/integration/test_file.py::test_name`
    let passed = said.lines().filter_map(|line| {
        let name = line.strip_prefix("PASSED test/integration/")?;
        Some(name.trim_end().replacen(".py::", "::", 1))
    });
    let passed = passed.collect();
    complain("kafka-python", &judges, &passed, &said);
    Suite {
        title: "kafka-python 3.0.12",
        judges,
        passed,
    }
}

/// Prints what was said when something that should pass did not.
fn complain(suite: &str, judges: &[Judge], passed: &BTreeSet<String>, said: &str) {
    let should = judges.iter().filter(|judge| judge.missing.is_none());
    let failed: Vec<&str> = should
        .map(|judge| judge.name.as_str())
        .filter(|name| !passed.contains(*name))
        .collect();
    if !failed.is_empty() {
        println!("{suite}: did not pass: {failed:?}; it said:\n{said}");
    }
}

fn table(suites: &[Suite]) -> String {
    let mut text = String::from(
        "| suite | area | pass on Kafka | pass here | not run, and why |\n|---|---|---|---|---|\n",
    );
    for suite in suites {
        let areas: BTreeSet<&str> = suite.judges.iter().map(|judge| judge.area.as_str()).collect();
        for area in areas {
            let judges: Vec<&Judge> = suite.judges.iter().filter(|judge| judge.area == area).collect();
            let passed = judges
                .iter()
                .filter(|judge| suite.passed.contains(&judge.name))
                .count();
            let mut gaps: BTreeMap<&str, usize> = BTreeMap::new();
            for judge in judges.iter().filter(|judge| !suite.passed.contains(&judge.name)) {
                *gaps
                    .entry(judge.missing.as_deref().unwrap_or("**not known**"))
                    .or_default() += 1;
            }
            let gaps: Vec<String> = gaps
                .iter()
                .map(|(gap, count)| format!("{gap}: {count}"))
                .collect();
            let (title, all, gaps) = (suite.title, judges.len(), gaps.join(", "));
            text += &format!("| {title} | {area} | {all} | {passed} | {gaps} |\n");
        }
    }
    text
}

#[test]
fn what_passes_on_kafka_passes_here() {
    let now = table(&[franz_go(), kafka_python()]);
    let path = repository().join("book/src/generated/suites.md");
    if std::env::var_os("HIGHWATER_BLESS").is_some() {
        std::fs::write(&path, &now).expect("write the book's table");
    }
    let was = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        !now.contains("not known"),
        "something fails that should not:\n{now}"
    );
    assert!(
        was == now,
        "the book's table says\n{was}\nand the suites say\n{now}\nIf that is right: HIGHWATER_BLESS=1 cargo test \
         --profile ci -p highwater-tests --test suites"
    );
}
