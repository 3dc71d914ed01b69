//! The repository's text files, as the rules see them.

use std::collections::BTreeMap;
use std::path::Path;

/// Folders that are built, fetched or kept by other programs.
const NOT_OURS: &[&str] = &["target", ".git", "highwater-data"];

/// Text files by path relative to the root, with `/` between parts.
#[derive(Default)]
pub struct Tree {
    files: BTreeMap<String, String>,
}

impl Tree {
    /// Reads all text files that belong to the repository.
    pub fn read(root: &Path) -> Result<Self, String> {
        let mut tree = Self::default();
        tree.read_folder(root, "")?;
        Ok(tree)
    }

    /// A tree made up for a test.
    #[cfg(test)]
    pub fn of(files: &[(&str, &str)]) -> Self {
        let files = files
            .iter()
            .map(|(path, text)| (path.to_string(), text.to_string()));
        Self {
            files: files.collect(),
        }
    }

    fn read_folder(&mut self, root: &Path, folder: &str) -> Result<(), String> {
        let path = root.join(folder);
        let failed = |e: std::io::Error| format!("{}: {e}", path.display());
        for entry in std::fs::read_dir(&path).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if NOT_OURS.contains(&name.as_str()) {
                continue;
            }
            let inner = if folder.is_empty() {
                name
            } else {
                format!("{folder}/{name}")
            };
            let kind = entry.file_type().map_err(failed)?;
            if kind.is_dir() {
                self.read_folder(root, &inner)?;
            } else if kind.is_file()
                && let Ok(text) = std::fs::read_to_string(entry.path())
            {
                self.files.insert(inner, text);
            }
        }
        Ok(())
    }

    pub fn text(&self, path: &str) -> Option<&str> {
        self.files.get(path).map(String::as_str)
    }

    pub fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files
            .iter()
            .map(|(path, text)| (path.as_str(), text.as_str()))
    }

    /// The files in `folder` (with a `/` at its end) whose name ends in `.extension`.
    pub fn under<'a>(
        &'a self,
        folder: &'a str,
        extension: &'a str,
    ) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.files()
            .filter(move |(path, _)| path.starts_with(folder))
            .filter(move |(path, _)| path.rsplit_once('.').is_some_and(|(_, end)| end == extension))
    }
}

/// Lines of Rust, counted from 1, without comments and without the tests at the end of a file.
pub fn code_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines()
        .take_while(|line| line.trim() != "#[cfg(test)]")
        .enumerate()
        .map(|(i, line)| (i + 1, line.split("//").next().unwrap_or("")))
}

/// Whether `word` stands in `line` with no letter, digit or `_` beside it.
pub fn has_word(line: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word)
        .any(|(at, _)| !line[..at].ends_with(is_part) && !line[at + word.len()..].starts_with(is_part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_found_only_whole() {
        assert!(has_word("let map: HashMap<u8, u8>", "HashMap"));
        assert!(!has_word("struct MyHashMaps", "HashMap"));
    }

    #[test]
    fn comments_and_tests_are_no_code() {
        let text = "use a; // HashMap\n//! HashMap\n#[cfg(test)]\nuse HashMap;";
        assert!(code_lines(text).all(|(_, line)| !has_word(line, "HashMap")));
    }
}
