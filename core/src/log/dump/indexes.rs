//! `.index` and `.timeindex`: their entries, each compared with the `.log` beside them.

use crate::error::DiskError;
use crate::log::offset_index::{self, OffsetEntry};
use crate::log::time_index::{self, TimeEntry};
use crate::types::{Millis, NO_TIMESTAMP, Offset};

use super::reader::LogReader;
use super::{Dump, DumpError, base_offset, corrupt, sibling};

impl Dump<'_> {
    pub(super) fn offset_index(&mut self, path: &str, absolute: &str) -> Result<(), DumpError> {
        let base = base_offset(path)?;
        let log = sibling(path, ".log");
        LogReader::new(self.disk, self.dir, &log, 0, 0)?;
        let bytes = self.whole_file(path)?;
        let entries = offset_entries(&bytes, base);
        if entries.is_empty() {
            self.out(format!("{path} is empty."));
            return Ok(());
        }
        if self.options.index_sanity_check {
            check_offsets(path, base, bytes.len(), &entries)?;
            self.out(format!("{path} passed sanity check."));
            return Ok(());
        }
        for (i, &(offset, position)) in entries.iter().enumerate() {
            // After a crash there may be many zero entries: the file was as long as it may become.
            if offset == base && i > 0 {
                return Ok(());
            }
            let max = self.options.max_message_bytes;
            let mut reader = LogReader::new(self.disk, self.dir, &log, u64::from(position), max)?;
            let batch = reader.next()?.ok_or_else(|| {
                let why = format!("no whole batch at byte {position}, where the index points");
                corrupt(&log, why)
            })?;
            let last_offset = batch.header.last_offset();
            if last_offset != offset {
                self.problems.index_mismatch(absolute, offset, last_offset);
            }
            if !self.options.verify_index_only {
                self.out(format!("offset: {offset} position: {position}"));
            }
        }
        Ok(())
    }

    pub(super) fn time_index(&mut self, path: &str, absolute: &str) -> Result<(), DumpError> {
        let base = base_offset(path)?;
        let log = sibling(path, ".log");
        LogReader::new(self.disk, self.dir, &log, 0, 0)?;
        let offsets = match self.whole_file(&sibling(path, ".index")) {
            Ok(bytes) => offset_entries(&bytes, base),
            Err(DumpError::Disk {
                error: DiskError::NotFound,
                ..
            }) => Vec::new(),
            Err(other) => return Err(other),
        };
        let bytes = self.whole_file(path)?;
        let entries = time_entries(&bytes, base);
        if self.options.index_sanity_check {
            check_times(path, base, bytes.len(), &entries)?;
            self.out(format!("{path} passed sanity check."));
            return Ok(());
        }
        let mut before = NO_TIMESTAMP;
        for (i, &(timestamp, offset)) in entries.iter().enumerate() {
            if offset == base && i > 0 {
                return Ok(());
            }
            let known = offsets.partition_point(|&(indexed, _)| indexed <= offset);
            let from = known.checked_sub(1).map_or(0, |at| offsets[at].1);
            self.compare_time(absolute, &log, from, (timestamp, offset), before)?;
            if !self.options.verify_index_only {
                self.out(format!("timestamp: {timestamp} offset: {offset}"));
            }
            before = timestamp;
        }
        Ok(())
    }

    /// Looks for the batch that ends with the entry's offset, from byte `from` on.
    fn compare_time(
        &mut self,
        absolute: &str,
        log: &str,
        from: u32,
        (timestamp, offset): (Millis, Offset),
        before: Millis,
    ) -> Result<(), DumpError> {
        let mut reader = LogReader::new(self.disk, self.dir, log, u64::from(from), u32::MAX)?;
        let batch = loop {
            match reader.next()? {
                None => {
                    self.problems.offset_not_found(absolute, offset, -1);
                    return Ok(());
                }
                Some(batch) if batch.header.last_offset() >= offset => break batch,
                Some(_) => {}
            }
        };
        let last_offset = batch.header.last_offset();
        if last_offset != offset {
            self.problems.offset_not_found(absolute, offset, last_offset);
            return Ok(());
        }
        let limit = self.options.max_decompressed_bytes;
        let largest = batch
            .records(self.options.decompress, limit)
            .and_then(|records| {
                records
                    .map(|r| r.map(|r| r.timestamp))
                    .try_fold(NO_TIMESTAMP, |largest, timestamp| {
                        timestamp.map(|timestamp| largest.max(timestamp))
                    })
            })
            .map_err(|why| corrupt(log, why.to_string()))?;
        if largest != timestamp {
            self.problems.time_mismatch(absolute, timestamp, largest);
        }
        if before >= timestamp {
            self.problems.time_out_of_order(absolute, timestamp, before);
        }
        Ok(())
    }
}

/// Offsets in full with their positions; a rest that is no whole entry is left out.
fn offset_entries(bytes: &[u8], base: Offset) -> Vec<(Offset, u32)> {
    let (entries, _) = bytes.as_chunks();
    entries
        .iter()
        .map(|&entry| OffsetEntry::from_bytes(entry))
        .map(|entry| (base.wrapping_add(i64::from(entry.relative)), entry.position))
        .collect()
}

fn time_entries(bytes: &[u8], base: Offset) -> Vec<(Millis, Offset)> {
    let (entries, _) = bytes.as_chunks();
    entries
        .iter()
        .map(|&entry| TimeEntry::from_bytes(entry))
        .map(|entry| (entry.timestamp_ms, base.wrapping_add(i64::from(entry.relative))))
        .collect()
}

/// What a broker checks of an index when it starts (`OffsetIndex.sanityCheck`).
fn check_offsets(path: &str, base: Offset, len: usize, entries: &[(Offset, u32)]) -> Result<(), DumpError> {
    check_len(path, len, offset_index::ENTRY_BYTES)?;
    match entries.last() {
        Some(&(last, _)) if last < base => Err(corrupt(
            path,
            format!("its last offset {last} is below its base offset {base}"),
        )),
        _ => Ok(()),
    }
}

/// `TimeIndex.sanityCheck`.
fn check_times(path: &str, base: Offset, len: usize, entries: &[(Millis, Offset)]) -> Result<(), DumpError> {
    check_len(path, len, time_index::ENTRY_BYTES)?;
    let (Some(&(first, _)), Some(&(last, offset))) = (entries.first(), entries.last()) else {
        return Ok(());
    };
    if last < first {
        let why = format!("its last timestamp {last} is below its first, {first}");
        return Err(corrupt(path, why));
    }
    if offset < base {
        let why = format!("its last offset {offset} is below its base offset {base}");
        return Err(corrupt(path, why));
    }
    Ok(())
}

fn check_len(path: &str, len: usize, entry_bytes: usize) -> Result<(), DumpError> {
    if len.is_multiple_of(entry_bytes) {
        return Ok(());
    }
    let why = format!("its {len} bytes are no whole number of {entry_bytes}-byte entries");
    Err(corrupt(path, why))
}
