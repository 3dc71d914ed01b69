//! What mdBook only logs, or does not see: includes, links and pages that are lost.

use super::Offence;
use super::tree::Tree;

const SOURCES: &str = "book/src/";

/// Joins a relative path to the folder of `from`, and resolves `..`.
fn resolve(from: &str, relative: &str) -> String {
    let folder = from.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in relative.split('/') {
        match part {
            "." | "" => {}
            ".." => drop(parts.pop()),
            name => parts.push(name),
        }
    }
    parts.join("/")
}

/// Lines outside fenced code, counted from 1.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    text.lines().enumerate().filter_map(move |(i, line)| {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
            return None;
        }
        (!fenced).then_some((i + 1, line))
    })
}

pub fn lost_includes(tree: &Tree) -> Vec<Offence> {
    let mut offences = Vec::new();
    for (path, text) in tree.under(SOURCES, "md") {
        for (i, line) in text.lines().enumerate() {
            for include in line.split("{{#include ").skip(1) {
                let include = include.split("}}").next().unwrap_or("").trim();
                let (file, anchor) = include.split_once(':').unwrap_or((include, ""));
                let target = resolve(path, file);
                let Some(included) = tree.text(&target) else {
                    offences.push(Offence::new(path, i + 1, format!("there is no file {target}")));
                    continue;
                };
                let is_lines = anchor.chars().all(|c| c.is_ascii_digit() || c == ':');
                if !is_lines && !included.contains(&format!("ANCHOR: {anchor}\n")) {
                    offences.push(Offence::new(
                        path,
                        i + 1,
                        format!("{target} has no anchor {anchor}"),
                    ));
                }
            }
        }
    }
    offences
}

pub fn lost_links(tree: &Tree) -> Vec<Offence> {
    let mut offences = Vec::new();
    for (path, text) in tree.under(SOURCES, "md") {
        for (number, line) in prose(text) {
            for link in line.split("](").skip(1) {
                let link = link.split(')').next().unwrap_or("");
                if let Some(why) = why_lost(tree, path, link) {
                    offences.push(Offence::new(path, number, why));
                }
            }
        }
    }
    offences
}

/// Figures of scripts, stories or scenes that are not there, names that two figures of a page share, and
/// values of a figure that the page has not.
pub fn lost_figures(tree: &Tree) -> Vec<Offence> {
    const SCENES: &str = "web/src/cluster/scenes.rs";
    const FILES_SCENE: &str = "web/src/scene.rs";
    let mut offences = Vec::new();
    for (path, text) in tree.under(SOURCES, "md") {
        let mut names: Vec<&str> = Vec::new();
        for (number, line) in prose(text) {
            let mut wrong = |why: String| offences.push(Offence::new(path, number, why));
            for tag in line
                .split("<figure ")
                .skip(1)
                .filter_map(|rest| rest.split('>').next())
            {
                let needs = [
                    ("data-script", "tests/scenarios/", ""),
                    ("data-files", "book/figures/", ".story"),
                ];
                for (attribute, folder, ending) in needs {
                    let named = attribute_of(tag, attribute);
                    let file = named.map(|name| format!("{folder}{name}{ending}"));
                    if let Some(file) = file.filter(|file| tree.text(file).is_none()) {
                        wrong(format!("a figure needs {file}, which is not there"));
                    }
                }
                let is_scene = |scene: &str| {
                    let quoted = format!("\"{scene}\"");
                    let lists = [SCENES, FILES_SCENE].map(|list| tree.text(list).unwrap_or_default());
                    lists.iter().any(|list| list.contains(&quoted))
                };
                if let Some(scene) = attribute_of(tag, "data-scene").filter(|scene| !is_scene(scene)) {
                    wrong(format!("the lab has no scene {scene}"));
                }
                let name = attribute_of(tag, "id").unwrap_or_default();
                if !name.is_empty() && names.contains(&name) {
                    wrong(format!("another figure is called {name}, too"));
                }
                names.push(name);
            }
        }
        for (number, line) in prose(text) {
            for tag in line
                .split("<var ")
                .skip(1)
                .filter_map(|rest| rest.split('>').next())
            {
                let of = attribute_of(tag, "data-of").unwrap_or_default();
                if !names.contains(&of) {
                    offences.push(Offence::new(path, number, format!("there is no figure {of}")));
                }
            }
        }
    }
    offences
}

fn attribute_of<'a>(tag: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = tag.split_once(&format!("{name}=\""))?;
    rest.split('"').next()
}

/// Why a link from `path` leads nowhere; `None` when it leads somewhere, or out of the book.
fn why_lost(tree: &Tree, path: &str, link: &str) -> Option<String> {
    if link.contains("://") || link.starts_with("mailto:") || link.starts_with('/') {
        return None; // `/` is the lab
    }
    let (file, heading) = link.split_once('#').unwrap_or((link, ""));
    let target = if file.is_empty() {
        path.to_owned()
    } else {
        resolve(path, file)
    };
    let Some(text) = tree.text(&target) else {
        return Some(format!("there is no {target}"));
    };
    let headings = || prose(text).filter(|(_, line)| line.starts_with('#'));
    let found = heading.is_empty() || headings().any(|(_, line)| slug(line) == heading);
    (!found).then(|| format!("{target} has no heading #{heading}"))
}

