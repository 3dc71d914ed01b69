//! Lz4 in its frame format, as Kafka's clients write and read it: blocks of up to 64 KiB, each
//! independent of the others, no checksum of the content (`Lz4BlockOutputStream`).
//!
//! The Java client cannot read a frame whose blocks lean on each other, so such a frame is refused
//! here, as Kafka's broker refuses it, rather than stored for consumers to stumble over.

use lz4_flex::block::{compress_into, get_maximum_output_size};
use lz4_flex::frame::FrameDecoder;

use super::{Codec, InvalidCompression, read_bounded};

const MAGIC: [u8; 4] = 0x184d_2204u32.to_le_bytes();
/// In the byte after the magic: version 01, and the flag for independent blocks.
const VERSION_MASK: u8 = 0xc0;
const VERSION: u8 = 0x40;
const INDEPENDENT: u8 = 0x20;

/// Magic, version 1 with independent blocks of up to 64 KiB, and the header's checksum.
const HEADER: [u8; 7] = [0x04, 0x22, 0x4d, 0x18, 0x60, 0x40, 0x82];
/// What goes into one block. For inputs of up to this size the crate looks repetitions up by four bytes on
/// every machine; for larger ones, and in frames that it writes itself, by five where words have 64 bits,
/// and then a browser's bytes would differ from a server's (rule R4).
const BLOCK_BYTES: usize = u16::MAX as usize - 1;
/// Marks the length of a block that would not shrink.
const AS_IT_IS: u32 = 1 << 31;

pub(super) fn compress(input: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&HEADER);
    let mut room = vec![0; get_maximum_output_size(input.len().min(BLOCK_BYTES))];
    for block in input.chunks(BLOCK_BYTES) {
        let (mark, bytes) = match compress_into(block, &mut room) {
            Ok(length) if length < block.len() => (0, &room[..length]),
            _ => (AS_IT_IS, block),
        };
        out.extend_from_slice(&(bytes.len() as u32 | mark).to_le_bytes());
        out.extend_from_slice(bytes);
    }
    // A block of no length ends the frame.
    out.extend_from_slice(&0u32.to_le_bytes());
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
    use std::io::Write;

    use lz4_flex::frame::{BlockMode, FrameEncoder, FrameInfo};

    use super::*;
    use crate::record::crc::crc32c;

    #[test]
    fn the_frame_header_is_the_java_one() {
        let mut out = Vec::new();
        compress(b"a", &mut out);
        // Magic, version 1 with independent blocks, 64 KiB blocks, and the header's checksum.
        assert_eq!(out[..7], [0x04, 0x22, 0x4d, 0x18, 0x60, 0x40, 0x82]);
    }

    /// Few letters in no order: four of them come again much more often than five.
    fn text(bytes: usize) -> Vec<u8> {
        let mut state = 1_u32;
        let mut letter = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            b'a' + (state >> 24) as u8 % 5
        };
        (0..bytes).map(|_| letter()).collect()
    }

    #[test]
    fn what_is_compressed_comes_back_at_every_border_of_blocks() {
        for bytes in [
            0,
            1,
            BLOCK_BYTES - 1,
            BLOCK_BYTES,
            BLOCK_BYTES + 1,
            3 * BLOCK_BYTES,
        ] {
            let (input, mut out, mut back) = (text(bytes), Vec::new(), Vec::new());
            compress(&input, &mut out);
            decompress(&out, bytes, &mut back).unwrap();
            assert!(back == input, "{bytes} bytes");
        }
    }

    #[test]
    fn the_bytes_are_the_same_whatever_a_word_of_the_machine_is() {
        let mut out = Vec::new();
        compress(&text(5000), &mut out);
        assert_eq!((out.len(), crc32c(&out)), (3676, 3_289_792_384));
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
