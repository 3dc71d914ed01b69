//! Bytes at a place: the batch that holds a record, with its segment's files, or a message on its way.
//!
//! A run keeps facts, not disks. What a disk or a link held at a place is had by playing the run's lines up
//! to there once more, so this is done when a reader asks, and not before. The place lies in a step of the
//! simulation, and the bytes are those at the step's end: what `highwater sim --dump-dir` writes after the
//! same lines.

use bytes::Bytes;
use highwater_core::log::names::{FileKind, parse, segment_file};
use highwater_core::record::BatchHeader;
use highwater_core::sim::World;
use highwater_core::sim::world::network::Content;
use highwater_core::stage::{Message, Way};
use highwater_core::trace::{Fact, WorldFact};
use highwater_core::types::{BrokerId, Offset};

use super::run::Run;
use crate::annotate::{Annotated, Field, File, field};
use crate::batch_bytes::batch_fields;
use crate::strip::FILES;

/// What a reader has opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opened {
    pub shown: Annotated,
    /// Of the segment that the bytes lie in.
    pub files: Vec<File>,
}

/// What is behind an element of the stage, as its key names it; `None` where there are no bytes.
pub fn open(run: &Run, facts: usize, key: &str) -> Option<Opened> {
    let mut parts = key.split(':');
    let (kind, first) = (parts.next()?, parts.next()?);
    match kind {
        "cell" => {
            let (broker, offset) = (first.parse().ok()?, parts.next()?.parse().ok()?);
            run.until(facts)
                .ok()?
                .with_world(|world| record(world, run, broker, offset))
        }
        "message" => message(run, facts, first.parse().ok()?),
        _ => None,
    }
}

fn record(world: &World, run: &Run, broker: BrokerId, offset: Offset) -> Option<Opened> {
    let disk = &world.broker(broker)?.disk;
    let directory = format!("{}/", run.partition());
    let files: Vec<_> = disk.files();
    let logs = files.iter().filter_map(|(dir, path, _)| {
        let (base, kind, rest) = parse(path.strip_prefix(&directory)?)?;
        let holds = kind == FileKind::Log && rest.is_empty() && base <= offset;
        holds.then_some((base, *dir))
    });
    let (base, dir) = logs.max()?;
    let read = |kind: FileKind| {
        let path = segment_file(&run.partition().to_string(), base, kind);
        let bytes = disk.read_file(dir, &path).ok()?;
        Some(File {
            name: path.strip_prefix(&directory)?.to_owned(),
            bytes,
        })
    };
    let files: Vec<File> = FILES.into_iter().filter_map(read).collect();
    let log = files.first()?;
    let (from, batch) = batch_at(&log.bytes, offset)?;
    let file = format!("{} of broker {broker}", log.name);
    let shown = Annotated::of(file, from as u64, &batch, batch_fields(&batch));
    Some(Opened { shown, files })
}

/// The batch that holds the offset, and where it begins.
fn batch_at(log: &Bytes, offset: Offset) -> Option<(usize, Bytes)> {
    let mut at = 0;
    loop {
        let header = BatchHeader::parse(log.get(at..)?)?;
        let end = at.checked_add(usize::try_from(header.size_bytes()).ok()?)?;
        if end > log.len() || end == at {
            return None;
        }
        if (header.base_offset..=header.last_offset()).contains(&offset) {
            return Some((at, log.slice(at..end)));
        }
        at = end;
    }
}

/// As it was when it was sent: by the end of the step that is looked at it may be lost.
fn message(run: &Run, facts: usize, packet: u64) -> Option<Opened> {
    let is_sent = |at: &usize| {
        let event = run.event(*at);
        event.is_some_and(|event| {
            matches!(&event.fact, Fact::World(WorldFact::PacketSent { packet: sent, .. }) if *sent == packet)
        })
    };
    let sent = (0..facts).rev().find(is_sent)?;
    let bytes = run.until(sent + 1).ok()?.with_world(|world| {
        let flying = world.agenda().packets().map(|(_, packet)| packet);
        let mut all = flying.chain(world.network().held());
        match &all.find(|there| there.id == packet)?.content {
            Content::Frame(bytes) => Some(bytes.clone()),
            Content::Closed => None,
        }
    })?;
    let message = Message::of(&run.view_at(facts), run.partition(), packet)?;
    Some(Opened {
        shown: Annotated::of(message.api_line(), 0, &bytes, frame_fields(&bytes, &message)),
        files: Vec::new(),
    })
}

