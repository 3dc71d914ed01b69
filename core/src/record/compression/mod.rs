//! The five codecs of a batch's body, and their bounds.
//!
//! Encoders are pure Rust and the same on all targets, so that the same records give the same bytes
//! natively and in the browser. A decoder's result is fixed by the format, so a host may bring a
//! faster one through [`Decompress`]; [`PURE_RUST`] is always there.
//!
//! Invariants
//! - decompression stops as soon as its output would pass the limit it was given, and a size that
//!   the compressed bytes merely claim is never allocated
//! - what we write, Kafka's own clients read: lz4 blocks are independent, snappy is framed as Java
//!   frames it

mod lz4;
mod snappy;
mod zstd;

use std::io::{Read, Write};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::full::FULL;

/// How a batch's body is compressed (`CompressionType`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Codec {
    #[default]
    None,
    Gzip,
    Snappy,
    Lz4,
    Zstd,
}

impl Codec {
    pub const ALL: [Codec; 5] = [Self::None, Self::Gzip, Self::Snappy, Self::Lz4, Self::Zstd];

    /// Those that this build can pack and unpack. The page has lz4: what compression does can be seen with
    /// one codec, and gzip or zstd weighs as much as a scene.
    pub const HERE: &'static [Codec] = if FULL {
        &Self::ALL
    } else {
        &[Self::None, Self::Lz4]
    };

    /// The number in bits 0 to 2 of a batch's attributes.
    pub fn id(self) -> u8 {
        self as u8
    }

    pub fn from_id(id: u8) -> Option<Self> {
        Self::ALL.get(usize::from(id)).copied()
    }

    /// As in `compression.type` and in what tools print.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Gzip => "gzip",
            Self::Snappy => "snappy",
            Self::Lz4 => "lz4",
            Self::Zstd => "zstd",
        }
    }

    /// One that this build has.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::HERE.iter().copied().find(|codec| codec.name() == name)
    }

    /// The levels that `compression.<codec>.level` takes and the one it has by itself, as in Kafka;
    /// `None` for codecs without levels. Gzip also takes -1, its default.
    pub fn levels(self) -> Option<(std::ops::RangeInclusive<i32>, i32)> {
        match self {
            Self::None | Self::Snappy => None,
            Self::Gzip => Some((1..=9, -1)),
            Self::Lz4 => Some((1..=17, 9)),
            Self::Zstd => Some((-131_072..=22, 3)),
        }
    }
}

/// A codec and the level to encode with.
///
/// Only gzip's encoder has levels. Lz4's and zstd's know one, near Kafka's fastest, whatever the level
/// says: the bytes are right, merely larger than Kafka's at a high level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compression {
    pub codec: Codec,
    /// `None`: the codec's default.
    pub level: Option<i32>,
}

impl From<Codec> for Compression {
    fn from(codec: Codec) -> Self {
        Self { codec, level: None }
    }
}

impl Compression {
    /// Appends `input`, compressed, to `out`.
    pub fn compress(self, input: &[u8], out: &mut Vec<u8>) {
        match self.codec {
            Codec::None => out.extend_from_slice(input),
            Codec::Gzip if FULL => self.gzip(input, out),
            Codec::Snappy if FULL => snappy::compress(input, out),
            Codec::Lz4 => lz4::compress(input, out),
            Codec::Zstd if FULL => zstd::compress(input, out),
            codec => unreachable!("a build without {} does not give it out", codec.name()),
        }
    }

    fn gzip(self, input: &[u8], out: &mut Vec<u8>) {
        let level = match self.level {
            Some(level @ 1..=9) => flate2::Compression::new(level as u32),
            _ => flate2::Compression::default(),
        };
        // Writing to a vector cannot fail, and neither can the encoder.
        let mut encoder = flate2::write::GzEncoder::new(out, level);
        let _ = encoder.write_all(input).and_then(|()| encoder.try_finish());
    }
}

/// Why a body could not be unpacked.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum InvalidCompression {
    #[error("more than {limit} bytes when decompressed")]
    TooLarge { limit: usize },
    #[error("{codec} data is damaged: {why}", codec = .codec.name())]
    Damaged { codec: Codec, why: String },
}

impl InvalidCompression {
    #[expect(clippy::needless_pass_by_value, reason = "for `map_err`")]
    pub fn damaged(codec: Codec, why: impl ToString) -> Self {
        let why = why.to_string();
        Self::Damaged { codec, why }
    }
}

/// A set of decoders. A host may bring its own where the pure Rust ones are slow.
pub trait Decompress: std::fmt::Debug + Send + Sync {
    /// Appends the decompressed `input` to `out`, at most `limit` bytes of it. On an error `out` may
    /// hold a part.
    fn decompress(
        &self,
        codec: Codec,
        input: &[u8],
        limit: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), InvalidCompression>;
}

/// The decoders that every target has.
pub static PURE_RUST: PureRust = PureRust;

/// See [`PURE_RUST`].
#[derive(Clone, Copy, Debug, Default)]
pub struct PureRust;

