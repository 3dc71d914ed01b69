//! `cargo xtask test`: every check there is, in the order in which a mistake is cheapest to find.

use std::time::Instant;

use clap::Args;

use crate::clients;
use crate::counts::Counts;
use crate::job::{self, cargo};
use crate::needs::{self, NEEDS, Need};
use crate::tidy;

#[derive(Args)]
pub struct Options {
    /// Only what needs nothing but Rust
    #[arg(long)]
    quick: bool,
    /// Install missing system packages by apt
    #[arg(long)]
    install: bool,
    /// Also run what is long: tests marked `#[ignore]`
    #[arg(long, conflicts_with = "quick")]
    soak: bool,
    /// Leave out a step (see the list that a wrong name prints), a client (kcat, python, java, go), or
    /// what mounts a small disk (tmpfs)
    #[arg(long, value_name = "NAME")]
    skip: Vec<String>,
}

/// A named part of the run.
struct Step {
    name: &'static str,
    when: When,
    run: fn(&Options) -> Result<Done, String>,
}

#[derive(Clone, Copy, PartialEq)]
enum When {
    Always,
    Full,
    Soak,
}

/// What a step counted, and what to show of it if something failed.
struct Done {
    counts: Counts,
    output: String,
}

const STEPS: &[Step] = &[
    Step {
        name: "format",
        when: When::Always,
        run: format,
    },
    Step {
        name: "lint",
        when: When::Always,
        run: lint,
    },
    Step {
        name: "tidy",
        when: When::Always,
        run: tidy_rules,
    },
    Step {
        name: "page",
        when: When::Full,
        run: page,
    },
    Step {
        name: "book",
        when: When::Full,
        run: book,
    },
    Step {
        name: "rust",
        when: When::Always,
        run: rust,
    },
    Step {
        name: "wasm",
        when: When::Always,
        run: wasm,
    },
    Step {
        name: "clients",
        when: When::Full,
        run: real_clients,
    },
    Step {
        name: "zookeeper",
        when: When::Full,
        run: zookeeper,
    },
    Step {
        name: "browser",
        when: When::Full,
        run: browser,
    },
    Step {
        name: "soak",
        when: When::Soak,
        run: soak,
    },
];

/// Tests that fill a disk of their own up; they are told by HIGHWATER_SKIP, and leave themselves out.
const TMPFS: &str = "tmpfs";

/// Runs the steps; fails if any test did.
pub fn run(options: &Options) -> Result<(), String> {
    check_skips(&options.skip)?;
    let steps = chosen(options);
    let wanted: Vec<&Need> = NEEDS
        .iter()
        .filter(|need| steps.iter().any(|step| step.name == need.step))
        .filter(|need| is_wanted(need, options))
        .collect();
    needs::meet(&wanted, options.install)?;
    needs::wasm_target()?;
    let mut sum = Counts::default();
    for (number, step) in steps.iter().enumerate() {
        sum += run_step(step, &format!("[{}/{}]", number + 1, steps.len()), options);
    }
    println!("{} passed, {} failed", sum.passed, sum.failed);
    if sum.failed > 0 {
        Err(String::new())
    } else {
        Ok(())
    }
}

fn is_wanted(need: &Need, options: &Options) -> bool {
    need.clients.is_empty() || need.clients.iter().any(|client| !skips(options, client))
}

fn skips(options: &Options, name: &str) -> bool {
    options.skip.iter().any(|skipped| skipped == name)
}

fn chosen(options: &Options) -> Vec<&'static Step> {
    STEPS
        .iter()
        .filter(|step| match step.when {
            When::Always => true,
            When::Full => !options.quick,
            When::Soak => options.soak,
        })
        .filter(|step| !skips(options, step.name))
        .collect()
}

/// A name that skips nothing is an error: a typing mistake must not look like a run without it.
fn check_skips(skip: &[String]) -> Result<(), String> {
    let steps: Vec<&str> = STEPS.iter().map(|step| step.name).collect();
    let known = [&steps[..], clients::NAMES, &[TMPFS]].concat();
    match skip.iter().find(|name| !known.contains(&name.as_str())) {
        None => Ok(()),
        Some(name) => Err(format!(
            "--skip {name}: there is no such step ({}) or client ({}), nor is it {TMPFS}",
            steps.join(", "),
            clients::NAMES.join(", ")
        )),
    }
}

