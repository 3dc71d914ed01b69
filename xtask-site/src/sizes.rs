//! Where the bytes of a module come from: its functions summed by crate.

use std::collections::BTreeMap;

use wasmparser::{KnownCustom, Name, Parser, Payload};

use crate::Result;

/// Bytes of code by crate, and of all else by section, largest first.
pub fn by_crate(wasm: &[u8]) -> Result<Vec<(String, u64)>> {
    let mut bodies = Vec::new();
    let mut imported = 0;
    let mut names = BTreeMap::new();
    let mut sums: BTreeMap<String, u64> = BTreeMap::new();
    for payload in Parser::new(0).parse_all(wasm) {
        match payload.map_err(|e| e.to_string())? {
            Payload::ImportSection(imports) => {
                for import in imports {
                    let import = import.map_err(|e| e.to_string())?;
                    imported += u32::from(matches!(import.ty, wasmparser::TypeRef::Func(_)));
                }
            }
            Payload::CodeSectionEntry(body) => bodies.push(body.range().len() as u64),
            Payload::DataSection(data) => {
                *sums.entry("(data)".into()).or_default() += data.range().len() as u64;
            }
            Payload::CustomSection(section) => {
                if let KnownCustom::Name(section) = section.as_known() {
                    function_names(section, &mut names)?;
                }
            }
            _ => {}
        }
    }
    for (index, bytes) in (imported..).zip(bodies) {
        let name = names.get(&index).map_or("", |name: &String| name.as_str());
        *sums.entry(crate_of(name)).or_default() += bytes;
    }
    let mut sums: Vec<(String, u64)> = sums.into_iter().collect();
    sums.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
    Ok(sums)
}

fn function_names(section: wasmparser::NameSectionReader, names: &mut BTreeMap<u32, String>) -> Result<()> {
    for part in section {
        if let Name::Function(functions) = part.map_err(|e| e.to_string())? {
            for naming in functions {
                let naming = naming.map_err(|e| e.to_string())?;
                names.insert(naming.index, naming.name.to_owned());
            }
        }
    }
    Ok(())
}

/// The first crate in a function's name: of `<a::B as c::D>::e` that is `a`.
fn crate_of(symbol: &str) -> String {
    let name = format!("{:#}", rustc_demangle::demangle(symbol));
    let Some((first, _)) = name.split_once("::") else {
        return "(other)".into();
    };
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    first.rsplit(|c| !is_part(c)).next().unwrap_or(first).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_belongs_to_the_crate_that_its_name_begins_with() {
        assert_eq!(crate_of("highwater_core::log::Log::append"), "highwater_core");
        assert_eq!(crate_of("<yew::Component as core::fmt::Debug>::fmt"), "yew");
        assert_eq!(
            crate_of("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE"),
            "core"
        );
        assert_eq!(crate_of("<T as core::convert::Into<U>>::into"), "core");
        assert_eq!(crate_of("memcpy"), "(other)");
    }

    #[test]
    fn a_module_without_code_has_no_rows() {
        assert_eq!(by_crate(b"\0asm\x01\0\0\0"), Ok(Vec::new()));
        assert!(by_crate(b"something else").is_err());
    }
}
