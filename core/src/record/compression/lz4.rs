//! Lz4 in its frame format, as Kafka's clients write and read it: blocks of up to 64 KiB, each
//! independent of the others, no checksum of the content (`Lz4BlockOutputStream`).
//!
//! The Java client cannot read a frame whose blocks lean on each other, so such a frame is refused
//! here, as Kafka's broker refuses it, rather than stored for consumers to stumble over.

use std::io::Write;

use lz4_flex::frame::{BlockMode, BlockSize, FrameDecoder, FrameEncoder, FrameInfo};

use super::{Codec, InvalidCompression, read_bounded};

const MAGIC: [u8; 4] = 0x184d_2204u32.to_le_bytes();
/// In the byte after the magic: version 01, and the flag for independent blocks.
const VERSION_MASK: u8 = 0xc0;
const VERSION: u8 = 0x40;
const INDEPENDENT: u8 = 0x20;

pub(super) fn compress(input: &[u8], out: &mut Vec<u8>) {
    let info = FrameInfo::new()
        .block_size(BlockSize::Max64KB)
        .block_mode(BlockMode::Independent);
    let mut encoder = FrameEncoder::with_frame_info(info, out);
    // Writing to a vector cannot fail, and neither can the encoder.
    let _ = encoder.write_all(input);
    let _ = encoder.try_finish();
}

pub(super) fn decompress(input: &[u8], limit: usize, out: &mut Vec<u8>) -> Result<(), InvalidCompression> {
    let flags = match input.split_first_chunk::<4>() {
        Some((&MAGIC, [flags, ..])) => *flags,
        _ => return Err(damaged("it does not begin as an lz4 frame")),
    };
    if flags & VERSION_MASK != VERSION {
        return Err(damaged("the frame's version is not known"));
    }
    if flags & INDEPENDENT == 0 {
        return Err(damaged("its blocks depend on each other"));
    }
    read_bounded(Codec::Lz4, FrameDecoder::new(input), limit, out)
}

fn damaged(why: &str) -> InvalidCompression {
    InvalidCompression::damaged(Codec::Lz4, why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_frame_header_is_the_java_one() {
        let mut out = Vec::new();
        compress(b"a", &mut out);
        // Magic, version 1 with independent blocks, 64 KiB blocks, and the header's checksum.
        assert_eq!(out[..7], [0x04, 0x22, 0x4d, 0x18, 0x60, 0x40, 0x82]);
    }

    #[test]
    fn dependent_blocks_are_refused() {
        let info = FrameInfo::new().block_mode(BlockMode::Linked);
        let mut encoder = FrameEncoder::with_frame_info(info, Vec::new());
        encoder.write_all(b"some data").unwrap();
        let packed = encoder.finish().unwrap();
        assert!(decompress(&packed, 100, &mut Vec::new()).is_err());
    }
}
