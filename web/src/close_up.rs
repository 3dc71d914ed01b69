//! What has the focus, drawn large: the parts of a batch or of an index entry, in the order of their
//! bytes. The strip draws a batch to the scale of its file; this shows what is in it.

use highwater_core::sim::LogOnMemoryDisk;

use crate::annotate::{Annotated, Chosen, Field, annotate};
use crate::say;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CloseUp {
    pub of: Chosen,
    pub title: String,
    pub parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// What it is called where there is little room.
    pub name: String,
    pub title: String,
    pub detail: String,
    pub size_bytes: u64,
}

impl CloseUp {
    /// `None`: what is chosen is not there.
    pub fn of(host: &LogOnMemoryDisk, chosen: Chosen) -> Option<Self> {
        let shown = annotate(host, chosen)?;
        let place = format!("byte {} of {}", say::number(shown.from), shown.file);
        let size = shown.bytes.len();
        let (title, parts) = match chosen {
            Chosen::Batch { .. } => (format!("The batch at {place}: {size} bytes"), batch_parts(&shown)),
            Chosen::Entry { .. } | Chosen::Time { .. } => {
                (format!("The entry at {place}: {size} bytes"), entry_parts(&shown))
            }
        };
        Some(Self {
            of: chosen,
            title,
            parts,
        })
    }
}

impl Part {
    pub fn label(&self) -> String {
        format!("{}: {}", self.title, self.detail)
    }
}

/// The header, then each record.
fn batch_parts(shown: &Annotated) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    for field in &shown.fields {
        let size_bytes = (field.to - field.from) as u64;
        match field.name.as_str() {
            // Each of these begins a part; the fields behind it belong to it.
            "baseOffset" => parts.push(part("header", size_bytes)),
            "record: length" => parts.push(part("record", size_bytes)),
            "records" | "torn" => {
                parts.push(part(&field.name, size_bytes));
            }
            name => {
                let Some(last) = parts.last_mut() else { continue };
                last.size_bytes += size_bytes;
                if name == "offsetDelta" {
                    last.title = after_colon(field);
                    last.name = last.title.clone();
                }
            }
        }
    }
    for part in &mut parts {
        part.detail = format!("{} bytes", part.size_bytes);
    }
    parts
}

fn part(title: &str, size_bytes: u64) -> Part {
    Part {
        name: title.to_owned(),
        title: title.to_owned(),
        detail: String::new(),
        size_bytes,
    }
}

/// `0: offset 17` says in its second half what the record's offset is.
fn after_colon(field: &Field) -> String {
    field
        .value
        .split_once(": ")
        .map_or(&*field.value, |(_, full)| full)
        .to_owned()
}

/// Each field, with its bytes.
fn entry_parts(shown: &Annotated) -> Vec<Part> {
    let parts = shown.fields.iter().map(|field| {
        let bytes = shown.bytes.get(field.from..field.to).unwrap_or_default();
        let hex: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        Part {
            name: field.name.clone(),
            title: format!("{}: {}", field.name, field.value),
            detail: hex.join(" "),
            size_bytes: bytes.len() as u64,
        }
    });
    parts.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::actions::Settings;
    use crate::world::World;

    fn close_up(script: &str, chosen: Chosen) -> CloseUp {
        let world = World::new(Settings::default()).unwrap();
        CloseUp::of(world.after(&script.parse().unwrap()).host(), chosen).unwrap()
    }

    #[test]
    fn a_batch_is_its_header_and_its_records() {
        let batch = Chosen::Batch {
            segment: 0,
            position: 0,
        };
        let shown = close_up("append 1 6 20 none", batch);
        let titles: Vec<&str> = shown.parts.iter().map(|part| part.title.as_str()).collect();
        assert_eq!(titles[..2], ["header", "offset 0"]);
        assert_eq!((titles.len(), titles[6]), (7, "offset 5"));
        let sum: u64 = shown.parts.iter().map(|part| part.size_bytes).sum();
        assert!(shown.title.ends_with(&format!("{sum} bytes")), "{}", shown.title);
        let packed = close_up("append 1 6 20 gzip", batch);
        assert_eq!(packed.parts.len(), 2);
    }

    #[test]
    fn an_entry_is_its_fields() {
        let shown = close_up("append 6 6 20 none", Chosen::Entry { segment: 0, at: 0 });
        assert_eq!(shown.parts.len(), 2);
        assert!(shown.parts[0].label().starts_with("relative offset: "));
        assert_eq!(shown.parts[0].detail.len(), 11);
    }
}
