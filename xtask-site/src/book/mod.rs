//! Renders `book/`: mdBook makes the pages, and then [`figures`] are drawn into them, [`terms`] linked to
//! the glossary, the lab's stylesheet brought along ([`sheet`]), and all of it made to fit the [`policy`].
//!
//! mdBook only logs a lost include; `cargo xtask tidy` is what refuses it.

mod figures;
mod page;
mod policy;
mod sheet;
mod terms;

use std::path::Path;

use mdbook_driver::MDBook;
use mdbook_driver::book::BookItem;

use crate::{Result, at, compress, root};

/// What a chapter weighs beside what all of them share, with brotli.
const LARGEST_BYTES: u64 = 60 * 1024;

/// `lab`: where the lab lies, as seen from the book's pages.
pub fn build(out: &Path, lab: &str) -> Result<()> {
    let out = at(out, std::path::absolute(out))?;
    let mut book = MDBook::load(root().join("book")).map_err(|e| format!("book: {e:#}"))?;
    let mut chapters = Vec::new();
    book.book.for_each_mut(|item| {
        if let BookItem::Chapter(chapter) = item
            && let Some(path) = &chapter.path
        {
            let name = path
                .file_stem()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            // All chapters stand on one page when the book is printed.
            chapter.content = figures::with_names_of_their_own(&chapter.content, &name);
            chapters.push(name);
        }
    });
    book.config.build.build_dir = out.clone();
    book.build().map_err(|e| format!("book: {e:#}"))?;
    let index = out.join("index.html");
    if !index.exists() {
        return Err(format!(
            "the book has no first page: {} is missing",
            index.display()
        ));
    }
    page::finish(&out, &chapters, lab)?;
    policy::apply(&out)?;
    for (path, size) in compress::folder(&out)? {
        check_weight(&path, size.brotli)?;
    }
    println!("book: {}", out.display());
    Ok(())
}

/// The page that has all chapters on it is for paper.
fn check_weight(page: &Path, brotli_bytes: u64) -> Result<()> {
    let is_chapter = page.extension().is_some_and(|extension| extension == "html")
        && page.file_stem().is_none_or(|name| name != page::PRINT);
    match is_chapter && brotli_bytes > LARGEST_BYTES {
        false => Ok(()),
        true => Err(format!(
            "{} is {} KiB with brotli, more than {} KiB: record fewer figures, or fewer of their values",
            page.display(),
            brotli_bytes / 1024,
            LARGEST_BYTES / 1024
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chapter_that_is_too_heavy_is_refused() {
        assert!(check_weight(Path::new("out/acks.html"), LARGEST_BYTES).is_ok());
        assert!(check_weight(Path::new("out/acks.html"), LARGEST_BYTES + 1).is_err());
        assert!(check_weight(Path::new("out/print.html"), LARGEST_BYTES + 1).is_ok());
    }
}
