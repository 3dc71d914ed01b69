//! Who carries out a command of a tool, written `TOOL OPTIONS... <<< INPUT`: Apache Kafka's tools, all in
//! one process, or ours, each in its own.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Output, Stdio};

use crate::broker::binary;
use crate::kafka::kafka_jars;

pub trait Tools {
    /// What is printed, and the exit code if it is not 0.
    fn run(&mut self, command: &str) -> String;
}

/// `tests/clients/java/…/Tools.java`
pub struct KafkasTools {
    child: Child,
    asks: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl KafkasTools {
    pub fn start() -> Self {
        kafka_jars();
        let java = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/clients/java");
        let mut child = Command::new("java")
            .args(["-Xmx256m", "-XX:+UseSerialGC", "-cp"])
            .arg(format!("{0}/classes:{0}/lib/*", java.display()))
            .args(["Tools", "none", "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("run java: `cargo xtask test` says what is missing and how to get it");
        Self {
            asks: child.stdin.take().expect("stdin is piped"),
            answers: BufReader::new(child.stdout.take().expect("stdout is piped")),
            child,
        }
    }
}

impl Tools for KafkasTools {
    fn run(&mut self, command: &str) -> String {
        writeln!(self.asks, "{command}").expect("ask the tools");
        let lines = self.answers.by_ref().lines();
        let lines = lines.map(|line| line.expect("what the tools say"));
        let said: Vec<String> = lines.take_while(|line| line != "$").collect();
        said.join("\n")
    }
}

impl Drop for KafkasTools {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// `highwater …`
pub struct OurTools;

/// Kafka's name for a tool, and ours.
const NAMES: [(&str, &str); 10] = [
    ("TopicCommand", "topics"),
    ("ConfigCommand", "configs"),
    ("GetOffsetShell", "get-offsets"),
    ("LeaderElectionCommand", "leader-election"),
    ("reassign.ReassignPartitionsCommand", "reassign-partitions"),
    ("consumer.ConsoleConsumer", "console-consumer"),
    ("ConsoleProducer", "console-producer"),
    ("ProducerPerformance", "producer-perf-test"),
    ("consumer.group.ConsumerGroupCommand", "consumer-groups"),
    ("ConsumerPerformance", "consumer-perf-test"),
];

impl Tools for OurTools {
    fn run(&mut self, command: &str) -> String {
        let files = tempfile::tempdir().expect("make a temporary directory");
        let (command, input) = command.split_once(" <<< ").unwrap_or((command, ""));
        let mut words = command.split(' ').enumerate();
        let (_, theirs) = words.next().expect("a tool");
        let ours = NAMES.iter().find(|(name, _)| *name == theirs);
        let (_, ours) = ours.unwrap_or_else(|| panic!("{theirs} has a counterpart"));
        let mut process = Command::new(binary());
        process.arg(ours);
        while let Some((at, word)) = words.next() {
            // What it sets is of Java's client.
            if word == "--command-config" {
                words.next();
                continue;
            }
            match word.strip_prefix("json:") {
                None => process.arg(word),
                Some(json) => {
                    let file = files.path().join(format!("{at}.json"));
                    std::fs::write(&file, json).expect("write the file");
                    process.arg(file)
                }
            };
        }
        let input = input.replace("\\n", "\n").replace("\\t", "\t");
        let output = run_with_input(&mut process, &input);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let said = text(&output.stdout) + &text(&output.stderr);
        match output.status.code() {
            Some(0) => said,
            code => format!("{said}exit {}\n", code.unwrap_or(-1)),
        }
    }
}

fn run_with_input(process: &mut Command, input: &str) -> Output {
    let piped = process.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = piped.stderr(Stdio::piped()).spawn().expect("run our tool");
    let mut stdin = child.stdin.take().expect("stdin is piped");
    // A tool that does not read may have ended by now.
    let _ = stdin.write_all(input.as_bytes());
    drop(stdin);
    child.wait_with_output().expect("run our tool")
}
