//! What is done to each page that mdBook has written.

use std::path::Path;

use super::terms::Terms;
use super::{figures, sheet};
use crate::{Result, at, root};

/// The lab's rules for figures, with those of `book/figures.css`.
const SHEET: &str = "figures.css";
/// All chapters on one page, to be printed.
pub const PRINT: &str = "print";
/// Pages in which every term would be linked to itself, or to the sentence beside it.
const UNLINKED: [&str; 2] = ["glossary", "index"];

/// Draws figures into the pages, links terms, and writes the stylesheet that they need.
pub fn finish(out: &Path, chapters: &[String], lab: &str) -> Result<()> {
    let source = |path: &str| at(Path::new(path), std::fs::read_to_string(root().join(path)));
    let glossary = source("book/src/glossary.md")?;
    let terms = Terms::of(&glossary)?;
    let drawing = figures::Drawing::new(lab)?;
    for name in chapters.iter().map(String::as_str).chain([PRINT]) {
        let path = out.join(format!("{name}.html"));
        let page = at(&path, std::fs::read_to_string(&path))?;
        let mut page = match figures::drawn(&page, &drawing).map_err(|why| format!("{name}.md: {why}"))? {
            Some(drawn) => drawing.with_assets(&drawn, SHEET, name != PRINT)?,
            None => page,
        };
        if name != PRINT && !UNLINKED.contains(&name) {
            page = terms.linked(&page);
        }
        at(&path, std::fs::write(&path, for_everybody(&page)))?;
    }
    let rules = sheet::for_figures(&source("web/static/style.css")?)?;
    let own = source("book/figures.css")?;
    let path = out.join(SHEET);
    at(
        &path,
        std::fs::write(&path, crate::bare_sheet(&format!("{rules}\n{own}"))),
    )
}

/// What mdBook leaves to be wished for those who use the keyboard or listen: what scrolls has to get the
/// focus, an empty cell is no heading, and what stands around the text belongs to a landmark.
fn for_everybody(page: &str) -> String {
    const BETTER: [(&str, &str); 4] = [
        (
            "<pre><code class=\"language-",
            "<pre><code tabindex=\"0\" class=\"language-",
        ),
        ("<th></th>", "<td></td>"),
        (
            "<div id=\"mdbook-menu-bar\"",
            "<div role=\"banner\" id=\"mdbook-menu-bar\"",
        ),
        (
            "<div class=\"table-wrapper\">",
            "<div tabindex=\"0\" class=\"table-wrapper\">",
        ),
    ];
    BETTER
        .iter()
        .fold(page.to_owned(), |page, (old, new)| page.replace(old, new))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_that_scrolls_gets_the_focus_and_an_empty_cell_is_no_heading() {
        assert_eq!(
            for_everybody("<th></th><pre><code class=\"language-rust\">x</code></pre>"),
            "<td></td><pre><code tabindex=\"0\" class=\"language-rust\">x</code></pre>"
        );
    }
}
