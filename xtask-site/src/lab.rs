//! Builds the lab: `highwater-web` for wasm32, its bindings, the static files, all compressed.

use std::path::Path;
use std::process::Command;

use wasm_bindgen_cli_support::Bindgen;
use wasmparser::{Parser, Payload};

use crate::{Result, at, bare_sheet, compress, emptied, root, sizes, source};

const TARGET: &str = "wasm32-unknown-unknown";
const PACKAGE: &str = "highwater-web";
/// All that a first visit loads, with brotli.
const LARGEST_BYTES: u64 = 700 * 1024;
/// Crates that the size table names; smaller ones are summed.
const ROWS: usize = 15;

/// `glossary`: where the book explains words, as seen from the page; nowhere if it is empty.
pub fn build(out: &Path, glossary: &str) -> Result<()> {
    compile()?;
    let module = root().join(format!("target/{TARGET}/web/{PACKAGE}.wasm"));
    let wasm = at(&module, std::fs::read(&module))?;
    check_imports(&wasm)?;
    emptied(out)?;
    bind(&module, out)?;
    copy(&root().join("web/static"), out)?;
    strip(&out.join("style.css"))?;
    name_glossary(&out.join("index.html"), glossary)?;
    print_crates(&wasm)?;
    weigh(out)?;
    source::put_into(out)
}

fn compile() -> Result<()> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let arguments = [
        "build",
        "--package",
        PACKAGE,
        "--target",
        TARGET,
        "--profile",
        "web",
        "--config",
        &without_paths_of_this_machine(),
    ];
    let status = Command::new(cargo).args(arguments).current_dir(root()).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(_) => Err(format!("`cargo {}` failed", arguments.join(" "))),
        Err(e) => Err(format!("cannot run cargo: {e}")),
    }
}

/// Panics name their place: in the sources of a crate, wherever Cargo has put them here.
fn without_paths_of_this_machine() -> String {
    let home = std::env::var("CARGO_HOME").or_else(|_| std::env::var("HOME").map(|home| home + "/.cargo"));
    let sources = home.unwrap_or_default() + "/registry/src";
    format!("target.{TARGET}.rustflags = ['--remap-path-prefix={sources}=crates']")
}

/// The page's host is the browser, by way of bindings; a function wanted from elsewhere (`env`) is
/// one that some crate expects from an operating system.
fn check_imports(wasm: &[u8]) -> Result<()> {
    for payload in Parser::new(0).parse_all(wasm) {
        if let Payload::ImportSection(imports) = payload.map_err(|e| e.to_string())? {
            for import in imports {
                let import = import.map_err(|e| e.to_string())?;
                if !import.module.starts_with("__wbindgen") {
                    return Err(format!(
                        "the page wants `{}` from `{}`, which no browser has",
                        import.name, import.module
                    ));
                }
            }
        }
    }
    Ok(())
}

fn bind(module: &Path, out: &Path) -> Result<()> {
    let failed = |e| format!("wasm-bindgen: {e:#}");
    Bindgen::new()
        .input_path(module)
        .out_name("highwater_web")
        .web(true)
        .map_err(failed)?
        .typescript(false)
        .remove_name_section(true)
        .remove_producers_section(true)
        .generate(out)
        .map_err(failed)
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    at(to, std::fs::create_dir_all(to))?;
    for entry in at(from, std::fs::read_dir(from))? {
        let path = at(from, entry)?.path();
        let target = to.join(path.file_name().unwrap_or_default());
        if path.is_dir() {
            copy(&path, &target)?;
        } else {
            at(&path, std::fs::copy(&path, &target))?;
        }
    }
    Ok(())
}

fn strip(sheet: &Path) -> Result<()> {
    let text = at(sheet, std::fs::read_to_string(sheet))?;
    at(sheet, std::fs::write(sheet, bare_sheet(&text)))
}

fn name_glossary(page: &Path, glossary: &str) -> Result<()> {
    const LINK: &str = "<link rel=\"help\" href=\"book/glossary.html\">";
    let text = at(page, std::fs::read_to_string(page))?;
    if !text.contains(LINK) {
        return Err(format!("{} has no `{LINK}`", page.display()));
    }
    let named = match glossary {
        "" => String::new(),
        glossary => LINK.replace("book/glossary.html", glossary),
    };
    at(page, std::fs::write(page, text.replace(LINK, &named)))
}

fn print_crates(wasm: &[u8]) -> Result<()> {
    let sums = sizes::by_crate(wasm)?;
    println!("{:>9}  code by crate, before compression", "bytes");
    for (name, bytes) in sums.iter().take(ROWS) {
        println!("{bytes:>9}  {name}");
    }
    let rest: u64 = sums.iter().skip(ROWS).map(|(_, bytes)| bytes).sum();
    println!("{rest:>9}  {} others", sums.len().saturating_sub(ROWS));
    Ok(())
}

/// Compresses everything, tells the sizes, and refuses a page that is too heavy.
fn weigh(out: &Path) -> Result<()> {
    println!("{:>9} {:>9}  file", "bytes", "brotli");
    let mut sum = 0;
    for (path, size) in compress::folder(out)? {
        let name = path.strip_prefix(out).unwrap_or(&path).display();
        println!("{:>9} {:>9}  {name}", size.plain, size.brotli);
        sum += size.brotli;
    }
    println!("{:>9} {sum:>9}  in all, of {LARGEST_BYTES} allowed", "");
    check_weight(sum)
}

fn check_weight(brotli_bytes: u64) -> Result<()> {
    if brotli_bytes <= LARGEST_BYTES {
        return Ok(());
    }
    Err(format!(
        "the page is {} KiB with brotli, more than {} KiB: see the crates above",
        brotli_bytes / 1024,
        LARGEST_BYTES / 1024
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_that_is_too_heavy_is_refused() {
        assert!(check_weight(LARGEST_BYTES).is_ok());
        assert!(check_weight(LARGEST_BYTES + 1).is_err());
    }

    #[test]
    fn a_stylesheet_goes_without_remarks_and_indentation() {
        let sheet = "/* Tokens. */\n\n.a {\n  color: red; /* why */\n}\n";
        assert_eq!(bare_sheet(sheet), ".a {\ncolor: red;\n}");
    }

    #[test]
    fn an_import_from_an_operating_system_is_refused() {
        // (module (import "env" "time" (func)))
        let mut wasm = b"\0asm\x01\0\0\0".to_vec();
        wasm.extend([1, 4, 1, 0x60, 0, 0]);
        wasm.extend([2, 12, 1, 3]);
        wasm.extend(b"env\x04time");
        wasm.extend([0, 0]);
        let why = check_imports(&wasm).unwrap_err();
        assert!(why.contains("`time` from `env`"), "{why}");
    }
}
