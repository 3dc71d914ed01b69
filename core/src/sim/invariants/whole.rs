//! Checks that read every disk.

use super::ghost::Ghost;
use super::scan::{self, Mark, Segment};
use super::*;
use crate::ordered::OrderedMap;
use crate::types::{BrokerId, LeaderEpoch, Offset, TopicPartition};

pub(super) fn check(ghost: &Ghost, world: &World) -> Result<(), Broken> {
    for node in world.brokers() {
        let Some(broker) = &node.broker else { continue };
        for replica in broker.replicas() {
            let partition = &replica.partition;
            let mut segments = scan::segments(&node.disk, partition);
            // The files of the active segment's indexes follow behind what is in memory.
            if let (Some(last), Some(active)) = (segments.last_mut(), broker.active_indexes(partition))
                && last.base == active.base
            {
                (last.index, last.times) = (active.offsets, active.times);
            }
            indexes(node.id, partition, &segments)?;
            times(node.id, partition, &segments)?;
            let marks: Vec<&Mark> = segments.iter().flat_map(|segment| &segment.marks).collect();
            let live = |mark: &&&Mark| mark.last >= replica.log_start && mark.last < replica.log_end;
            let marks: Vec<&Mark> = marks.iter().filter(live).copied().collect();
            as_written(
                ghost,
                node.id,
                partition,
                &marks,
                replica.log_start,
                replica.log_end,
            )?;
            epochs(node.id, partition, &marks, &replica.epochs, replica.log_end)?;
            sequences(node.id, partition, &marks)?;
        }
    }
    Ok(())
}

fn indexes(broker: BrokerId, partition: &TopicPartition, segments: &[Segment]) -> Result<(), Broken> {
    for segment in segments {
        let whose = format!("broker {broker}, {partition}, segment {}", segment.base);
        if !segment
            .index
            .is_sorted_by(|one, other| one.0 < other.0 && one.1 < other.1)
        {
            let why = format!("{whose}: entries do not increase");
            return Err(Broken::new(INDEX_POINTS_RIGHT, why));
        }
        for &(offset, position) in &segment.index {
            let at = segment.marks.iter().find(|mark| mark.position == position);
            // An entry is written before its batch.
            let ahead = segment.marks.last().is_none_or(|last| position > last.position);
            if !ahead && !at.is_some_and(|mark| mark.base <= offset && offset <= mark.last) {
                let why = format!("{whose}: the entry of offset {offset} points to byte {position}");
                return Err(Broken::new(INDEX_POINTS_RIGHT, why));
            }
        }
    }
    Ok(())
}

fn times(broker: BrokerId, partition: &TopicPartition, segments: &[Segment]) -> Result<(), Broken> {
    for segment in segments {
        let broken = |why: String| {
            let whose = format!("broker {broker}, {partition}, segment {}", segment.base);
            Err(Broken::new(INDEX_POINTS_RIGHT, format!("{whose}: {why}")))
        };
        let entries = &segment.times;
        if !entries.is_sorted_by(|one, other| one.0 < other.0 && one.1 < other.1) {
            return broken("time entries do not increase".to_owned());
        }
        for &(time_ms, offset) in entries {
            // An entry is written before its batch.
            let ahead = segment.marks.last().is_none_or(|last| offset > last.last);
            let first = segment.marks.iter().find(|mark| mark.max_timestamp_ms >= time_ms);
            let right = first.is_some_and(|mark| {
                mark.max_timestamp_ms == time_ms && mark.base <= offset && offset <= mark.last
            });
            if !ahead && !right {
                return broken(format!("the entry of time {time_ms} names offset {offset}"));
            }
        }
    }
    Ok(())
}

fn as_written(
    ghost: &Ghost,
    broker: BrokerId,
    partition: &TopicPartition,
    marks: &[&Mark],
    log_start: Offset,
    log_end: Offset,
) -> Result<(), Broken> {
    let Some(copy) = ghost.copies.get(&(broker, partition.clone())) else {
        return Ok(());
    };
    let expected = copy
        .marks
        .iter()
        .filter(|mark| mark.last >= log_start && mark.last < log_end);
    let same = expected.clone().count() == marks.len() && expected.zip(marks).all(|(a, b)| a.is_same(b));
    if same {
        return Ok(());
    }
    let why = format!("broker {broker}, {partition}: the files differ from what was written");
    Err(Broken::new(DISK_AS_WRITTEN, why))
}

fn epochs(
    broker: BrokerId,
    partition: &TopicPartition,
    marks: &[&Mark],
    cache: &[(LeaderEpoch, Offset)],
    log_end: Offset,
) -> Result<(), Broken> {
    let mut rebuilt: Vec<(LeaderEpoch, Offset)> = Vec::new();
    for mark in marks {
        if rebuilt.last().is_none_or(|(epoch, _)| *epoch < mark.epoch) {
            rebuilt.push((mark.epoch, mark.base));
        }
    }
    // An epoch that has no record yet begins at the end.
    let used: Vec<_> = cache
        .iter()
        .filter(|(_, start)| *start < log_end)
        .copied()
        .collect();
    // The first one may have begun below what is left of the log.
    let same = used.len() == rebuilt.len()
        && used
            .iter()
            .zip(&rebuilt)
            .enumerate()
            .all(|(at, (a, b))| a == b || (at == 0 && a.0 == b.0));
    if same {
        return Ok(());
    }
    let why =
        format!("broker {broker}, {partition}: cache {cache:?}, batches {rebuilt:?}, log end {log_end}");
    Err(Broken::new(EPOCH_CACHE_TRUE, why))
}

fn sequences(broker: BrokerId, partition: &TopicPartition, marks: &[&Mark]) -> Result<(), Broken> {
    let mut last = OrderedMap::new();
    for mark in marks {
        let Some((id, epoch, first, end)) = mark.producer else {
            continue;
        };
        if let Some((known, before)) = last.insert(id, (epoch, end))
            && known == epoch
            && first != before.wrapping_add(1) & i32::MAX
        {
            let why = format!(
                "broker {broker}, {partition}, offset {}: producer {id} goes from sequence {before} to {first}",
                mark.base
            );
            return Err(Broken::new(SEQUENCES_CONTIGUOUS, why));
        }
    }
    Ok(())
}
