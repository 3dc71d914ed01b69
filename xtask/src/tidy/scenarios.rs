//! Scenarios: each is told by a story and played in the browser too, and the book's examples are theirs.

use super::Offence;
use super::tree::Tree;

const FOLDER: &str = "tests/scenarios/";
const STORY: &str = ".story";
/// The list of those that the core's tests play on WebAssembly, which reads no folder.
const LIST: &str = "core/src/sim/script/scenarios.rs";
/// The page of the script language; a row of its tables ends with the scenario that has its example.
const PAGE: &str = "book/src/scripts.md";

/// Names like `acks/kept`, of scripts or of stories.
fn names(tree: &Tree, stories: bool) -> impl Iterator<Item = &str> {
    let inside = tree.files().filter_map(|(path, _)| path.strip_prefix(FOLDER));
    inside.filter_map(move |name| match name.strip_suffix(STORY) {
        Some(name) => stories.then_some(name),
        None => (!stories).then_some(name),
    })
}

pub fn untold(tree: &Tree) -> Vec<Offence> {
    let has = |name: &str, ending: &str| tree.text(&format!("{FOLDER}{name}{ending}")).is_some();
    let untold = names(tree, false)
        .filter(|name| !has(name, STORY))
        .map(|name| Offence::new(&format!("{FOLDER}{name}"), 0, "has no story beside it"));
    let of_nothing = names(tree, true).filter(|name| !has(name, "")).map(|name| {
        let path = format!("{FOLDER}{name}{STORY}");
        Offence::new(&path, 0, "tells of a script that is not there")
    });
    untold.chain(of_nothing).collect()
}

pub fn unplayed(tree: &Tree) -> Vec<Offence> {
    let list = tree.text(LIST).unwrap_or("");
    names(tree, false)
        .filter(|name| !list.contains(&format!("\"{name}\"")))
        .map(|name| {
            let path = format!("{FOLDER}{name}");
            Offence::new(&path, 0, format!("is not in the list of {LIST}"))
        })
        .collect()
}

/// A row `| \`example\` | meaning | topic/name |` of the page must have its example in that scenario,
/// as a line of the script or a part of one, or in its story.
pub fn invented_examples(tree: &Tree) -> Vec<Offence> {
    let page = tree.text(PAGE).unwrap_or("");
    let mut offences = Vec::new();
    for (at, line) in page.lines().enumerate() {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        let (Some(first), Some(name)) = (cells.first(), cells.last()) else {
            continue;
        };
        let Some(name) = name.strip_prefix('`').and_then(|name| name.strip_suffix('`')) else {
            continue;
        };
        if cells.len() != 3 || !name.contains('/') {
            continue;
        }
        let texts = [
            tree.text(&format!("{FOLDER}{name}")),
            tree.text(&format!("{FOLDER}{name}{STORY}")),
        ];
        // Examples stand between backquotes, in every other part.
        for example in first.split('`').skip(1).step_by(2) {
            if !texts.iter().flatten().any(|text| text.contains(example)) {
                offences.push(Offence::new(
                    PAGE,
                    at + 1,
                    format!("`{example}` is not in {name}"),
                ));
            }
        }
    }
    offences
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(page: &str) -> Tree {
        Tree::of(&[
            ("tests/scenarios/acks/kept", "crash 1\n"),
            ("tests/scenarios/acks/kept.story", "when BatchWritten\n"),
            (LIST, "kept: \"acks/kept\","),
            (PAGE, page),
        ])
    }

    #[test]
    fn a_script_without_a_story_and_a_story_without_a_script_are_found() {
        assert_eq!(untold(&tree("")), []);
        let alone = Tree::of(&[("tests/scenarios/a/b", ""), ("tests/scenarios/a/c.story", "")]);
        assert_eq!(untold(&alone).len(), 2);
    }

    #[test]
    fn a_script_that_no_browser_plays_is_found() {
        assert_eq!(unplayed(&tree("")), []);
        assert_eq!(unplayed(&Tree::of(&[("tests/scenarios/a/b", "")])).len(), 1);
    }

    #[test]
    fn an_example_that_no_scenario_has_is_found() {
        for (row, offences) in [
            ("| `crash 1` | kill -9 | `acks/kept` |", 0),
            ("| `crash 1`, `when BatchWritten` | both | `acks/kept` |", 0),
            ("| `crash 2` | kill -9 | `acks/kept` |", 1),
            ("| `crash 1` | kill -9 | `acks/lost` |", 1),
            ("| `name` | `a/b` |", 0),
        ] {
            assert_eq!(invented_examples(&tree(row)).len(), offences, "{row}");
        }
    }
}
