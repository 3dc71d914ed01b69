//! Decoders for the bodies of batches: C zstd, which is several times as fast as the one in Rust;
//! the others are the core's.

use std::io::Cursor;

use highwater_core::record::compression::{Codec, Decompress, InvalidCompression, PURE_RUST, read_bounded};

/// The decoders of this host.
pub static NATIVE: NativeDecompress = NativeDecompress;

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
        let decoder = zstd::stream::read::Decoder::with_buffer(Cursor::new(input))
            .map_err(|error| InvalidCompression::damaged(codec, error))?;
        read_bounded(codec, decoder, limit, out)
    }
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
        for packed in [packed(&text), foreign, packed(b"")] {
            let unpack = |with: &dyn Decompress| {
                let mut out = Vec::new();
                with.decompress(Codec::Zstd, &packed, 1 << 20, &mut out)
                    .map(|()| out)
            };
            let (ours, theirs) = (unpack(&NATIVE).unwrap(), unpack(&PURE_RUST).unwrap());
            assert!(ours == theirs);
            assert!(ours == text || ours.is_empty());
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
    }
}
