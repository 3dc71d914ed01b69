//! `highwater sim SCRIPT`, as whoever reads a story in a terminal runs it.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use highwater_core::sim::Story;
use highwater_tests::broker::binary;
use serde_json::Value;

const SCRIPT: &str = "acks/all_survives_the_leader";

fn script(name: &str) -> PathBuf {
    let scenarios = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
    scenarios.join(name)
}

/// Runs it with so many presses of Enter, and then the end of the input.
fn sim(script: &Path, options: &[&str], presses: usize) -> Output {
    let mut command = Command::new(binary());
    command.arg("sim").arg(script).args(options);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().expect("run highwater sim");
    let mut stdin = child.stdin.take().expect("its input");
    // It may end before it has read them all.
    let _ = stdin.write_all("\n".repeat(presses).as_bytes());
    drop(stdin);
    child.wait_with_output().expect("its output")
}

fn text(output: &Output) -> String {
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout.clone()).expect("text")
}

/// Each moment's sentence, as it stands in the story's file.
fn sentences() -> Vec<String> {
    let text = fs::read_to_string(script(&format!("{SCRIPT}.story"))).expect("read the story");
    let story = Story::parse(&text).expect("a story");
    story
        .moments
        .into_iter()
        .map(|mut moment| moment.golden.remove(0))
        .collect()
}

#[test]
fn the_story_is_told_between_what_the_script_shows() {
    let said = text(&sim(&script(SCRIPT), &[], 0));
    let told: Vec<&str> = said.lines().filter_map(|line| line.strip_prefix("> ")).collect();
    assert_eq!(told[2..], sentences(), "after the title and the question");
    assert_eq!(
        said.lines().filter(|line| line.starts_with("? ")).count(),
        3,
        "{said}"
    );
    assert_eq!(
        said.lines().filter(|line| line.starts_with("! ")).count(),
        2,
        "{said}"
    );
    // A moment comes right behind the fact that it waited for.
    let died = said
        .lines()
        .position(|line| line.ends_with("is killed"))
        .expect("the fact");
    let behind = said.lines().nth(died + 1).expect("a line behind it");
    assert_eq!(behind.strip_prefix("> "), Some(sentences()[1].as_str()));
}

#[test]
fn waiting_for_enter_changes_nothing_that_is_told() {
    let script = script(SCRIPT);
    assert_eq!(text(&sim(&script, &["--step"], 100)), text(&sim(&script, &[], 0)));
}

#[test]
fn the_stage_is_described_at_each_moment_and_after_each_command() {
    let said = text(&sim(&script(SCRIPT), &["--describe"], 0));
    let (_, after) = said
        .split_once(&sentences()[1])
        .expect("the moment when the leader dies");
    let stage: Vec<&str> = after.lines().skip(1).map(str::trim).collect();
    assert_eq!(
        stage[0], "coordination is up, leader: broker 1; brokers: 1, 2, 3",
        "{after}"
    );
    assert_eq!(stage[1], "broker 1 is down", "{after}");
    assert!(stage[2].starts_with("broker 2 is up"), "{after}");
    assert!(after.contains("broker 1: crashed, was leader"), "{after}");
}

#[test]
fn every_fact_and_every_moment_is_a_line_of_json() {
    let said = text(&sim(&script(SCRIPT), &["--json", "--describe"], 0));
    let lines = said.lines().map(|line| serde_json::from_str(line).expect("JSON"));
    let lines: Vec<Value> = lines.collect();
    let moments = lines.iter().filter(|line| line["moment"].is_object());
    let moments: Vec<&Value> = moments.map(|line| &line["moment"]).collect();
    let told: Vec<&str> = moments
        .iter()
        .filter_map(|moment| moment["say"].as_str())
        .collect();
    assert_eq!(told, sentences());
    assert!(moments.iter().all(|moment| moment["view"]["brokers"].is_object()));
    assert!(moments.iter().all(|moment| moment["stage"].is_array()));
    let died = lines
        .iter()
        .position(|line| line["moment"]["name"] == "died")
        .expect("a moment");
    assert!(
        lines[died - 1]["fact"]["World"]["BrokerCrashed"].is_object(),
        "the fact comes first"
    );
    assert!(
        lines
            .iter()
            .any(|line| line["answered"]["right"] == "all of them")
    );
    assert!(lines.iter().filter(|line| line["fact"].is_object()).count() > 100);
}

#[test]
fn the_disks_are_written_as_files_that_our_own_tool_reads() {
    let directory = tempfile::tempdir().expect("make a temporary directory");
    let to = directory.path().display().to_string();
    text(&sim(&script(SCRIPT), &["--dump-dir", &to], 0));
    for broker in 1..=3 {
        let log = format!("broker-{broker}/orders-0/00000000000000000000.log");
        let mut dump = Command::new(binary());
        dump.args(["dump-log", "--print-data-log", "--files"]);
        let said = text(
            &dump
                .arg(directory.path().join(log))
                .output()
                .expect("run dump-log"),
        );
        for number in 0..6 {
            assert!(
                said.contains(&format!("payload: 102:{number}")),
                "broker {broker}: {said}"
            );
        }
    }
}

#[test]
fn what_is_wrong_is_one_line_that_says_where_and_what_to_do() {
    let directory = tempfile::tempdir().expect("make a temporary directory");
    let script = directory.path().join("script");
    let story = directory.path().join("script.story");
    let complaint = |script_text: &str, story_text: &str| {
        fs::write(&script, script_text).expect("write the script");
        fs::write(&story, story_text).expect("write the story");
        let output = sim(&script, &[], 0);
        assert!(!output.status.success());
        let said = String::from_utf8(output.stderr).expect("text");
        assert_eq!(said.lines().count(), 1, "{said}");
        said
    };
    let sound = "brokers 1\nrun 1s\n";
    let said = complaint("brokers 1\nwait 1s\n", "title a\n");
    assert!(
        said.contains("script: line 2, column 1") && said.contains("no command"),
        "{said}"
    );
    let said = complaint(sound, "title a\nmoment b\nfocus 1 2 3 4\nsay c\n");
    assert!(
        said.contains("script.story: line 3 of the story") && said.contains("leave some out"),
        "{said}"
    );
    let said = complaint(sound, "title a\nmoment b\nsay c\n");
    assert!(
        said.contains("script.story: moment b waits for no fact"),
        "{said}"
    );
    let said = complaint(sound, "title a\nmoment b\nwhen BrokerCrashed\nsay c\n");
    assert!(said.contains("stops before its moment b"), "{said}");
}
