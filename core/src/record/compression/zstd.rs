//! Zstandard. The encoder knows one level; the decoder keeps a *window* of its last output in memory
//! until the frame is done, so a frame's claimed window has to be bounded as its output is.

use std::io::Read;

use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use ruzstd::encoding::{CompressionLevel, FrameCompressor};

use super::{Codec, InvalidCompression};

const MAGIC: [u8; 4] = 0xfd2f_b528u32.to_le_bytes();
/// What C zstd accepts unless told otherwise (window log 27).
const MAX_WINDOW_BYTES: u64 = 128 << 20;
const MIN_WINDOW_LOG: u32 = 10;
/// In the byte after the magic: the content's size is given and is the window.
const SINGLE_SEGMENT: u8 = 0x20;

pub(super) fn compress(input: &[u8], out: &mut Vec<u8>) {
    let mut encoder = FrameCompressor::new(CompressionLevel::Fastest);
    encoder.set_source(input);
    encoder.set_drain(out);
    encoder.compress();
}

pub(super) fn decompress(input: &[u8], limit: usize, out: &mut Vec<u8>) -> Result<(), InvalidCompression> {
    let mut rest = input;
    let mut left = limit;
    loop {
        let had = out.len();
        rest = frame(rest, left, limit, out)?;
        left -= out.len() - had;
        if rest.is_empty() {
            return Ok(());
        }
    }
}

/// Decodes one frame and gives what follows it.
fn frame<'a>(
    input: &'a [u8],
    left: usize,
    limit: usize,
    out: &mut Vec<u8>,
) -> Result<&'a [u8], InvalidCompression> {
    let Some((head, tail)) = input.split_first_chunk::<6>() else {
        return Err(damaged("the frame's header is cut short"));
    };
    if head[..4] != MAGIC {
        return Err(damaged("it does not begin as a zstd frame"));
    }
    let head = with_bounded_window(*head, left);
    let mut tail = tail;
    let mut source = head.chain(&mut tail);
    let mut decoder = FrameDecoder::new();
    decoder.set_max_window_size(MAX_WINDOW_BYTES);
    decoder.init(&mut source).map_err(damaged)?;
    let too_large = Err(InvalidCompression::TooLarge { limit });
    if decoder.content_size() > left as u64 {
        return too_large;
    }
    let had = out.len();
    while !decoder.is_finished() {
        // One block gives at most 128 KiB.
        decoder
            .decode_blocks(&mut source, BlockDecodingStrategy::UptoBlocks(1))
            .map_err(damaged)?;
        if out.len() - had + decoder.can_collect() > left {
            return too_large;
        }
        decoder.collect_to_writer(&mut *out).map_err(damaged)?;
    }
    if let (Some(stored), Some(computed)) = (
        decoder.get_checksum_from_data(),
        decoder.get_calculated_checksum(),
    ) && stored != computed
    {
        return Err(damaged("its checksum does not match"));
    }
    Ok(tail)
}

/// A window larger than the output may become is never used, but it would be kept in memory: the
/// frame is read as if it had asked for the next power of two only.
fn with_bounded_window(mut head: [u8; 6], left: usize) -> [u8; 6] {
    if head[4] & SINGLE_SEGMENT == 0 {
        let needed = (left as u64)
            .clamp(1 << MIN_WINDOW_LOG, MAX_WINDOW_BYTES)
            .next_power_of_two();
        let needed_log = needed.trailing_zeros() - MIN_WINDOW_LOG;
        if u32::from(head[5] >> 3) >= needed_log {
            head[5] = (needed_log as u8) << 3;
        }
    }
    head
}

fn damaged(why: impl ToString) -> InvalidCompression {
    InvalidCompression::damaged(Codec::Zstd, why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_huge_window_around_little_data_is_read() {
        let mut packed = Vec::new();
        compress(b"little", &mut packed);
        assert_eq!(packed[4] & SINGLE_SEGMENT, 0);
        packed[5] = 27 << 3;
        let mut out = Vec::new();
        assert_eq!(decompress(&packed, 100, &mut out), Ok(()));
        assert_eq!(out, b"little");
    }

    #[test]
    fn joined_frames_are_read_and_share_the_limit() {
        let mut packed = Vec::new();
        compress(b"one ", &mut packed);
        compress(b"two", &mut packed);
        let mut out = Vec::new();
        assert_eq!(decompress(&packed, 7, &mut out), Ok(()));
        assert_eq!(out, b"one two");
        assert_eq!(
            decompress(&packed, 6, &mut Vec::new()),
            Err(InvalidCompression::TooLarge { limit: 6 })
        );
    }

    #[test]
    fn a_claimed_content_size_is_checked_before_anything_is_decoded() {
        // Single segment, 4-byte content size of 2 GiB, one empty last block.
        let mut packed = MAGIC.to_vec();
        packed.extend_from_slice(&[0xa0, 0, 0, 0, 0x80, 1, 0, 0]);
        assert!(decompress(&packed, 1000, &mut Vec::new()).is_err());
    }
}
