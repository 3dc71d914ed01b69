//! Producers and aborted transactions, as the files found tell them.

use std::ops::Range;
use std::sync::Arc;

use super::super::names::{FileKind, segment_file};
use super::super::producer_state::ProducerStateManager;
use super::super::scan::{LogFile, replay};
use super::super::transaction_index::TransactionIndex;
use super::super::transactions::{read_aborted, read_snapshot};
use super::{Repair, Run};
use crate::error::DiskError;
use crate::types::Offset;

impl Run<'_> {
    pub(super) fn read_aborted(&self, base: Offset) -> Result<TransactionIndex, DiskError> {
        match self.files.get(&(base, FileKind::TransactionIndex)) {
            Some(path) => read_aborted(self.disk, self.job.dir, path, base),
            None => Ok(TransactionIndex::default()),
        }
    }

    pub(super) fn replace_aborted(
        &mut self,
        base: Offset,
        aborted: &TransactionIndex,
    ) -> Result<(), DiskError> {
        match self.files.get(&(base, FileKind::TransactionIndex)) {
            None if aborted.entries().is_empty() => Ok(()),
            Some(path) if aborted.entries().is_empty() => {
                self.found.repairs.push(Repair::Unlink(path.clone()));
                Ok(())
            }
            _ => self.replace_if_other(base, FileKind::TransactionIndex, aborted.to_bytes().to_vec()),
        }
    }

    /// Brings the state of producers to where `upto` begins. The first time it comes from the newest
    /// snapshot that is not beyond, and the batches since; then it has followed what was read, and a
    /// snapshot is due, as at a roll.
    pub(super) fn load_producers(&mut self, upto: Offset) -> Result<(), DiskError> {
        if self.producers_loaded {
            self.found.producers.advance_to(upto);
            if let Some((offset, bytes)) = self.found.producers.take_snapshot() {
                let path = segment_file(&self.job.path, offset, FileKind::ProducerSnapshot);
                self.found.repairs.push(Repair::Replace(path, bytes));
            }
            return Ok(());
        }
        self.producers_loaded = true;
        let bases = self.bases();
        let log_start = self.job.log_start.max(bases.first().copied().unwrap_or(0));
        let upto = upto.max(log_start);
        let snapshots = self
            .files
            .keys()
            .filter(|(_, kind)| *kind == FileKind::ProducerSnapshot);
        let mut producers =
            ProducerStateManager::with_snapshots(log_start, snapshots.map(|(offset, _)| *offset));
        let mut stale = producers.remove_stray_snapshots(bases);
        let reloaded = producers.truncate_and_reload(
            log_start,
            upto,
            self.job.now_ms,
            self.job.producer_expiration_ms,
            &mut |offset| read_snapshot(self.disk, self.job.dir, &self.job.path, offset),
        );
        stale.extend(reloaded.deleted);
        for offset in stale {
            let path = segment_file(&self.job.path, offset, FileKind::ProducerSnapshot);
            self.found.repairs.push(Repair::Unlink(path));
        }
        if let Some(from) = reloaded.replay_from {
            self.replay(from..upto, &mut producers)?;
        }
        producers.advance_to(upto);
        self.found.producers = producers;
        Ok(())
    }

    pub(super) fn replay(
        &self,
        offsets: Range<Offset>,
        producers: &mut ProducerStateManager,
    ) -> Result<(), DiskError> {
        let bases = self.bases();
        let after = bases.partition_point(|base| *base <= offsets.start);
        for base in &bases[after.saturating_sub(1)..] {
            if *base >= offsets.end {
                break;
            }
            let (dir, path) = (self.job.dir, &self.files[&(*base, FileKind::Log)]);
            let bytes = self.disk.len(dir, path)?;
            replay(
                self.disk,
                LogFile { dir, path, bytes },
                offsets.clone(),
                producers,
            )?;
        }
        Ok(())
    }
}

pub(super) fn some_aborted(aborted: TransactionIndex) -> Option<Arc<TransactionIndex>> {
    (!aborted.entries().is_empty()).then(|| Arc::new(aborted))
}
