//! Makes what mdBook renders fit the security policy that the binary sends.
//!
//! The policy allows no inline style and only those inline scripts whose hashes it names. mdBook
//! writes a few of both into each page: the styles become classes of `book/policy.css`, and the
//! scripts' hashes are listed in [`HASHES`], which the binary reads and adds to the policy of the
//! book's pages.
//!
//! Invariants
//! - a style that has no class, and an event handler in an attribute, fail the build: a browser would
//!   drop them with no more than a line on its console
//! - the list is made from the pages as they are served, so it cannot fall behind mdBook

use std::collections::BTreeSet;
use std::path::Path;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use sha2::{Digest, Sha256};

use crate::{Result, at};

/// Beside the book's pages: one hash of an inline script a line, as a policy names it.
const HASHES: &str = "script-hashes.txt";

/// Each style that mdBook writes into a page, and the class in its place.
const CLASSES: &[(&str, &str)] = &[
    (r#"style="clear: both""#, r#"class="clear-both""#),
    (
        r#"style="break-before: page; page-break-before: always;""#,
        r#"class="page-break""#,
    ),
];

/// Changes the pages in the folder, and writes the list of hashes into it.
pub fn apply(book: &Path) -> Result<()> {
    let mut hashes = BTreeSet::new();
    let mut folders = vec![book.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in at(&folder, std::fs::read_dir(&folder))? {
            let path = at(&folder, entry)?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "html") {
                let page = at(&path, std::fs::read_to_string(&path))?;
                let page =
                    without_inline_styles(&page).map_err(|why| format!("{}: {why}", path.display()))?;
                at(&path, std::fs::write(&path, &page))?;
                hashes.extend(inline_scripts(&page).map(hash));
            }
        }
    }
    let list: String = hashes.iter().map(|hash| format!("{hash}\n")).collect();
    let path = book.join(HASHES);
    at(&path, std::fs::write(&path, list))
}

/// `'sha256-…'`, as a policy's `script-src` names a script by its text.
fn hash(script: &str) -> String {
    format!("'sha256-{}'", BASE64_STANDARD.encode(Sha256::digest(script)))
}

fn without_inline_styles(page: &str) -> Result<String> {
    let mut page = page.to_owned();
    for (style, class) in CLASSES {
        page = page.replace(style, class);
    }
    for tag in tags(&page) {
        let inline = tag.split_whitespace().skip(1).find(|attribute| {
            let name = attribute.split('=').next().unwrap_or_default();
            name == "style" || (name.starts_with("on") && attribute.contains('='))
        });
        if tag.starts_with("style") || inline.is_some() {
            return Err(format!(
                "the policy of the page forbids <{tag}>: see book/policy.css"
            ));
        }
    }
    Ok(page)
}

/// Texts of the scripts that a page holds itself.
fn inline_scripts(page: &str) -> impl Iterator<Item = &str> {
    page.split("<script").skip(1).filter_map(|rest| {
        let (attributes, rest) = rest.split_once('>')?;
        let (text, _) = rest.split_once("</script>")?;
        (!attributes.contains("src=")).then_some(text)
    })
}

/// What stands between `<` and `>` of each opening tag. In a page's text both are escaped; scripts
/// are left out.
fn tags(page: &str) -> impl Iterator<Item = &str> {
    let outside = page.split("<script").enumerate().map(|(n, piece)| match n {
        0 => piece,
        _ => piece.split_once("</script>").map_or("", |(_, after)| after),
    });
    outside.flat_map(|piece| {
        let opened = piece.split('<').skip(1).filter_map(|rest| rest.split('>').next());
        opened.filter(|tag| tag.starts_with(|c: char| c.is_ascii_alphabetic()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_named_by_the_hash_of_its_text_and_one_with_a_source_is_not() {
        let page = "<script src=\"a.js\"></script><p>x</p><script>alert('Hello, world.');</script>";
        let hashes: Vec<String> = inline_scripts(page).map(hash).collect();
        // The example of the standard (CSP level 3, section on hashes).
        assert_eq!(hashes, ["'sha256-qznLcsROx4GACP2dm0UCKCzCG+HiZ1guq6ZZDob/Tng='"]);
    }

    #[test]
    fn known_styles_become_classes_and_unknown_ones_fail() {
        let page = without_inline_styles(r#"<div style="clear: both"></div>"#);
        assert_eq!(page, Ok(r#"<div class="clear-both"></div>"#.to_owned()));
        assert!(without_inline_styles(r#"<div style="color: red">"#).is_err());
        assert!(without_inline_styles("<style>p {}</style>").is_err());
        assert!(without_inline_styles(r#"<a href="x" onclick="go()">"#).is_err());
        assert!(
            without_inline_styles(
                r#"<p>style="x" onclick= is text</p><script>if (a<b) c("style=")</script>"#
            )
            .is_ok()
        );
    }
}
