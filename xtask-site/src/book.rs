//! Renders `book/`. mdBook only logs a lost include; `cargo xtask tidy` is what refuses it.

use std::path::Path;

use mdbook_driver::MDBook;

use crate::{Result, at, compress, policy, root};

pub fn build(out: &Path) -> Result<()> {
    let out = at(out, std::path::absolute(out))?;
    let mut book = MDBook::load(root().join("book")).map_err(|e| format!("book: {e:#}"))?;
    book.config.build.build_dir = out.clone();
    book.build().map_err(|e| format!("book: {e:#}"))?;
    let index = out.join("index.html");
    if !index.exists() {
        return Err(format!(
            "the book has no first page: {} is missing",
            index.display()
        ));
    }
    policy::apply(&out)?;
    compress::folder(&out)?;
    println!("book: {}", out.display());
    Ok(())
}
