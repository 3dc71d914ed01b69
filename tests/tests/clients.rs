//! Real clients against a real broker: each client by each feature is one test, and one more holds
//! the whole against the table in the book. `tests/clients/README.md` says what each program does.
//!
//! `HIGHWATER_BLESS=1` writes the table instead of comparing it; `HIGHWATER_SKIP=java,go` leaves
//! clients out; `HIGHWATER_BOOTSTRAP=HOST:PORT` asks another broker, say Apache Kafka itself.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::{Arc, Mutex, OnceLock};

use highwater_tests::broker::TestBroker;
use highwater_tests::repository;
use libtest_mimic::{Arguments, Failed, Trial};

/// In the order of the table's rows, with the words that the table has for them.
const FEATURES: &[(&str, &str)] = &[
    ("create-topic", "create a topic"),
    ("produce-none", "produce, uncompressed"),
    ("produce-gzip", "produce, gzip"),
    ("produce-snappy", "produce, snappy"),
    ("produce-lz4", "produce, lz4"),
    ("produce-zstd", "produce, zstd"),
    ("stored-codecs", "each batch stored in the codec it was sent in"),
    ("consume", "consume by assignment: keys, headers, nulls, times"),
    ("list-offsets", "list first and next offset"),
    ("offsets-by-time", "search offsets by time"),
    ("group", "two members of a group: every record once"),
    (
        "group-resume",
        "a restarted group goes on after its committed offsets",
    ),
    ("group-leave", "who leaves a group hands its partitions over"),
    (
        "consumer-protocol",
        "`group.protocol=consumer`: its own clear error, or the classic protocol instead",
    ),
    ("delete-records", "delete records"),
    ("delete-topic", "delete a topic"),
];

const SETTINGS: &[&str] = &[
    "auto.create.topics.enable=true",
    "offsets.topic.replication.factor=1",
    "group.initial.rebalance.delay.ms=0",
];

struct Client {
    /// The column's head, and the topic's name.
    name: &'static str,
    /// What `--skip` calls it.
    skip: &'static str,
    /// Features that it has no request for. Their tests are shown as ignored, not as passed.
    not_offered: &'static [&'static str],
    /// Features whose test does not come out the same each time: ignored too.
    open: &'static [&'static str],
    command: fn() -> Command,
}

const CLIENTS: &[Client] = &[
    Client {
        name: "kcat",
        skip: "kcat",
        not_offered: &[
            "create-topic",
            "consumer-protocol",
            "delete-records",
            "delete-topic",
        ],
        open: &[],
        command: || Command::new(repository().join("tests/clients/kcat/probe.sh")),
    },
    Client {
        name: "confluent-kafka",
        skip: "python",
        not_offered: &[],
        open: &[],
        command: || python("with_confluent_kafka.py"),
    },
    Client {
        name: "kafka-python",
        skip: "python",
        not_offered: &["consumer-protocol"],
        // kafka-python 3.0.12 forgets its share when the answer to its SyncGroup comes while no poll is open: its
        // log has the answer, the partitions are never taken, and it does not join again.
        open: &["group", "group-resume", "group-leave"],
        command: || python("with_kafka_python.py"),
    },
    Client {
        name: "java",
        skip: "java",
        not_offered: &[],
        open: &[],
        command: || {
            let built = repository().join("target/clients/java");
            let mut command = Command::new("java");
            command
                .arg("-cp")
                .arg(format!("{0}/classes:{0}/lib/*", built.display()));
            command.args(["-Xmx256m", "Probe"]);
            command
        },
    },
    Client {
        name: "franz-go",
        skip: "go",
        not_offered: &[],
        open: &[],
        command: || Command::new(repository().join("target/clients/go/probe")),
    },
];

fn python(program: &str) -> Command {
    let mut command = Command::new(repository().join("target/clients/python/bin/python"));
    command.arg(repository().join("tests/clients/python").join(program));
    command
}