fn run_step(step: &Step, position: &str, options: &Options) -> Counts {
    println!("{position} {} ...", step.name);
    let _ = std::fs::remove_file(crate::root().join(format!("target/xtask/{}.log", step.name)));
    let start = Instant::now();
    let done = (step.run)(options).unwrap_or_else(|why| Done {
        counts: Counts::one(false),
        output: format!("error: {why}\n"),
    });
    let Counts {
        passed,
        failed,
        ignored,
    } = done.counts;
    if failed > 0 {
        println!("{}", done.output.trim_end());
    } else {
        reports(&done.output).for_each(|line| println!("{line}"));
    }
    let ignored = if ignored > 0 {
        format!(", {ignored} left out")
    } else {
        String::new()
    };
    println!(
        "{position} {}: {passed} passed, {failed} failed{ignored} in {:.1} s",
        step.name,
        start.elapsed().as_secs_f64()
    );
    done.counts
}

/// Lines that a test prints for whoever runs it, not only for when it fails: they begin with this word.
const REPORT: &str = "report: ";

/// Before the first one there may be the test's name.
fn reports(output: &str) -> impl Iterator<Item = &str> {
    output
        .lines()
        .filter_map(|line| line.split_once(REPORT).map(|(_, said)| said))
}

/// Commands that are one check each: success or not.
fn checks(name: &str, commands: Vec<std::process::Command>) -> Result<Done, String> {
    let mut done = Done {
        counts: Counts::default(),
        output: String::new(),
    };
    for command in commands {
        let outcome = job::watch(name, command)?;
        done.counts += Counts::one(outcome.success);
        if !outcome.success {
            done.output.push_str(&outcome.output);
        }
    }
    Ok(done)
}

/// `cargo test` with the arguments: each test counts, and so does a failure to build them.
fn tests(name: &str, arguments: &[&str], options: &Options) -> Result<Done, String> {
    let mut command = cargo(&["test", "--profile", "ci", "--no-fail-fast"]);
    command
        .args(arguments)
        .env("HIGHWATER_SKIP", options.skip.join(","));
    let outcome = job::watch(name, command)?;
    let mut counts = Counts::of_libtest(&outcome.output);
    if !outcome.success && counts.failed == 0 {
        counts += Counts::one(false);
    }
    Ok(Done {
        counts,
        output: outcome.output,
    })
}

impl Done {
    fn and(mut self, other: &Done) -> Done {
        self.counts += other.counts;
        self.output.push_str(&other.output);
        self
    }
}

fn format(_: &Options) -> Result<Done, String> {
    checks("format", vec![cargo(&["fmt", "--all", "--check"])])
}

fn lint(options: &Options) -> Result<Done, String> {
    let page = ["--package", "highwater-web", "--target", "wasm32-unknown-unknown"];
    let mut scopes = vec![vec!["--all-targets"], page.to_vec()];
    if !options.quick {
        scopes.push(vec![
            "--package",
            "xtask-site",
            "--package",
            "xtask-wasm",
            "--all-targets",
        ]);
    }
    if options.soak {
        scopes.push(vec!["--package", "xtask-bench", "--all-targets"]);
    }
    let clippy = |scope: Vec<&str>| {
        let mut command = cargo(&["clippy", "--quiet", "--profile", "ci"]);
        command.args(scope).args(["--", "-D", "warnings"]);
        command
    };
    checks("lint", scopes.into_iter().map(clippy).collect())
}

fn tidy_rules(_: &Options) -> Result<Done, String> {
    let (counts, output) = tidy::check(crate::root())?;
    Ok(Done { counts, output })
}

fn site(name: &str, what: &str) -> Result<Done, String> {
    let out = format!("target/site/{what}");
    let arguments = [
        "run",
        "--profile",
        "ci",
        "--package",
        "xtask-site",
        "--",
        what,
        "--out",
        &out,
    ];
    checks(name, vec![cargo(&arguments)])
}

fn page(options: &Options) -> Result<Done, String> {
    Ok(site("page", "lab")?.and(&tests("page", &["--package", "xtask-site"], options)?))
}

fn book(_: &Options) -> Result<Done, String> {
    site("book", "book")
}

fn rust(options: &Options) -> Result<Done, String> {
    build_binary("rust")?;
    tests("rust", &[], options)
}

