//! For tests of this layer: the two files as operations leave them.

use crate::disk::DiskOp;

use super::snapshot::{Damaged, Recovered, recover};

/// The two files.
#[derive(Clone, Debug, Default)]
pub(super) struct Files {
    pub log: Vec<u8>,
    pub snapshot: Vec<u8>,
}

impl Files {
    /// Does one operation, of an append only the first `part` bytes.
    pub fn apply(&mut self, op: &DiskOp, part: usize) {
        match op {
            DiskOp::Append { at, bufs, .. } => {
                let bytes = bufs.concat();
                self.log.truncate(*at as usize);
                assert_eq!(self.log.len() as u64, *at, "no hole");
                self.log.extend_from_slice(&bytes[..part.min(bytes.len())]);
            }
            DiskOp::Truncate { len, .. } => self.log.truncate(*len as usize),
            DiskOp::Replace { bytes, .. } => self.snapshot = bytes.to_vec(),
            DiskOp::Open { .. } | DiskOp::Sync { .. } | DiskOp::SyncDirectory { .. } => {}
            other => panic!("unexpected {other:?}"),
        }
    }

    pub fn recover(&self) -> Result<Recovered, Damaged> {
        recover(&self.snapshot, &self.log)
    }

    /// In how many ways a kill may interrupt the operation.
    pub fn steps(op: &DiskOp) -> usize {
        match op {
            DiskOp::Append { bufs, .. } => bufs.concat().len(),
            _ => 1,
        }
    }
}
