//! Finds Rust's test harness, and the tests given to it, in a compiled test module.
//!
//! The compiler writes a `main` that calls `test::test_main_static(&[&TestDescAndFn])`. In the
//! module that is a call of the function with that name, right after two constants: where the list
//! lies and how long it is. The harness's function is exported here under a name of our own, so that
//! it can be called with a part of the list.

use wasm_encoder::{ExportKind, ExportSection, RawSection};
use wasmparser::{ExternalKind, KnownCustom, Name, Operator, Parser, Payload};

/// The name under which the harness is exported.
pub const HARNESS: &str = "highwater_run_tests";
/// Part of the (mangled) name of the harness's function.
const HARNESS_SYMBOL: &str = "test_main_static";

/// A module that exports its harness, and where its list of tests lies.
pub struct TestModule {
    pub wasm: Vec<u8>,
    /// Address of the first entry; each entry is the 4-byte address of a test's description.
    pub list: usize,
    pub count: usize,
}

impl TestModule {
    /// Reads a module as cargo built it.
    pub fn read(wasm: &[u8]) -> Result<Self, String> {
        let harness = find_harness(wasm)?;
        let (list, count) = find_list(wasm, harness)?;
        if count == 0 {
            return Err("holds no test".into());
        }
        Ok(Self {
            wasm: export_harness(wasm, harness)?,
            list,
            count,
        })
    }
}

fn payloads(wasm: &[u8]) -> impl Iterator<Item = Result<Payload<'_>, String>> {
    Parser::new(0)
        .parse_all(wasm)
        .map(|payload| payload.map_err(|e| e.to_string()))
}

/// Index of the harness's function, by the module's name section.
fn find_harness(wasm: &[u8]) -> Result<u32, String> {
    for payload in payloads(wasm) {
        let Payload::CustomSection(section) = payload? else {
            continue;
        };
        let KnownCustom::Name(names) = section.as_known() else {
            continue;
        };
        for name in names {
            let Name::Function(functions) = name.map_err(|e| e.to_string())? else {
                continue;
            };
            for naming in functions {
                let naming = naming.map_err(|e| e.to_string())?;
                // `test_main_static_abort` is for processes, and its name is longer.
                let mut parts = naming.name.split(HARNESS_SYMBOL).skip(1);
                if parts.any(|rest| !rest.starts_with('_')) {
                    return Ok(naming.index);
                }
            }
        }
    }
    Err("holds no test harness (was it built by `cargo test`, with its names?)".into())
}

/// The two constants before the only call of the harness.
fn find_list(wasm: &[u8], harness: u32) -> Result<(usize, usize), String> {
    for payload in payloads(wasm) {
        let Payload::CodeSectionEntry(body) = payload? else {
            continue;
        };
        let operators = body.get_operators_reader().map_err(|e| e.to_string())?;
        let mut constants = [None, None];
        for operator in operators {
            match operator.map_err(|e| e.to_string())? {
                Operator::I32Const { value } => constants = [constants[1], Some(value as u32 as usize)],
                Operator::Call { function_index } if function_index == harness => {
                    if let [Some(list), Some(count)] = constants {
                        return Ok((list, count));
                    }
                }
                _ => constants = [None, None],
            }
        }
    }
    Err("never calls its test harness with a constant list".into())
}

/// The same module with the harness added to its exports.
fn export_harness(wasm: &[u8], harness: u32) -> Result<Vec<u8>, String> {
    let mut out = wasm_encoder::Module::new();
    for payload in payloads(wasm) {
        match payload? {
            Payload::ExportSection(exports) => {
                let mut section = ExportSection::new();
                for export in exports {
                    let export = export.map_err(|e| e.to_string())?;
                    let kind = match export.kind {
                        ExternalKind::Func => ExportKind::Func,
                        ExternalKind::Table => ExportKind::Table,
                        ExternalKind::Memory => ExportKind::Memory,
                        ExternalKind::Global => ExportKind::Global,
                        ExternalKind::Tag => ExportKind::Tag,
                    };
                    section.export(export.name, kind, export.index);
                }
                section.export(HARNESS, ExportKind::Func, harness);
                out.section(&section);
            }
            Payload::CustomSection(_) => {}
            other => {
                if let Some((id, range)) = other.as_section() {
                    out.section(&RawSection {
                        id,
                        data: &wasm[range],
                    });
                }
            }
        }
    }
    Ok(out.finish())
}

/// The name in the description that the list's entry at address `entry` points to.
///
/// The description's layout is the compiler's own affair, so the name is recognised instead: the
/// only pair of words in it that points to a readable path (`module::test`).
pub fn name_of_test(memory: &[u8], entry: usize) -> Option<String> {
    const WORDS_OF_A_DESCRIPTION: usize = 32;
    let description = word(memory, entry)?;
    (0..WORDS_OF_A_DESCRIPTION).find_map(|i| {
        let start = word(memory, description + 4 * i)?;
        let len = word(memory, description + 4 * i + 4)?;
        let text = memory.get(start..start.checked_add(len)?)?;
        let text = std::str::from_utf8(text).ok()?;
        let is_path = (3..200).contains(&text.len())
            && text.contains("::")
            && text
                .chars()
                .all(|c| c.is_alphanumeric() || c == '_' || c == ':' || c == '#');
        is_path.then(|| text.to_owned())
    })
}

fn word(memory: &[u8], at: usize) -> Option<usize> {
    let bytes = memory.get(at..at.checked_add(4)?)?;
    Some(u32::from_le_bytes(bytes.try_into().ok()?) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_found_by_what_it_is() {
        let mut memory = vec![0; 256];
        memory[64..80].copy_from_slice(b"log::tests::cuts");
        memory[0..4].copy_from_slice(&16u32.to_le_bytes()); // the entry: description at 16
        memory[24..28].copy_from_slice(&64u32.to_le_bytes());
        memory[28..32].copy_from_slice(&16u32.to_le_bytes());
        assert_eq!(name_of_test(&memory, 0).as_deref(), Some("log::tests::cuts"));
        memory[28..32].copy_from_slice(&3u32.to_le_bytes());
        assert_eq!(name_of_test(&memory, 0), None, "\"log\" is no test's path");
    }

    #[test]
    fn a_module_without_a_harness_is_refused() {
        let empty = wasm_encoder::Module::new().finish();
        assert!(TestModule::read(&empty).is_err());
        assert!(TestModule::read(b"no module").is_err());
    }
}