/// The binary that the tests in package highwater-tests start, and those tests. Everything of the default
/// members in one go: a smaller choice of packages has other features and would compile the core again.
fn build_binary(name: &str) -> Result<(), String> {
    let outcome = job::watch(name, cargo(&["build", "--profile", "ci", "--bins", "--tests"]))?;
    if outcome.success {
        Ok(())
    } else {
        Err(outcome.output)
    }
}

fn wasm(options: &Options) -> Result<Done, String> {
    let target = ["--lib", "--target", "wasm32-unknown-unknown"];
    let core = [&["--package", "highwater-core"], &target[..]].concat();
    Ok(tests("wasm", &["--package", "xtask-wasm"], options)?.and(&tests("wasm", &core, options)?))
}

fn real_clients(options: &Options) -> Result<Done, String> {
    build_binary("clients")?;
    for name in clients::NAMES {
        if !skips(options, name) {
            clients::prepare(name)?;
        }
    }
    let mut arguments = vec!["--test", "clients", "--test", "mixed_groups"];
    if !skips(options, "kcat") {
        arguments.extend(["--test", "pages"]);
    }
    if !skips(options, "java") {
        arguments.extend(["--test", "java_assignors", "--test", "java_producer"]);
        arguments.extend(["--test", "kafka_reads_our_files"]);
        arguments.extend(["--test", "kafka_tools"]);
    }
    tests("clients", &arguments, options)
}

fn zookeeper(options: &Options) -> Result<Done, String> {
    build_binary("zookeeper")?;
    if !skips(options, "java") {
        clients::prepare("java")?;
    }
    let service = tests("zookeeper", &["--test", "zookeeper"], options)?;
    Ok(service.and(&clusters("zookeeper", &[], options)?))
}

/// Tests each of which starts three brokers: one after the other.
fn clusters(name: &str, of_libtest: &[&str], options: &Options) -> Result<Done, String> {
    let mut arguments = vec!["--test", "cluster"];
    if !skips(options, "java") {
        arguments.extend(["--test", "cluster_tools"]);
    }
    arguments.extend(["--", "--test-threads=1"]);
    arguments.extend(of_libtest);
    tests(name, &arguments, options)
}

fn browser(options: &Options) -> Result<Done, String> {
    build_binary("browser")?;
    clients::axe()?;
    tests("browser", &["--test", "browser"], options)
}

fn soak(options: &Options) -> Result<Done, String> {
    build_binary("soak")?;
    let bench = tests("soak", &["--package", "xtask-bench"], options)?;
    let mut long = bench.and(&tests("soak", &["--", "--ignored", "--nocapture"], options)?);
    // No default test targets either.
    let groups = ["--test", "mixed_groups", "--", "--ignored", "--nocapture"];
    long = long.and(&tests("soak", &groups, options)?);
    if !skips(options, "go") && !skips(options, "python") {
        clients::suites()?;
        long = long.and(&tests("soak", &["--test", "suites"], options)?);
    }
    if !skips(options, "java") {
        long = long.and(&tests(
            "soak",
            &["--test", "kafka_tools", "--", "--ignored"],
            options,
        )?);
    }
    if !skips(options, "zookeeper") {
        long = long.and(&clusters("soak", &["--ignored", "--nocapture"], options)?);
    }
    if skips(options, "browser") {
        return Ok(long);
    }
    // Every width and theme of the page.
    clients::axe()?;
    let browser = ["--test", "browser", "--", "--ignored", "--nocapture"];
    Ok(long.and(&tests("soak", &browser, options)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_skip_that_names_nothing_is_refused() {
        assert!(check_skips(&["browser".into(), "java".into(), "tmpfs".into()]).is_ok());
        let why = check_skips(&["jaba".into()]).unwrap_err();
        assert!(
            why.contains("jaba") && why.contains("browser") && why.contains("kcat"),
            "{why}"
        );
    }

    #[test]
    fn what_a_test_reports_is_printed_and_nothing_else() {
        let output = "running 1 test\ntest a ... report: 3 of 4\nreport:   3  a: b\nok\ntest result: ok.\n";
        assert_eq!(reports(output).collect::<Vec<_>>(), ["3 of 4", "  3  a: b"]);
    }

    #[test]
    fn quick_needs_nothing_but_rust() {
        let options = Options {
            quick: true,
            install: false,
            soak: false,
            skip: Vec::new(),
        };
        for step in chosen(&options) {
            assert!(NEEDS.iter().all(|need| need.step != step.name), "{}", step.name);
        }
    }
}