/// Length and header; the body as one, with what it carries.
fn frame_fields(bytes: &[u8], message: &Message) -> Vec<Field> {
    let number = |at: usize, len: usize| {
        let bytes = bytes.get(at..at + len).unwrap_or_default();
        bytes.iter().fold(0_i64, |sum, byte| sum << 8 | i64::from(*byte))
    };
    let mut fields = vec![field("length", 0, 4, format!("{} bytes follow", number(0, 4)))];
    let mut at = 4;
    let mut take = |name: &str, len: usize, value: String| {
        fields.push(field(name, at, len, value));
        at += len;
    };
    match message.way {
        Way::Answer => take("correlationId", 4, number(4, 4).to_string()),
        Way::Request => {
            take("apiKey", 2, format!("{}: {}", number(4, 2), message.api));
            take("apiVersion", 2, number(6, 2).to_string());
            take("correlationId", 4, number(8, 4).to_string());
            let name = usize::try_from(number(12, 2)).unwrap_or_default();
            let name = name.min(bytes.len().saturating_sub(14));
            let text = String::from_utf8_lossy(bytes.get(14..14 + name).unwrap_or_default());
            take("clientId", 2 + name, format!("“{text}”"));
        }
    }
    let rest = bytes.len().saturating_sub(at);
    if rest > 0 {
        fields.push(field("body", at, rest, message.name.clone()));
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::super::{ClusterLab, SCENES, Wish};
    use super::*;

    fn opened(lab: &ClusterLab, side: usize, key: &str) -> Option<std::rc::Rc<Opened>> {
        lab.after(Wish::Choose(side, key.to_owned())).opened()
    }

    #[test]
    fn each_record_that_is_drawn_lies_in_a_batch_of_its_epoch() {
        for scene in SCENES {
            let mut lab = ClusterLab::new(&scene.name).unwrap();
            while lab.is_story() {
                for (at, side) in lab.sides().iter().enumerate() {
                    for cell in side.stage.rows.iter().filter_map(|row| row.cells.last()) {
                        let opened = opened(&lab, at, &cell.key());
                        let Some(record) = cell.record else { continue };
                        let opened = opened.unwrap_or_else(|| panic!("{}: {}", scene.name, cell.say()));
                        let value = |name: &str| {
                            let field = opened.shown.fields.iter().find(|field| field.name == name);
                            field.unwrap().value.clone()
                        };
                        assert_eq!(value("partitionLeaderEpoch"), record.epoch.to_string());
                        assert!(value("baseOffset").parse::<i64>().unwrap() <= cell.offset);
                        // An index of the active segment may still be in memory.
                        let log = &opened.files[0];
                        assert!(log.name.ends_with(".log"), "{}", log.name);
                        let from = opened.shown.from as usize;
                        assert_eq!(
                            log.bytes.slice(from..from + opened.shown.bytes.len()),
                            opened.shown.bytes
                        );
                    }
                }
                lab = lab.after(Wish::NextMoment);
            }
        }
    }

    #[test]
    fn each_message_is_bytes_whose_fields_leave_nothing_out() {
        let mut seen = 0;
        for scene in SCENES {
            let mut lab = ClusterLab::new(&scene.name).unwrap();
            while lab.is_story() {
                for (at, side) in lab.sides().iter().enumerate() {
                    for message in side.stage.messages.iter().take(1) {
                        let chosen = lab.after(Wish::Choose(at, message.key()));
                        // A line that makes a topic is played as a whole, and what was in the air meanwhile is gone.
                        let Some(opened) = chosen.opened() else {
                            assert!(
                                chosen.notice.is_some() && scene.name == "who-leads",
                                "{}",
                                message.say()
                            );
                            continue;
                        };
                        let mut next = 0;
                        for field in &opened.shown.fields {
                            assert_eq!(field.from, next);
                            next = field.to;
                        }
                        assert_eq!(next, opened.shown.bytes.len());
                        seen += 1;
                    }
                }
                lab = lab.after(Wish::NextMoment);
            }
        }
        assert!(seen > 10, "{seen}");
    }

    #[test]
    fn what_is_not_there_opens_nothing() {
        let lab = ClusterLab::new(&SCENES[0].name).unwrap();
        for key in ["cell:1:99", "cell:9:0", "message:999999", "row:1", "cell", ""] {
            assert_eq!(opened(&lab, 0, key), None, "{key}");
        }
        assert!(opened(&lab, 0, "cell:1:0").is_some());
        let moved = lab
            .after(Wish::Choose(0, "cell:1:0".to_owned()))
            .after(Wish::Step);
        assert_eq!(moved.opened(), None, "it was of another place");
    }
}
