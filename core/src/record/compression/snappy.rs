//! Snappy as Kafka has it: the blocks of the snappy format in the frame of the `xerial` Java library
//! (not the framing that snappy itself defines later).
//!
//! ```text
//! 0x82 "SNAPPY" 0x00   8
//! version 1            4   big endian, as all here
//! oldest reader 1      4
//! then per block: compressed length 4, snappy block (up to 32 KiB of data)
//! ```
//!
//! Some clients send one bare snappy block without the frame; Kafka reads both.

use super::{Codec, InvalidCompression};

const MAGIC: [u8; 8] = [0x82, b'S', b'N', b'A', b'P', b'P', b'Y', 0];
const HEADER_BYTES: usize = 16;
/// What the Java library packs into one block.
const BLOCK_BYTES: usize = 32 * 1024;

pub(super) fn compress(input: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&MAGIC);
    out.extend_from_slice(&1i32.to_be_bytes());
    out.extend_from_slice(&1i32.to_be_bytes());
    let mut encoder = snap::raw::Encoder::new();
    for block in input.chunks(BLOCK_BYTES) {
        let length_at = out.len();
        let from = length_at + 4;
        out.resize(from + snap::raw::max_compress_len(block.len()), 0);
        // It fails only if the space is too small or the block over 4 GiB.
        let length = encoder.compress(block, &mut out[from..]).unwrap_or(0);
        out.truncate(from + length);
        out[length_at..from].copy_from_slice(&(length as u32).to_be_bytes());
    }
}

pub(super) fn decompress(input: &[u8], limit: usize, out: &mut Vec<u8>) -> Result<(), InvalidCompression> {
    let had = out.len();
    let Some(mut rest) = after_header(input)? else {
        return block(input, limit, limit, out);
    };
    while !rest.is_empty() {
        // Streams may be joined: a header may stand where a block's length could.
        if let Some(after) = after_header(rest)? {
            rest = after;
            continue;
        }
        let Some((length, after)) = rest.split_first_chunk::<4>() else {
            return Err(damaged("a block's length is cut short"));
        };
        let length = u32::from_be_bytes(*length) as usize;
        let Some((packed, after)) = after.split_at_checked(length) else {
            return Err(damaged("a block is cut short"));
        };
        block(packed, limit - (out.len() - had), limit, out)?;
        rest = after;
    }
    Ok(())
}

/// What follows the frame's header; `None` when there is no such header.
fn after_header(input: &[u8]) -> Result<Option<&[u8]>, InvalidCompression> {
    if !input.starts_with(&MAGIC) {
        return Ok(None);
    }
    let Some(rest) = input.get(HEADER_BYTES..) else {
        return Err(damaged("the header is cut short"));
    };
    let mut version = [0; 4];
    version.copy_from_slice(&input[8..12]);
    if i32::from_be_bytes(version) < 1 {
        return Err(damaged("the frame's version is not known"));
    }
    Ok(Some(rest))
}

/// One block; it may give at most `left` of the `limit` bytes.
fn block(packed: &[u8], left: usize, limit: usize, out: &mut Vec<u8>) -> Result<(), InvalidCompression> {
    let length = snap::raw::decompress_len(packed).map_err(damaged)?;
    if length > left {
        return Err(InvalidCompression::TooLarge { limit });
    }
    // A copy of 3 bytes gives at most 64: a block that claims more is no block, and is not given memory.
    if length / 64 > packed.len() {
        return Err(damaged("a block claims more than it can hold"));
    }
    let from = out.len();
    out.resize(from + length, 0);
    let written = snap::raw::Decoder::new()
        .decompress(packed, &mut out[from..])
        .map_err(damaged)?;
    out.truncate(from + written);
    Ok(())
}

fn damaged(why: impl ToString) -> InvalidCompression {
    InvalidCompression::damaged(Codec::Snappy, why)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unpack(input: &[u8]) -> Result<Vec<u8>, InvalidCompression> {
        let mut out = Vec::new();
        decompress(input, 1_000_000, &mut out).map(|()| out)
    }

    #[test]
    fn the_frame_is_the_java_one() {
        let data = b"0123456789".repeat(5000);
        let mut packed = Vec::new();
        compress(&data, &mut packed);
        assert_eq!(&packed[..16], b"\x82SNAPPY\0\0\0\0\x01\0\0\0\x01");
        let first = u32::from_be_bytes(packed[16..20].try_into().unwrap()) as usize;
        assert_eq!(
            snap::raw::decompress_len(&packed[20..20 + first]).unwrap(),
            BLOCK_BYTES
        );
        assert_eq!(unpack(&packed), Ok(data));
    }

    #[test]
    fn a_bare_block_and_joined_frames_are_read() {
        let bare = snap::raw::Encoder::new().compress_vec(b"bare block").unwrap();
        assert_eq!(unpack(&bare).unwrap(), b"bare block");
        let mut joined = Vec::new();
        compress(b"one ", &mut joined);
        compress(b"two", &mut joined);
        assert_eq!(unpack(&joined).unwrap(), b"one two");
    }

    #[test]
    fn a_claimed_size_is_not_believed() {
        // One byte of data after a claim of 900,000.
        let lie = [0xa0, 0xf7, 0x36, 0];
        assert!(matches!(unpack(&lie), Err(InvalidCompression::Damaged { .. })));
    }
}
