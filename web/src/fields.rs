//! Values for the sentences of a story, by name. Each comes from a fact or from the run itself; a field
//! that means nothing at this moment has no value, and a test fills every sentence.

use highwater_core::log::names::FileKind;
use highwater_core::log::offset_index::full_offset;
use highwater_core::trace::Fact;

use crate::finding::{Finding, start_byte};
use crate::say;
use crate::strip::{SegmentView, file_name};
use crate::world::World;

/// The value of a field now.
pub fn value(world: &World, name: &str) -> Option<String> {
    let (group, field) = name.split_once('.')?;
    match group {
        "batch" => batch(world, field),
        "entry" => entry(world, field),
        "rolled" => rolled(world, field),
        "deleted" => deleted(world, field),
        "log" => log(world, field),
        "find" => find(world, world.finding.as_ref()?, field),
        "time" => time(world.finding.as_ref()?, field),
        "disk" => disk(world, field),
        "restart" => restart(world, field),
        _ => None,
    }
}

/// The last batch appended.
fn batch(world: &World, field: &str) -> Option<String> {
    world.last_fact(|fact| match fact {
        Fact::BatchAppended {
            base_offset,
            last_offset,
            segment,
            position,
            size_bytes,
            ..
        } => match field {
            "base" => Some(base_offset.to_string()),
            "last" => Some(last_offset.to_string()),
            "records" => Some(say::number(last_offset - base_offset + 1)),
            "bytes" => Some(say::number(*size_bytes)),
            "position" => Some(say::number(*position)),
            "file" => Some(file_name(*segment, FileKind::Log)),
            _ => None,
        },
        _ => None,
    })
}

/// The last index entry.
fn entry(world: &World, field: &str) -> Option<String> {
    world.last_fact(|fact| match fact {
        Fact::IndexEntryAdded {
            segment,
            offset,
            position,
            ..
        } => match field {
            "offset" => Some(offset.to_string()),
            "position" => Some(say::number(*position)),
            "file" => Some(file_name(*segment, FileKind::OffsetIndex)),
            _ => None,
        },
        _ => None,
    })
}

/// The last roll.
fn rolled(world: &World, field: &str) -> Option<String> {
    world.last_fact(|fact| match fact {
        Fact::SegmentRolled { closed, opened, .. } => match field {
            "closed" => Some(file_name(*closed, FileKind::Log)),
            "opened" => Some(file_name(*opened, FileKind::Log)),
            "offset" => Some(opened.to_string()),
            _ => None,
        },
        _ => None,
    })
}

/// What the last retention check dropped.
fn deleted(world: &World, field: &str) -> Option<String> {
    let mut segments = world.facts.iter().filter_map(|event| match &event.fact {
        Fact::SegmentDeleted { segment, .. } => Some(*segment),
        _ => None,
    });
    Some(match field {
        "segments" => say::count(segments.count(), "segment"),
        "file" => file_name(segments.next_back()?, FileKind::Log),
        _ => return None,
    })
}

/// The log as a whole, and its settings.
fn log(world: &World, field: &str) -> Option<String> {
    let segments = world.segments();
    let sum = |of: fn(&SegmentView) -> usize| segments.iter().map(of).sum::<usize>();
    Some(match field {
        "interval" => say::number(world.host().config().index_interval_bytes),
        "segment_limit" => say::number(world.host().config().segment_bytes),
        "segments" => say::count(segments.len(), "segment"),
        "batches" => say::count(sum(|segment| segment.batches.len()), "batch"),
        "entries" => say::count(sum(|segment| segment.entries.len()), "entry"),
        "times" => say::count(sum(|segment| segment.times.len()), "entry"),
        "bytes" => say::number(segments.iter().map(|segment| segment.log_bytes).sum::<u64>()),
        "first" => segments.first()?.file(FileKind::Log),
        "start" => world.host().log()?.log_start().to_string(),
        "end" => world.host().log()?.log_end().to_string(),
        "now" => say::time(world.host().now),
        "keep_ms" => say::number(world.host().config().retention_ms?),
        "keep_bytes" => say::number(world.host().config().retention_bytes?),
        "greatest" => say::time(
            segments
                .iter()
                .flat_map(|segment| &segment.batches)
                .map(|batch| batch.max_timestamp_ms)
                .max()?,
        ),
        "records" => say::number(world.host().log()?.log_end()),
        _ => return None,
    })
}

fn find(world: &World, finding: &Finding, field: &str) -> Option<String> {
    let lookup = finding.lookup();
    let found = lookup.scanned.last()?;
    let segment = world
        .segments()
        .iter()
        .find(|segment| segment.base == lookup.segment)?;
    Some(match field {
        "target" => lookup.target.to_string(),
        "segment" => segment.file(FileKind::Log),
        "next" => world
            .segments()
            .iter()
            .find(|other| other.base > segment.base)
            .map_or_else(|| "none".to_owned(), |next| next.base.to_string()),
        "index" => segment.file(FileKind::OffsetIndex),
        "halvings" => say::count(lookup.halvings.len(), "look"),
        "entries" => say::count(segment.entries.len(), "entry"),
        "entry" => lookup.entry.map_or_else(
            || "none".to_owned(),
            |entry| full_offset(segment.base, entry).to_string(),
        ),
        "start" => say::number(start_byte(lookup.entry)),
        "headers" => say::number(lookup.scanned.len() as u64),
        "header_count" => say::count(lookup.scanned.len(), "header"),
        "batches" => say::number(segment.batches.len() as u64),
        "batches_before" => say::number(
            segment
                .batches
                .iter()
                .filter(|batch| batch.last < lookup.target)
                .count() as u64
                + 1,
        ),
        "base" => found.base_offset.to_string(),
        "last" => found.last_offset.to_string(),
        "bytes" => say::number(finding.bytes_needed()),
        _ => return None,
    })
}

fn time(finding: &Finding, field: &str) -> Option<String> {
    let time = finding.time()?;
    let found = time.found?;
    Some(match field {
        "target" => say::time(time.target_ms),
        "entry" => time
            .entry
            .map_or_else(|| "none".to_owned(), |entry| say::time(entry.timestamp_ms)),
        "from" => time.offsets.target.to_string(),
        "found" => found.offset.to_string(),
        "at" => say::time(found.timestamp_ms),
        _ => return None,
    })
}

/// What is left, and what a start will find: the files as they are now.
fn disk(world: &World, field: &str) -> Option<String> {
    let last = world.segments().last()?;
    let after_whole = last.batches.last().map_or(last.base, |batch| batch.last + 1);
    let lost = world.lost.iter().map(|(_, batch)| batch.last + 1).max();
    Some(match field {
        "recovery_point" => world.host().checkpointed_recovery_point().to_string(),
        "whole_end" => after_whole.to_string(),
        "old_end" => lost.unwrap_or(after_whole).to_string(),
        "lost" => say::count(world.lost.len(), "batch"),
        "torn_bytes" => say::number(last.torn.as_ref().map_or(0, |torn| torn.bytes)),
        _ => return None,
    })
}

/// The last start.
fn restart(world: &World, field: &str) -> Option<String> {
    let restart = world.restart.as_ref()?;
    Some(match field {
        "point" => restart.recovery_point.to_string(),
        "checked" => say::number(restart.checked_bytes),
        "cut" => say::number(restart.cut_bytes),
        "why" => restart
            .cut_why
            .clone()
            .unwrap_or_else(|| "nothing was cut".to_owned()),
        "end" => restart.log_end.to_string(),
        _ => return None,
    })
}
