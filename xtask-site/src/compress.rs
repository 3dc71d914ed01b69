//! Compresses files once, when they are built, so that no server does it for each reader.

use std::io::Write;
use std::path::{Path, PathBuf};

use crate::{Result, at};

/// What is worth compressing; pictures and fonts are compressed already.
const TEXTUAL: &[&str] = &["html", "css", "js", "wasm", "svg", "json", "txt", "rs"];

/// Sizes of a compressed file, in bytes.
pub struct Sizes {
    pub plain: u64,
    pub brotli: u64,
}

/// Writes `FILE.br` beside each file in the folder; answers the sizes by file.
pub fn folder(folder: &Path) -> Result<Vec<(PathBuf, Sizes)>> {
    let mut sizes = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in at(&folder, std::fs::read_dir(&folder))? {
            let path = at(&folder, entry)?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| TEXTUAL.iter().any(|t| e == *t)) {
                let size = file(&path)?;
                sizes.push((path, size));
            }
        }
    }
    sizes.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(sizes)
}

fn file(path: &Path) -> Result<Sizes> {
    let plain = at(path, std::fs::read(path))?;
    let brotli = at(path, brotli(&plain))?;
    let mut beside = path.as_os_str().to_owned();
    beside.push(".br");
    at(path, std::fs::write(beside, &brotli))?;
    Ok(Sizes {
        plain: plain.len() as u64,
        brotli: brotli.len() as u64,
    })
}

fn brotli(plain: &[u8]) -> std::io::Result<Vec<u8>> {
    const QUALITY: u32 = 11;
    const WINDOW_BITS: u32 = 22;
    let mut out = brotli::CompressorWriter::new(Vec::new(), 1 << 16, QUALITY, WINDOW_BITS);
    out.write_all(plain)?;
    out.flush()?;
    Ok(out.into_inner())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_compressed_is_the_same_again() {
        let plain = b"the same, the same, the same".repeat(100);
        let packed = brotli(&plain).expect("compress");
        assert!(packed.len() < plain.len() / 10);
        let mut back = Vec::new();
        brotli::BrotliDecompress(&mut packed.as_slice(), &mut back).expect("decompress");
        assert_eq!(back, plain);
    }
}