impl Decompress for PureRust {
    fn decompress(
        &self,
        codec: Codec,
        input: &[u8],
        limit: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), InvalidCompression> {
        match codec {
            Codec::None if input.len() > limit => Err(InvalidCompression::TooLarge { limit }),
            Codec::None => {
                out.extend_from_slice(input);
                Ok(())
            }
            Codec::Gzip if FULL => {
                let decoder = flate2::bufread::MultiGzDecoder::new(input);
                read_bounded(codec, decoder, limit, out)
            }
            Codec::Snappy if FULL => snappy::decompress(input, limit, out),
            Codec::Lz4 => lz4::decompress(input, limit, out),
            Codec::Zstd if FULL => zstd::decompress(input, limit, out),
            codec => Err(InvalidCompression::damaged(codec, "this build cannot unpack it")),
        }
    }
}

/// Appends what `decoder` gives, unless it is more than `limit` bytes. The vector grows with what is
/// really there.
pub fn read_bounded(
    codec: Codec,
    decoder: impl Read,
    limit: usize,
    out: &mut Vec<u8>,
) -> Result<(), InvalidCompression> {
    let had = out.len();
    decoder
        .take((limit as u64).saturating_add(1))
        .read_to_end(out)
        .map_err(|error| InvalidCompression::damaged(codec, error))?;
    if out.len() - had > limit {
        return Err(InvalidCompression::TooLarge { limit });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples() -> Vec<Vec<u8>> {
        let text = b"the quick brown fox jumps over the lazy dog, again and again; ".repeat(3000);
        let noise: Vec<u8> = (0u32..100_000)
            .map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8)
            .collect();
        vec![vec![], vec![7], text, noise, vec![0; 300_000]]
    }

    fn unpack(codec: Codec, input: &[u8], limit: usize) -> Result<Vec<u8>, InvalidCompression> {
        let mut out = Vec::new();
        PURE_RUST.decompress(codec, input, limit, &mut out).map(|()| out)
    }

    fn pack(codec: Codec, input: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        Compression::from(codec).compress(input, &mut out);
        out
    }

    #[test]
    fn every_codec_gives_back_what_it_was_given() {
        for codec in Codec::ALL {
            for sample in samples() {
                let packed = pack(codec, &sample);
                assert!(
                    unpack(codec, &packed, sample.len()).as_ref() == Ok(&sample),
                    "{codec:?}"
                );
            }
        }
    }

    #[test]
    fn output_past_the_limit_is_refused_before_it_is_held() {
        let zeros = vec![0; 2_000_000];
        for codec in Codec::ALL {
            let packed = pack(codec, &zeros);
            let limit = 100_000;
            let mut out = Vec::new();
            let result = PURE_RUST.decompress(codec, &packed, limit, &mut out);
            assert_eq!(result, Err(InvalidCompression::TooLarge { limit }), "{codec:?}");
            assert!(
                out.capacity() <= 2 * limit + 65_536,
                "{codec:?}: {}",
                out.capacity()
            );
        }
    }

    #[test]
    fn damaged_input_is_an_error_and_never_a_panic() {
        // An interpreter of wasm32 is some fifty times slower.
        let places = if cfg!(target_arch = "wasm32") { 11 } else { 97 };
        let sample = &samples()[2];
        for codec in [Codec::Gzip, Codec::Snappy, Codec::Lz4, Codec::Zstd] {
            let packed = pack(codec, sample);
            let step = packed.len() / places + 1;
            for cut in (0..packed.len()).step_by(step) {
                // Lz4 may give the blocks that are whole; the batch's checksum tells the rest.
                match unpack(codec, &packed[..cut], sample.len()) {
                    Ok(part) => assert!(codec == Codec::Lz4 && sample.starts_with(&part)),
                    Err(why) => assert!(matches!(why, InvalidCompression::Damaged { .. })),
                }
            }
            for at in (0..packed.len()).step_by(step) {
                let mut bad = packed.clone();
                bad[at] ^= 0x55;
                let _ = unpack(codec, &bad, sample.len());
            }
            assert!(unpack(codec, b"no such thing as this", 100).is_err(), "{codec:?}");
        }
    }

    #[test]
    fn gzip_levels_change_the_size() {
        let sample = &samples()[2];
        let size = |level| {
            let mut out = Vec::new();
            let codec = Codec::Gzip;
            Compression { codec, level }.compress(sample, &mut out);
            assert!(unpack(codec, &out, sample.len()).as_ref() == Ok(sample));
            out.len()
        };
        assert!(size(Some(1)) > size(Some(9)));
        assert_eq!(size(None), size(Some(-1)));
    }

    #[test]
    fn names_and_numbers_read_back() {
        for codec in Codec::ALL {
            assert_eq!(Codec::from_id(codec.id()), Some(codec));
            assert_eq!(Codec::from_name(codec.name()), Some(codec));
        }
        assert_eq!(Codec::from_id(5), None);
        assert_eq!(Codec::from_name("brotli"), None);
    }
}
