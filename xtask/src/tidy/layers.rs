//! Who may name whom.

use std::collections::BTreeMap;

use super::Offence;
use super::tree::{Tree, code_lines, has_word};

/// Layers by name, from the numbered reading order in `core/src/lib.rs`.
fn reading_order(tree: &Tree) -> BTreeMap<String, usize> {
    let mut layers = BTreeMap::new();
    for line in tree.text("core/src/lib.rs").unwrap_or("").lines() {
        let Some((number, rest)) = line.strip_prefix("//! ").and_then(|l| l.split_once(". ")) else {
            continue;
        };
        let Ok(number) = number.parse::<usize>() else {
            continue;
        };
        let names = rest.split_once(':').map_or(rest, |(names, _)| names);
        for name in names.split("[`").skip(1) {
            if let Some((name, _)) = name.split_once("`]") {
                layers.insert(name.to_owned(), number);
            }
        }
    }
    layers
}

pub fn upward_uses(tree: &Tree) -> Vec<Offence> {
    const LIB: &str = "core/src/lib.rs";
    let layers = reading_order(tree);
    if layers.is_empty() {
        return vec![Offence::new(
            LIB,
            0,
            "gives no reading order (`//! 1. [`types`], ...`)",
        )];
    }
    let mut offences = Vec::new();
    for (path, text) in tree
        .under("core/src/", "rs")
        .filter(|(path, _)| *path != LIB && !is_test(path))
    {
        let module = path
            .trim_start_matches("core/src/")
            .split(['/', '.'])
            .next()
            .unwrap_or("");
        let Some(own) = layers.get(module) else {
            offences.push(Offence::new(
                path,
                0,
                format!("`{module}` is not in the reading order of {LIB}"),
            ));
            continue;
        };
        for (number, line) in code_lines(text) {
            for used in names_after(line, "crate::") {
                if layers.get(used).is_some_and(|layer| layer > own) {
                    let what = format!("`{module}` uses `{used}`, which comes after it");
                    offences.push(Offence::new(path, number, what));
                }
            }
        }
    }
    offences
}

/// Compiled in tests alone: the mistakes that are made on purpose.
const MUTATIONS: &str = "core/src/mutation.rs";

/// A layer's tests may set it up with what stands on it.
fn is_test(path: &str) -> bool {
    path.contains("/tests/") || path.ends_with("/tests.rs") || path == MUTATIONS
}

/// The names that follow each `prefix` in the line.
fn names_after<'a>(line: &'a str, prefix: &str) -> impl Iterator<Item = &'a str> {
    line.split(prefix).skip(1).map(|rest| {
        let end = rest
            .find(|c: char| !c.is_alphanumeric() && c != '_')
            .unwrap_or(rest.len());
        &rest[..end]
    })
}

pub fn simulator_in_native(tree: &Tree) -> Vec<Offence> {
    mentions(tree, "native/src/", "highwater_core::sim", "native/src/cli/sim")
}

pub fn codec_outside_protocol(tree: &Tree) -> Vec<Offence> {
    let mut offences = mentions(tree, "core/src/", "kafka_wire", "core/src/protocol");
    offences.retain(|offence| !offence.path.starts_with("core/src/broker"));
    offences.extend(mentions(tree, "native/src/", "kafka_wire", "core/"));
    offences.extend(mentions(tree, "web/src/", "kafka_wire", "core/"));
    offences
}

/// Code in `folder` that names `word`, but for files whose path begins with `allowed`.
fn mentions(tree: &Tree, folder: &str, word: &str, allowed: &str) -> Vec<Offence> {
    let mut offences = Vec::new();
    for (path, text) in tree
        .under(folder, "rs")
        .filter(|(path, _)| !path.starts_with(allowed))
    {
        for (number, line) in code_lines(text) {
            if has_word(line, word) {
                offences.push(Offence::new(path, number, format!("names `{word}`")));
            }
        }
    }
    offences
}

#[cfg(test)]
mod tests {
    use super::*;

    const ORDER: (&str, &str) = (
        "core/src/lib.rs",
        "//! 1. [`types`], [`error`]: words\n//! 2. [`disk`]: asks\npub mod types;",
    );

    #[test]
    fn an_upward_use_is_found() {
        let good = ("core/src/disk/memory.rs", "use crate::types::Offset;");
        assert_eq!(upward_uses(&Tree::of(&[ORDER, good])), []);
        let test = ("core/src/types/tests/all.rs", "use crate::disk::FileId;");
        assert_eq!(upward_uses(&Tree::of(&[ORDER, test])), []);
        let bad = ("core/src/error.rs", "// crate::disk\nuse crate::disk::FileId;");
        let offences = upward_uses(&Tree::of(&[ORDER, bad]));
        assert_eq!(offences.len(), 1);
        assert_eq!(
            (offences[0].path.as_str(), offences[0].line),
            ("core/src/error.rs", 2)
        );
    }

    #[test]
    fn a_module_outside_the_reading_order_is_found() {
        assert_eq!(
            upward_uses(&Tree::of(&[ORDER, ("core/src/other.rs", "")])).len(),
            1
        );
        assert_eq!(
            upward_uses(&Tree::of(&[("core/src/lib.rs", "pub mod types;")])).len(),
            1
        );
    }

    #[test]
    fn the_simulator_belongs_to_one_command() {
        let line = "use highwater_core::sim::World;";
        assert_eq!(
            simulator_in_native(&Tree::of(&[("native/src/cli/sim.rs", line)])),
            []
        );
        assert_eq!(
            simulator_in_native(&Tree::of(&[("native/src/driver.rs", line)])).len(),
            1
        );
    }

    #[test]
    fn the_codec_crate_stays_behind_the_protocol() {
        let found = |path: &str| {
            let tree = Tree::of(&[(path, "use kafka_wire::Metadata;")]);
            codec_outside_protocol(&tree).len()
        };
        assert_eq!(found("core/src/protocol/api.rs"), 0);
        assert_eq!(found("core/src/broker/metadata.rs"), 0);
        assert_eq!(found("core/src/log/mod.rs"), 1);
        assert_eq!(found("native/src/driver.rs"), 1);
    }
}
