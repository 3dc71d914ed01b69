//! One file: what programs see, what the medium holds, and the writes between the two.

use bytes::Bytes;

use super::content::Content;
use crate::disk::Pieces;

/// A change that the medium may not have taken yet.
#[derive(Clone, Debug)]
pub(super) enum Write {
    Bytes { at: u64, bufs: Pieces },
    Cut { len: u64 },
}

#[derive(Clone, Debug, Default)]
pub(super) struct File {
    pub(super) live: Content,
    pub(super) synced: Content,
    /// Oldest first: `synced` with all of them done is `live`.
    pub(super) unsynced: Vec<Write>,
}

impl File {
    pub(super) fn synced(content: Content) -> Self {
        Self {
            live: content.clone(),
            synced: content,
            unsynced: Vec::new(),
        }
    }

    pub(super) fn write(&mut self, write: Write) {
        write.apply(&mut self.live);
        self.unsynced.push(write);
    }

    pub(super) fn sync(&mut self) {
        self.synced = self.live.clone();
        self.unsynced.clear();
    }
}

impl Write {
    pub(super) fn apply(&self, content: &mut Content) {
        match self {
            Write::Bytes { at, bufs } => {
                let mut at = *at;
                for piece in bufs {
                    content.write(at, piece);
                    at += piece.len() as u64;
                }
            }
            Write::Cut { len } => content.cut(*len),
        }
    }
}

/// The first `bytes` bytes of the pieces.
pub(super) fn first_bytes(bufs: &Pieces, bytes: u64) -> Pieces {
    let mut left = bytes;
    let mut take = |piece: &Bytes| {
        let len = left.min(piece.len() as u64);
        left -= len;
        piece.slice(..len as usize)
    };
    bufs.iter().map(&mut take).collect()
}
