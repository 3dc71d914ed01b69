//! The bytes of a multi in the coordination log, and the reader that both files share.
//!
//! A record is `length: u32, crc32c: u32, zxid: i64, operations`, big-endian. The length counts what
//! follows the checksum, and the checksum covers the same bytes. An operation is a tag, the path, and
//! what its kind needs; a version of -1 stands for "any".

use std::sync::Arc;

use bytes::{BufMut, Bytes, BytesMut};

use super::multi::{Multi, Op};
use super::tree::Zxid;

/// `length` and `crc32c`.
const HEAD_BYTES: usize = 8;
const ANY_VERSION: i32 = -1;

/// The record of a multi that happened as `zxid`.
pub(super) fn encode(zxid: Zxid, multi: &Multi) -> Bytes {
    let mut body = BytesMut::new();
    body.put_i64(zxid);
    for op in &multi.ops {
        match op {
            Op::Create { path, data } => {
                body.put_u8(1);
                put_bytes(&mut body, path.as_bytes());
                put_bytes(&mut body, data);
            }
            Op::Set { path, data, version } => {
                body.put_u8(2);
                put_bytes(&mut body, path.as_bytes());
                put_bytes(&mut body, data);
                body.put_i32(version.unwrap_or(ANY_VERSION));
            }
            Op::Delete { path, version } => put_versioned(&mut body, 3, path, *version),
            Op::Check { path, version } => put_versioned(&mut body, 4, path, *version),
        }
    }
    seal(&body)
}

/// A record's multi, its zxid, and its length in the file.
pub(super) struct Framed {
    pub zxid: Zxid,
    pub multi: Multi,
    pub bytes: usize,
}

/// The record at the front of `log`; `None` when there is no whole and sound one.
pub(super) fn decode(log: &[u8]) -> Option<Framed> {
    let body = unseal(log)?;
    let mut reader = Reader(body);
    let zxid = reader.i64()?;
    let mut ops = Vec::new();
    while !reader.is_empty() {
        let tag = reader.u8()?;
        let path = reader.text()?;
        ops.push(match tag {
            1 => Op::Create {
                path,
                data: reader.bytes()?,
            },
            2 => Op::Set {
                path,
                data: reader.bytes()?,
                version: reader.version()?,
            },
            3 => Op::Delete {
                path,
                version: reader.version()?,
            },
            4 => Op::Check {
                path,
                version: reader.version()?,
            },
            _ => return None,
        });
    }
    Some(Framed {
        zxid,
        multi: Multi { ops },
        bytes: HEAD_BYTES + body.len(),
    })
}

/// Puts length and checksum before the body.
pub(super) fn seal(body: &[u8]) -> Bytes {
    let mut sealed = BytesMut::with_capacity(HEAD_BYTES + body.len());
    sealed.put_u32(body.len() as u32);
    sealed.put_u32(crc32c::crc32c(body));
    sealed.put_slice(body);
    sealed.freeze()
}

/// The body behind length and checksum, if it is all there and sound.
pub(super) fn unseal(bytes: &[u8]) -> Option<&[u8]> {
    let mut reader = Reader(bytes);
    let length = reader.u32()?;
    let crc = reader.u32()?;
    let body = reader.take(length as usize)?;
    (crc32c::crc32c(body) == crc).then_some(body)
}

fn put_versioned(body: &mut BytesMut, tag: u8, path: &str, version: Option<i32>) {
    body.put_u8(tag);
    put_bytes(body, path.as_bytes());
    body.put_i32(version.unwrap_or(ANY_VERSION));
}

pub(super) fn put_bytes(body: &mut BytesMut, bytes: &[u8]) {
    body.put_u32(bytes.len() as u32);
    body.put_slice(bytes);
}

/// Takes values off the front; `None` when the bytes end early.
pub(super) struct Reader<'a>(pub &'a [u8]);

impl<'a> Reader<'a> {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (front, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(front)
    }

    pub fn u8(&mut self) -> Option<u8> {
        self.take(1).map(|b| b[0])
    }

    pub fn u32(&mut self) -> Option<u32> {
        Some(u32::from_be_bytes(self.take(4)?.try_into().ok()?))
    }

    pub fn i32(&mut self) -> Option<i32> {
        Some(i32::from_be_bytes(self.take(4)?.try_into().ok()?))
    }

    pub fn i64(&mut self) -> Option<i64> {
        Some(i64::from_be_bytes(self.take(8)?.try_into().ok()?))
    }

    pub fn bytes(&mut self) -> Option<Bytes> {
        let length = self.u32()?;
        self.take(length as usize).map(Bytes::copy_from_slice)
    }

    pub fn text(&mut self) -> Option<Arc<str>> {
        let length = self.u32()?;
        std::str::from_utf8(self.take(length as usize)?)
            .ok()
            .map(Into::into)
    }

    pub fn version(&mut self) -> Option<Option<i32>> {
        self.i32()
            .map(|version| (version != ANY_VERSION).then_some(version))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn multi() -> Multi {
        Multi::new()
            .create("/a", "one")
            .set("/a", "", Some(0))
            .set("/a", "two", None)
            .check("/a", Some(2))
            .delete("/a", None)
    }

    #[test]
    fn a_record_reads_back_what_was_written() {
        let bytes = encode(42, &multi());
        let framed = decode(&bytes).unwrap();
        assert_eq!(
            (framed.zxid, framed.multi, framed.bytes),
            (42, multi(), bytes.len())
        );
    }

    #[test]
    fn a_record_cut_or_flipped_anywhere_is_none() {
        let bytes = encode(42, &multi());
        for end in 0..bytes.len() {
            assert!(decode(&bytes[..end]).is_none(), "cut at {end}");
            let mut flipped = bytes.to_vec();
            flipped[end] ^= 0x10;
            assert!(decode(&flipped).is_none(), "flipped at {end}");
        }
        assert!(decode(&[0xff; 64]).is_none(), "a giant length allocates nothing");
        assert!(decode(&[0; 64]).is_none(), "zeros are no record");
    }
}
