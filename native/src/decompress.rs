//! Decoders for the bodies of batches: C zstd, which is several times as fast as the one in Rust;
//! the others are the core's.
//!
//! A thread keeps its zstd context from batch to batch, and the context writes straight into the
//! buffer that the records are then read from.

use std::cell::RefCell;

use highwater_core::record::compression::{Codec, Decompress, InvalidCompression, PURE_RUST};
use zstd::zstd_safe::{DCtx, InBuffer, OutBuffer, ResetDirective, get_error_name};

/// The decoders of this host.
pub static NATIVE: NativeDecompress = NativeDecompress;

/// The least that the output grows by.
const LEAST_GROWTH_BYTES: usize = 64 << 10;
/// The first guess at how many times its input the output is.
const GUESSED_RATIO: usize = 4;
/// A context that holds more than this, for a frame with a large window, is not kept.
const KEPT_CONTEXT_BYTES: usize = 4 << 20;

thread_local! {
    static CONTEXT: RefCell<Option<DCtx<'static>>> = const { RefCell::new(None) };
}

/// See [`NATIVE`].
#[derive(Clone, Copy, Debug, Default)]
pub struct NativeDecompress;

impl Decompress for NativeDecompress {
    fn decompress(
        &self,
        codec: Codec,
        input: &[u8],
        limit: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), InvalidCompression> {
        if codec != Codec::Zstd {
            return PURE_RUST.decompress(codec, input, limit, out);
        }
        let Some(mut context) = CONTEXT.take().or_else(DCtx::try_create) else {
            return Err(damaged("no memory for a decoder"));
        };
        let result = unpack(&mut context, input, limit, out);
        let is_clean = context.reset(ResetDirective::SessionOnly).is_ok();
        if is_clean && context.sizeof() <= KEPT_CONTEXT_BYTES {
            CONTEXT.set(Some(context));
        }
        result
    }
}

/// Unpacks all frames of the input. The output grows with what is really there, to one byte past the
/// limit.
fn unpack(
    context: &mut DCtx<'_>,
    input: &[u8],
    limit: usize,
    out: &mut Vec<u8>,
) -> Result<(), InvalidCompression> {
    let most = out.len().saturating_add(limit).saturating_add(1);
    let mut input = InBuffer::around(input);
    let mut growth = input.src.len().saturating_mul(GUESSED_RATIO);
    loop {
        if out.len() == out.capacity() || growth > 0 && out.capacity() - out.len() < growth {
            let wanted = growth.max(LEAST_GROWTH_BYTES).min(most - out.len());
            out.reserve(wanted);
        }
        growth = 0;
        let had = out.len();
        let missing = context
            .decompress_stream(&mut OutBuffer::around_pos(out, had), &mut input)
            .map_err(|code| damaged(get_error_name(code)))?;
        if out.len() >= most {
            return Err(InvalidCompression::TooLarge { limit });
        }
        if input.pos == input.src.len() {
            match missing {
                0 => return Ok(()),
                _ if out.len() < out.capacity() => return Err(damaged("the data ends inside a frame")),
                _ => {} // what is missing may be room for output
            }
        }
    }
}

fn damaged(why: &str) -> InvalidCompression {
    InvalidCompression::damaged(Codec::Zstd, why)
}

#[cfg(test)]
mod tests {
    use highwater_core::record::Compression;

    use super::*;

    fn packed(data: &[u8]) -> Vec<u8> {
        let mut packed = Vec::new();
        Compression::from(Codec::Zstd).compress(data, &mut packed);
        packed
    }

    #[test]
    fn both_decoders_agree() {
        let text = b"some text, and some more of the same text; ".repeat(5000);
        let foreign = zstd::encode_all(&text[..], 19).unwrap();
        let twice = [&foreign[..], &foreign].concat();
        for packed in [packed(&text), foreign, twice, packed(b"")] {
            let unpack = |with: &dyn Decompress| {
                let mut out = Vec::new();
                with.decompress(Codec::Zstd, &packed, 1 << 20, &mut out)
                    .map(|()| out)
            };
            let (ours, theirs) = (unpack(&NATIVE).unwrap(), unpack(&PURE_RUST).unwrap());
            assert!(ours == theirs);
            assert!(ours == text || ours == text.repeat(2) || ours.is_empty());
        }
    }

    #[test]
    fn frames_that_do_not_say_how_long_they_are_fill_any_buffer() {
        use std::io::Write;
        let text: Vec<u8> = (0..700_000u32).flat_map(|i| (i / 7).to_le_bytes()).collect();
        let mut encoder = zstd::stream::Encoder::new(Vec::new(), 3).unwrap();
        encoder.write_all(&text).unwrap();
        let packed = encoder.finish().unwrap();
        for had in [0, 10, text.len() - 1, text.len(), text.len() + 1] {
            let mut out = Vec::with_capacity(had);
            NATIVE
                .decompress(Codec::Zstd, &packed, text.len(), &mut out)
                .unwrap();
            assert!(out == text);
            let mut out = Vec::with_capacity(had);
            let limit = text.len() - 1;
            assert_eq!(
                NATIVE.decompress(Codec::Zstd, &packed, limit, &mut out),
                Err(InvalidCompression::TooLarge { limit })
            );
        }
    }

    #[test]
    fn the_limit_holds() {
        let bomb = packed(&vec![0; 10_000_000]);
        let mut out = Vec::new();
        let limit = 10_000;
        assert_eq!(
            NATIVE.decompress(Codec::Zstd, &bomb, limit, &mut out),
            Err(InvalidCompression::TooLarge { limit })
        );
        assert!(out.capacity() < 100_000);
        let cut = &packed(b"not all of it is here")[..12];
        assert!(NATIVE.decompress(Codec::Zstd, cut, limit, &mut out).is_err());
        // The thread's context is as good as new after a failure.
        out.clear();
        let whole = packed(b"all of it");
        assert_eq!(NATIVE.decompress(Codec::Zstd, &whole, limit, &mut out), Ok(()));
        assert_eq!(out, b"all of it");
    }
}
