//! Buffers for large frames, used again and again: fresh memory costs a page fault for each page,
//! which for a frame of 1 MiB is more than receiving it.
//!
//! A buffer grows with the bytes that arrive, never by what a length claims; only one that is
//! already lying here is handed out whole.

use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;

/// Frames below this length are cut out of a shared buffer instead.
pub const LARGE_BYTES: usize = 32 << 10;
/// Larger buffers are not kept.
const LARGEST_KEPT_BYTES: usize = 4 << 20;
/// All kept buffers together.
const KEPT_BYTES: usize = 12 << 20;
/// The first room for a large frame whose bytes are still to come.
const FIRST_BYTES: usize = 64 << 10;

#[derive(Debug, Default)]
pub struct Buffers {
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    bytes: usize,
    buffers: Vec<Vec<u8>>,
}

/// A buffer that a large frame is received into.
#[derive(Debug)]
pub struct FrameBuffer {
    bytes: Vec<u8>,
    home: Arc<Buffers>,
}

impl Buffers {
    /// A buffer for a frame of `length` bytes.
    pub fn take(self: &Arc<Self>, length: usize) -> FrameBuffer {
        let mut kept = self.kept.lock();
        let fitting = kept.buffers.iter().rposition(|b| b.capacity() >= length);
        let bytes = fitting.map(|at| kept.buffers.swap_remove(at)).unwrap_or_default();
        kept.bytes -= bytes.capacity();
        FrameBuffer {
            bytes,
            home: Arc::clone(self),
        }
    }

    fn put(&self, mut bytes: Vec<u8>) {
        let mut kept = self.kept.lock();
        let capacity = bytes.capacity();
        if (LARGE_BYTES..=LARGEST_KEPT_BYTES).contains(&capacity) && kept.bytes + capacity <= KEPT_BYTES {
            bytes.clear();
            kept.bytes += capacity;
            kept.buffers.push(bytes);
        }
    }
}

impl FrameBuffer {
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Makes room for the next bytes of a frame of `length`; answers how many bytes may come now.
    pub fn make_room(&mut self, length: usize) -> usize {
        let filled = self.bytes.len();
        if self.bytes.capacity() == filled {
            // Whole size classes, so that frames of about one length fit each other's buffers.
            let class = length.next_power_of_two().min(length.max(LARGEST_KEPT_BYTES));
            let target = class.min((filled * 2).max(FIRST_BYTES));
            self.bytes.reserve_exact(target - filled);
        }
        self.bytes.capacity().min(length) - filled
    }

    pub fn bytes_mut(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// The frame; the buffer comes back when the last slice of it is dropped.
    pub fn freeze(self) -> Bytes {
        Bytes::from_owner(self)
    }
}

impl AsRef<[u8]> for FrameBuffer {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for FrameBuffer {
    fn drop(&mut self) {
        self.home.put(std::mem::take(&mut self.bytes));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_grows_with_what_arrives_and_comes_back() {
        let buffers = Arc::new(Buffers::default());
        let length = 1 << 20;
        let mut frame = buffers.take(length);
        assert_eq!(frame.make_room(length), FIRST_BYTES, "not what the length claims");
        while frame.len() < length {
            let room = frame.make_room(length);
            let filled = frame.len();
            frame.bytes_mut().resize(filled + room, 7);
            assert!(frame.bytes.capacity() <= (filled + room).next_power_of_two());
        }
        let bytes = frame.freeze();
        let tail = bytes.slice(100..);
        drop(bytes);
        assert_eq!(buffers.kept.lock().bytes, 0, "a slice still lives");
        drop(tail);
        assert_eq!(buffers.kept.lock().bytes, length);
        let mut again = buffers.take(length - 5);
        assert_eq!(again.make_room(length - 5), length - 5);
        assert_eq!(buffers.kept.lock().bytes, 0);
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let buffers = Arc::new(Buffers::default());
        let frames: Vec<_> = (0..100)
            .map(|_| {
                let mut frame = buffers.take(1 << 20);
                frame.bytes_mut().resize(1 << 20, 0);
                frame
            })
            .collect();
        drop(frames);
        assert!(buffers.kept.lock().bytes <= KEPT_BYTES);
    }
}