/// What became of one feature.
#[derive(Clone, Debug, PartialEq)]
enum Finding {
    Held,
    Failed(String),
    /// The client has no such request.
    NotOffered,
}

/// Findings by feature, from one run of a client's program.
type Findings = BTreeMap<String, Finding>;

/// Runs a client's program once, whoever asks first.
struct Run {
    client: &'static Client,
    findings: OnceLock<Findings>,
}

/// The broker that all clients share. It is taken away at the end of `main`: a static is never dropped.
static BROKER: Mutex<Option<TestBroker>> = Mutex::new(None);

/// Where clients connect, and where the broker's files are (those of another broker are not known).
struct Target {
    address: String,
    data: Option<PathBuf>,
}

fn target() -> Target {
    if let Ok(address) = std::env::var("HIGHWATER_BOOTSTRAP") {
        return Target { address, data: None };
    }
    let mut broker = BROKER.lock().expect("the broker started");
    let broker = broker.get_or_insert_with(|| TestBroker::start(SETTINGS));
    Target {
        address: broker.address(),
        data: Some(broker.data()),
    }
}

impl Run {
    fn findings(&self) -> &Findings {
        self.findings.get_or_init(|| {
            let topic = format!("from-{}", self.client.name);
            let mut command = (self.client.command)();
            command.args([target().address.as_str(), topic.as_str()]);
            let mut findings = match command.output() {
                Ok(output) => {
                    let mut findings = read_report(&String::from_utf8_lossy(&output.stdout));
                    if findings.is_empty() || !output.status.success() {
                        let said = String::from_utf8_lossy(&output.stderr).into_owned();
                        let why = format!("the program ended with {}: {said}", output.status);
                        for (feature, _) in FEATURES {
                            findings
                                .entry(feature.to_string())
                                .or_insert(Finding::Failed(why.clone()));
                        }
                    }
                    findings
                }
                Err(e) => {
                    let why = format!("cannot run {command:?}: {e}; `cargo xtask test` builds it");
                    FEATURES
                        .iter()
                        .map(|(f, _)| (f.to_string(), Finding::Failed(why.clone())))
                        .collect()
                }
            };
            findings.insert("stored-codecs".into(), stored_codecs(&target(), &topic));
            findings
        })
    }

    fn check(&self, feature: &str) -> Result<(), Failed> {
        match self.findings().get(feature) {
            Some(Finding::Held) => Ok(()),
            Some(Finding::NotOffered) => {
                Err("the program says that the client has no such request; `not_offered` says it has".into())
            }
            Some(Finding::Failed(why)) => Err(why.into()),
            None => Err("the program said nothing of it".into()),
        }
    }
}

/// Reads `feature \t ok|fail|none \t detail` lines.
fn read_report(output: &str) -> Findings {
    let finding = |line: &str| {
        let mut fields = line.split('\t');
        let feature = fields.next()?.to_string();
        let finding = match fields.next()? {
            "ok" => Finding::Held,
            "fail" => Finding::Failed(fields.next().unwrap_or_default().into()),
            "none" => Finding::NotOffered,
            _ => return None,
        };
        Some((feature, finding))
    };
    output.lines().filter_map(finding).collect()
}

/// Looks into the topic's file: a client that cannot compress, or a broker that changes batches,
/// would go unnoticed by reading records back.
fn stored_codecs(target: &Target, topic: &str) -> Finding {
    let Some(data) = &target.data else {
        return Finding::NotOffered;
    };
    let path = data.join(format!("{topic}-0/00000000000000000000.log"));
    let bytes = match std::fs::read(&path) {
        Ok(bytes) => bytes,
        Err(e) => return Finding::Failed(format!("{}: {e}", path.display())),
    };
    let codecs = codecs_of(&bytes);
    // librdkafka sends a batch as it is when its codec would not make it smaller.
    let mut compressed: Vec<u8> = codecs.iter().copied().filter(|codec| *codec != 0).collect();
    compressed.dedup();
    if codecs.first() == Some(&0) && compressed == [1, 2, 3, 4] {
        Finding::Held
    } else {
        Finding::Failed(format!(
            "the batches are stored in codecs {codecs:?}, not in 0 to 4 in turn"
        ))
    }
}

