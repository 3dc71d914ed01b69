//! The bytes of one file, in chunks that clones share until one of them writes.

use std::sync::Arc;

use bytes::Bytes;

/// Every chunk but the last is full.
const CHUNK_BYTES: usize = 16 * 1024;

#[derive(Clone, Debug, Default)]
pub(super) struct Content {
    chunks: Vec<Arc<Vec<u8>>>,
    len: u64,
}

impl Content {
    pub(super) fn from_bytes(bytes: &[u8]) -> Self {
        let mut content = Self::default();
        content.write(0, bytes);
        content
    }

    pub(super) fn len(&self) -> u64 {
        self.len
    }

    /// Up to `len` bytes from byte `at`; fewer only at the end.
    pub(super) fn read(&self, at: u64, len: usize) -> Bytes {
        let end = self.len.min(at.saturating_add(len as u64));
        if at >= end {
            return Bytes::new();
        }
        let mut bytes = Vec::with_capacity((end - at) as usize);
        let mut from = at;
        while from < end {
            let (chunk, within) = place(from);
            let upto = (within + (end - from) as usize).min(CHUNK_BYTES);
            bytes.extend_from_slice(&self.chunks[chunk][within..upto]);
            from += (upto - within) as u64;
        }
        bytes.into()
    }

    /// Overwrites from byte `at`, which is at most the length, and grows as needed.
    pub(super) fn write(&mut self, at: u64, mut bytes: &[u8]) {
        debug_assert!(at <= self.len, "a write beyond the end");
        let mut from = at;
        while !bytes.is_empty() {
            let (chunk, within) = place(from);
            if chunk == self.chunks.len() {
                self.chunks.push(Arc::default());
            }
            let held = Arc::make_mut(&mut self.chunks[chunk]);
            let (now, later) = bytes.split_at(bytes.len().min(CHUNK_BYTES - within));
            let over = now.len().min(held.len() - within);
            held[within..within + over].copy_from_slice(&now[..over]);
            held.extend_from_slice(&now[over..]);
            from += now.len() as u64;
            bytes = later;
        }
        self.len = self.len.max(from);
    }

    /// Forgets everything from byte `len` on.
    pub(super) fn cut(&mut self, len: u64) {
        if len >= self.len {
            return;
        }
        let (chunk, within) = place(len);
        self.chunks.truncate(chunk + usize::from(within > 0));
        if within > 0 {
            Arc::make_mut(&mut self.chunks[chunk]).truncate(within);
        }
        self.len = len;
    }
}

fn place(at: u64) -> (usize, usize) {
    (
        (at / CHUNK_BYTES as u64) as usize,
        (at % CHUNK_BYTES as u64) as usize,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_cuts_and_reads_behave_like_one_plain_vector() {
        let mut rng = crate::types::Rng::new(3);
        let (mut content, mut plain) = (Content::default(), Vec::new());
        for _ in 0..300 {
            let at = rng.below(plain.len() as u64 + 1);
            if rng.below(4) == 0 {
                content.cut(at);
                plain.truncate(at as usize);
            } else {
                let bytes = vec![rng.next_u64() as u8; rng.below(40_000) as usize];
                content.write(at, &bytes);
                let end = (at as usize + bytes.len()).max(plain.len());
                plain.resize(end, 0);
                plain[at as usize..at as usize + bytes.len()].copy_from_slice(&bytes);
            }
            assert_eq!(content.len(), plain.len() as u64);
            let from = rng.below(plain.len() as u64 + 1) as usize;
            assert_eq!(
                content.read(from as u64, 20_000)[..],
                plain[from..plain.len().min(from + 20_000)]
            );
        }
        assert_eq!(content.read(0, usize::MAX)[..], plain[..]);
    }

    #[test]
    fn a_clone_keeps_what_the_original_overwrites() {
        let mut first = Content::from_bytes(&[1; 40_000]);
        let second = first.clone();
        first.write(10, &[2; 20_000]);
        first.cut(100);
        assert_eq!(second.read(0, usize::MAX)[..], [1; 40_000]);
    }
}
