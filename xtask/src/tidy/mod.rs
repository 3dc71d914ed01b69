//! The rules of this repository that no compiler knows. Each is a function with a name, a sentence
//! and a test that shows that it can fail.

mod book;
mod layers;
mod manifests;
mod scenarios;
mod text;
mod tree;

use std::path::Path;

use crate::counts::Counts;
use tree::Tree;

/// A place that breaks a rule.
#[derive(Debug, PartialEq, Eq)]
struct Offence {
    path: String,
    /// Counted from 1; 0 when the file as a whole offends.
    line: usize,
    what: String,
}

impl Offence {
    fn new(path: &str, line: usize, what: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            line,
            what: what.into(),
        }
    }
}

struct Rule {
    name: &'static str,
    sentence: &'static str,
    offences: fn(&Tree) -> Vec<Offence>,
}

const RULES: &[Rule] = &[
    Rule {
        name: "layers",
        sentence: "a layer of the core uses only those above it in the reading order of core/src/lib.rs",
        offences: layers::upward_uses,
    },
    Rule {
        name: "simulator",
        sentence: "the broker knows nothing of the simulator; only the `sim` command does",
        offences: layers::simulator_in_native,
    },
    Rule {
        name: "codec",
        sentence: "the codec crate is named only in protocol/ and the broker's request handlers",
        offences: layers::codec_outside_protocol,
    },
    Rule {
        name: "sans-io",
        sentence: "the core names no clock, file, socket or thread, and no map whose order is chance",
        offences: text::forbidden_in_core,
    },
    Rule {
        name: "inline-style",
        sentence: "the page has no inline style: its content security policy refuses it",
        offences: text::inline_style,
    },
    Rule {
        name: "long-files",
        sentence: "no source file is longer than 600 lines, but for tables",
        offences: text::long_files,
    },
    Rule {
        name: "unfinished",
        sentence: "nothing says that it is not done",
        offences: text::unfinished,
    },
    Rule {
        name: "machine-paths",
        sentence: "no file names a folder of one machine",
        offences: text::machine_paths,
    },
    Rule {
        name: "versions",
        sentence: "dependency versions stand in the workspace's table and nowhere else",
        offences: manifests::versions_outside_the_table,
    },
    Rule {
        name: "ci",
        sentence: "continuous integration runs the README's test command and nothing else",
        offences: manifests::ci_runs_the_readme,
    },
    Rule {
        name: "book-includes",
        sentence: "each include of the book finds its file and its anchor",
        offences: book::lost_includes,
    },
    Rule {
        name: "book-links",
        sentence: "each link between pages finds its page and its heading",
        offences: book::lost_links,
    },
    Rule {
        name: "book-figures",
        sentence: "each figure of the book has its script, story or scene, and each value its figure",
        offences: book::lost_figures,
    },
    Rule {
        name: "book-summary",
        sentence: "each page of the book is in its summary",
        offences: book::unlisted_pages,
    },
    Rule {
        name: "stories",
        sentence: "each scenario has a story beside it, and each story a scenario",
        offences: scenarios::untold,
    },
    Rule {
        name: "scenarios",
        sentence: "the core's tests play each scenario on WebAssembly",
        offences: scenarios::unplayed,
    },
    Rule {
        name: "script-examples",
        sentence: "each example of the page on scripts stands in the scenario that the page names",
        offences: scenarios::invented_examples,
    },
    Rule {
        name: "invariants",
        sentence: "the architecture page states each rule R1 to R8 as an invariant with its reason and check",
        offences: book::missing_invariants,
    },
];

/// Checks the tree under `root`: each rule counts as one test.
pub fn check(root: &Path) -> Result<(Counts, String), String> {
    let tree = Tree::read(root)?;
    let (mut counts, mut output) = (Counts::default(), String::new());
    for rule in RULES {
        let offences = (rule.offences)(&tree);
        counts += Counts::one(offences.is_empty());
        let verdict = if offences.is_empty() { "ok" } else { "FAILED" };
        output.push_str(&format!("tidy {} ... {verdict}\n", rule.name));
        if !offences.is_empty() {
            output.push_str(&format!("    rule: {}\n", rule.sentence));
        }
        for Offence { path, line, what } in offences {
            output.push_str(&format!("    {path}:{line}: {what}\n"));
        }
    }
    Ok((counts, output))
}

/// `cargo xtask tidy`.
pub fn run() -> Result<(), String> {
    let (counts, output) = check(crate::root())?;
    print!("{output}");
    println!("{} passed, {} failed", counts.passed, counts.failed);
    if counts.failed > 0 {
        Err(String::new())
    } else {
        Ok(())
    }
}