/// The codec of each batch in a `.log` file: the lowest three bits of its attributes.
fn codecs_of(mut log: &[u8]) -> Vec<u8> {
    const LENGTH_AT: usize = 8;
    const ATTRIBUTES_END: usize = 23;
    let mut codecs = Vec::new();
    while log.len() >= ATTRIBUTES_END {
        let length = i32::from_be_bytes([log[LENGTH_AT], log[9], log[10], log[11]]);
        codecs.push(log[ATTRIBUTES_END - 1] & 7);
        let size = LENGTH_AT + 4 + length.max(0) as usize;
        log = log.get(size..).unwrap_or_default();
    }
    codecs
}

/// The book's table: a row a feature, a column a client.
fn table(runs: &[Arc<Run>]) -> String {
    let mut text = String::from("| |");
    runs.iter()
        .for_each(|run| text.push_str(&format!(" {} |", run.client.name)));
    text.push_str("\n|---|");
    runs.iter().for_each(|_| text.push_str("---|"));
    for (feature, words) in FEATURES {
        text.push_str(&format!("\n| {words} |"));
        for run in runs {
            let mark = match run.findings().get(*feature) {
                _ if run.client.open.contains(feature) => "open",
                Some(Finding::Held) => "yes",
                Some(Finding::NotOffered) => "–",
                Some(Finding::Failed(_)) | None => "**no**",
            };
            text.push_str(&format!(" {mark} |"));
        }
    }
    text.push('\n');
    text
}

fn check_table(runs: &[Arc<Run>]) -> Result<(), Failed> {
    for run in runs {
        for feature in run.client.not_offered {
            if run.findings().get(*feature) != Some(&Finding::NotOffered) {
                return Err(format!("{} has {feature} by now: change `not_offered`", run.client.name).into());
            }
        }
    }
    let path = repository().join("book/src/generated/clients.md");
    let now = table(runs);
    if std::env::var_os("HIGHWATER_BLESS").is_some() {
        return std::fs::write(&path, now).map_err(|e| format!("{}: {e}", path.display()).into());
    }
    let was = std::fs::read_to_string(&path).unwrap_or_default();
    if was == now {
        return Ok(());
    }
    Err(format!(
        "the book's table says\n{was}\nand the clients say\n{now}\nIf that is right: \
         HIGHWATER_BLESS=1 cargo test --profile ci -p highwater-tests --test clients"
    )
    .into())
}

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let skip = std::env::var("HIGHWATER_SKIP").unwrap_or_default();
    let is_skipped = |client: &Client| skip.split(',').any(|name| name == client.skip);
    let mut trials = Vec::new();
    let mut runs = Vec::new();
    for client in CLIENTS {
        let run = Arc::new(Run {
            client,
            findings: OnceLock::new(),
        });
        for (feature, _) in FEATURES {
            let run = run.clone();
            let trial = Trial::test(format!("{}::{feature}", client.name), move || run.check(feature));
            let external = *feature == "stored-codecs" && target_is_external();
            let unasked = client.not_offered.contains(feature) || client.open.contains(feature) || external;
            trials.push(trial.with_ignored_flag(is_skipped(client) || unasked));
        }
        runs.push(run);
    }
    // With a client left out, or another broker asked, there is no table of ours to compare.
    let partial = CLIENTS.iter().any(is_skipped) || target_is_external();
    let table = Trial::test("the_table_in_the_book", move || check_table(&runs));
    trials.push(table.with_ignored_flag(partial));
    let conclusion = libtest_mimic::run(&arguments, trials);
    drop(BROKER.lock().map(|mut broker| broker.take()));
    conclusion.exit_code()
}

fn target_is_external() -> bool {
    std::env::var_os("HIGHWATER_BOOTSTRAP").is_some()
}
