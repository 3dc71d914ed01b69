//! Words that must not stand somewhere, and files that grew too long.

use super::Offence;
use super::tree::{Tree, code_lines, has_word};

const LONGEST: usize = 600;
/// Files that are one table, with a row for each code or key.
const TABLES: &[&str] = &["core/src/error.rs", "core/src/config/keys.rs"];

pub fn forbidden_in_core(tree: &Tree) -> Vec<Offence> {
    let words = [
        ("HashMap", "its order is chance: take a BTreeMap"),
        ("HashSet", "its order is chance: take a BTreeSet"),
        ("Instant", "time is an argument"),
        ("SystemTime", "time is an argument"),
        ("std::fs", "the host has the files"),
        ("std::net", "the host has the sockets"),
        ("std::thread", "the host has the threads"),
    ];
    let mut offences = Vec::new();
    for (path, text) in tree.under("core/src/", "rs") {
        for (number, line) in code_lines(text) {
            for (word, why) in words.iter().filter(|(word, _)| has_word(line, word)) {
                offences.push(Offence::new(path, number, format!("`{word}`: {why}")));
            }
        }
    }
    offences
}

pub fn inline_style(tree: &Tree) -> Vec<Offence> {
    let mut offences = Vec::new();
    for extension in ["rs", "html"] {
        for (path, text) in tree.under("web/", extension) {
            let lines = text.lines().enumerate();
            for (i, _) in lines.filter(|(_, line)| line.contains("style=")) {
                offences.push(Offence::new(path, i + 1, "inline style: give it a class"));
            }
        }
    }
    offences
}

pub fn long_files(tree: &Tree) -> Vec<Offence> {
    tree.under("", "rs")
        .filter(|(path, _)| !TABLES.contains(path))
        .filter_map(|(path, text)| {
            let lines = text.lines().count();
            (lines > LONGEST).then(|| Offence::new(path, 0, format!("{lines} lines: split it by idea")))
        })
        .collect()
}

/// Files that are ours to word: not this folder, which must name what it looks for, and not what
/// other programs wrote.
fn worded(tree: &Tree) -> impl Iterator<Item = (&str, &str)> {
    const OTHERS: &[&str] = &["xtask/src/tidy/", "tests/fixtures/", "Cargo.lock"];
    tree.files()
        .filter(|(path, _)| !OTHERS.iter().any(|other| path.starts_with(other)))
}

pub fn unfinished(tree: &Tree) -> Vec<Offence> {
    let mut offences = Vec::new();
    for (path, text) in worded(tree) {
        for (i, line) in text.lines().enumerate() {
            for mark in ["todo!", "unimplemented!", "TODO", "FIXME", "XXX"] {
                if line.contains(mark) && has_word(line, mark.trim_end_matches('!')) {
                    offences.push(Offence::new(path, i + 1, format!("`{mark}`")));
                }
            }
        }
    }
    offences
}

pub fn machine_paths(tree: &Tree) -> Vec<Offence> {
    let mut offences = Vec::new();
    for (path, text) in worded(tree) {
        for (i, line) in text.lines().enumerate() {
            // Kafka's own default for log.dirs is /tmp/kafka-logs.
            let line = line.replace("/tmp/kafka-logs", "");
            for folder in ["/work/", "/tmp/", "/home/", "/root/", "/Users/"] {
                let starts_a_path = |(at, _): (usize, &str)| {
                    !line[..at].ends_with(|c: char| c.is_alphanumeric() || "/._-}~".contains(c))
                };
                if line.match_indices(folder).any(starts_a_path) {
                    offences.push(Offence::new(path, i + 1, format!("names `{folder}`")));
                }
            }
        }
    }
    offences
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(rule: fn(&Tree) -> Vec<Offence>, path: &str, text: &str) -> usize {
        rule(&Tree::of(&[(path, text)])).len()
    }

    #[test]
    fn a_clock_or_an_unordered_map_in_the_core_is_found() {
        for word in ["HashMap", "HashSet", "Instant", "SystemTime"] {
            let text = format!("use std::somewhere::{word};");
            assert_eq!(
                found(forbidden_in_core, "core/src/log/mod.rs", &text),
                1,
                "{word}"
            );
            assert_eq!(found(forbidden_in_core, "native/src/main.rs", &text), 0, "{word}");
        }
    }

    #[test]
    fn an_inline_style_is_found() {
        assert_eq!(
            found(inline_style, "web/src/app.rs", "html! { <p style=\"x\"> }"),
            1
        );
        assert_eq!(
            found(inline_style, "web/src/app.rs", "html! { <p class=\"x\"> }"),
            0
        );
    }

    #[test]
    fn a_long_file_is_found_unless_it_is_a_table() {
        let long = "x\n".repeat(LONGEST + 1);
        assert_eq!(found(long_files, "native/src/driver.rs", &long), 1);
        assert_eq!(found(long_files, "native/src/driver.rs", &long[2..]), 0);
        assert_eq!(found(long_files, "core/src/error.rs", &long), 0);
    }

    #[test]
    fn what_is_not_done_is_found() {
        for mark in ["todo!()", "// FIXME later", "unimplemented!()"] {
            assert_eq!(found(unfinished, "core/src/cx.rs", mark), 1, "{mark}");
        }
        assert_eq!(found(unfinished, "README.md", "mastodo! is no mark"), 0);
    }

    #[test]
    fn a_folder_of_one_machine_is_found() {
        assert_eq!(found(machine_paths, "README.md", "see /home/me/notes"), 1);
        assert_eq!(found(machine_paths, "README.md", "log.dirs=/tmp/kafka-logs"), 0);
        assert_eq!(
            found(machine_paths, "README.md", "target/tmp/x and {dir}/tmp/x"),
            0
        );
    }
}