/// The id that mdBook gives to a heading.
fn slug(heading: &str) -> String {
    let kept = heading
        .trim_start_matches('#')
        .trim()
        .chars()
        .filter_map(|c| match c {
            c if c.is_alphanumeric() || c == '_' || c == '-' => Some(c.to_ascii_lowercase()),
            c if c.is_whitespace() => Some('-'),
            _ => None,
        });
    kept.collect()
}

pub fn unlisted_pages(tree: &Tree) -> Vec<Offence> {
    let summary = tree.text("book/src/SUMMARY.md").unwrap_or("");
    let is_page = |path: &&str| *path != "book/src/SUMMARY.md" && !path.starts_with("book/src/generated/");
    tree.under(SOURCES, "md")
        .map(|(path, _)| path)
        .filter(is_page)
        .filter(|path| !summary.contains(&format!("]({})", path.trim_start_matches(SOURCES))))
        .map(|path| Offence::new(path, 0, "is not in SUMMARY.md"))
        .collect()
}

pub fn missing_invariants(tree: &Tree) -> Vec<Offence> {
    const PAGE: &str = "book/src/architecture.md";
    let text = tree.text(PAGE).unwrap_or("");
    let mut offences = Vec::new();
    for number in 1..=8 {
        let section = text.split(&format!("\n### R{number}. ")).nth(1).unwrap_or("");
        let section = section.split("\n#").next().unwrap_or("");
        for part in ["Invariant: ", "Reason: ", "Check: "] {
            if !section.lines().any(|line| line.starts_with(part)) {
                offences.push(Offence::new(
                    PAGE,
                    0,
                    format!("R{number} has no line that begins \"{part}\""),
                ));
            }
        }
    }
    offences
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(text: &str) -> Tree {
        Tree::of(&[
            ("book/src/a.md", text),
            ("book/src/b.md", "# The B, page\n"),
            (
                "core/src/x.rs",
                "// ANCHOR: piece\nfn x() {}\n// ANCHOR_END: piece\n",
            ),
        ])
    }

    #[test]
    fn an_include_that_finds_nothing_is_found() {
        assert_eq!(lost_includes(&page("{{#include ../../core/src/x.rs:piece}}")), []);
        assert_eq!(
            lost_includes(&page("{{#include ../../core/src/x.rs:other}}")).len(),
            1
        );
        assert_eq!(lost_includes(&page("{{#include ../../core/src/y.rs}}")).len(), 1);
    }

    #[test]
    fn a_link_that_leads_nowhere_is_found() {
        assert_eq!(
            lost_links(&page("[b](b.md#the-b-page) and [out](https://example.org)")),
            []
        );
        assert_eq!(lost_links(&page("[b](b.md#nothing)")).len(), 1);
        assert_eq!(lost_links(&page("[c](c.md)")).len(), 1);
        assert_eq!(lost_links(&page("```\n[c](c.md)\n```")), []);
    }

    #[test]
    fn a_figure_of_nothing_is_found() {
        let found = |text: &str| {
            let tree = Tree::of(&[
                ("book/src/a.md", text),
                ("tests/scenarios/acks/kept", ""),
                ("book/figures/lookup.story", ""),
                ("web/src/cluster/scenes.rs", "name: \"who-leads\""),
            ]);
            lost_figures(&tree).len()
        };
        let good = "<figure id=\"a\" data-script=\"acks/kept\">Q</figure>\n<var data-of=\"a\">k=1|2</var>\n\
            <figure id=\"b\" data-files=\"lookup\">Q</figure>\n<figure data-scene=\"who-leads\">Q</figure>\n";
        assert_eq!(found(good), 0);
        for (there, lost) in [
            ("acks/kept", "acks/lost"),
            ("\"lookup", "\"look-up"),
            ("who-leads", "who-knows"),
            ("id=\"b\"", "id=\"a\""),
            ("data-of=\"a\"", "data-of=\"c\""),
        ] {
            assert_eq!(found(&good.replace(there, lost)), 1, "{lost}");
        }
    }

    #[test]
    fn a_page_outside_the_summary_is_found() {
        let summary = ("book/src/SUMMARY.md", "- [A](a.md)");
        assert_eq!(unlisted_pages(&Tree::of(&[summary, ("book/src/a.md", "")])), []);
        assert_eq!(
            unlisted_pages(&Tree::of(&[summary, ("book/src/b.md", "")])).len(),
            1
        );
    }

    #[test]
    fn a_rule_without_its_check_is_found() {
        let rule = |n: u8| format!("\n### R{n}. Name\n\nInvariant: i\n\nReason: r\n\nCheck: c\n");
        let all: String = (1..=8).map(rule).collect();
        let found = |text: &str| missing_invariants(&Tree::of(&[("book/src/architecture.md", text)])).len();
        assert_eq!(found(&all), 0);
        assert_eq!(found(&all.replacen("Check: c", "", 1)), 1);
    }
}
