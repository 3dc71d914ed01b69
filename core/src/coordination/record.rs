//! The bytes of a change in the coordination log, and the reader that both files share.
//!
//! A record is `length: u32, crc32c: u32, zxid: i64, entries`, big-endian. The length counts what
//! follows the checksum, and the checksum covers the same bytes. An entry is a tag and what its kind
//! needs; a version of -1 stands for "any". The operations of a multi are one entry each, a session's
//! beginning or end is the only entry of its record.

use std::sync::Arc;

use bytes::{BufMut, Bytes, BytesMut};

use super::multi::{Multi, NodeKind, Op};
use super::session::SessionId;
use super::tree::Zxid;
use crate::types::Millis;

/// `length` and `crc32c`.
const HEAD_BYTES: usize = 8;
const ANY_VERSION: i32 = -1;

const CREATE: u8 = 1;
const SET: u8 = 2;
const DELETE: u8 = 3;
const CHECK: u8 = 4;
const CREATE_SEQUENTIAL: u8 = 5;
const CREATE_EPHEMERAL: u8 = 6;
const CREATE_EPHEMERAL_SEQUENTIAL: u8 = 7;
const OPEN_SESSION: u8 = 8;
const CLOSE_SESSION: u8 = 9;

/// What happens under one zxid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// `session`: whose the ephemeral nodes are to be; 0 where there are none.
    Multi { session: SessionId, multi: Multi },
    /// A session begins; the zxid is its name.
    OpenSession { timeout_ms: Millis },
    /// A session ends, by its own wish or not, and its nodes with it.
    CloseSession { session: SessionId },
}

/// The record of a change that happened as `zxid`.
pub(super) fn encode(zxid: Zxid, change: &Change) -> Bytes {
    let mut body = BytesMut::new();
    body.put_i64(zxid);
    match change {
        Change::Multi { session, multi } => multi.ops.iter().for_each(|op| put_op(&mut body, *session, op)),
        Change::OpenSession { timeout_ms } => {
            body.put_u8(OPEN_SESSION);
            body.put_i64(*timeout_ms);
        }
        Change::CloseSession { session } => {
            body.put_u8(CLOSE_SESSION);
            body.put_i64(*session);
        }
    }
    seal(&body)
}

fn put_op(body: &mut BytesMut, session: SessionId, op: &Op) {
    match op {
        Op::Create { path, data, kind } => {
            body.put_u8(match kind {
                NodeKind::Persistent => CREATE,
                NodeKind::PersistentSequential => CREATE_SEQUENTIAL,
                NodeKind::Ephemeral => CREATE_EPHEMERAL,
                NodeKind::EphemeralSequential => CREATE_EPHEMERAL_SEQUENTIAL,
            });
            if kind.is_ephemeral() {
                body.put_i64(session);
            }
            put_bytes(body, path.as_bytes());
            put_bytes(body, data);
        }
        Op::Set { path, data, version } => {
            body.put_u8(SET);
            put_bytes(body, path.as_bytes());
            put_bytes(body, data);
            body.put_i32(version.unwrap_or(ANY_VERSION));
        }
        Op::Delete { path, version } => put_versioned(body, DELETE, path, *version),
        Op::Check { path, version } => put_versioned(body, CHECK, path, *version),
    }
}

/// A record's change, its zxid, and its length in the file.
pub(super) struct Framed {
    pub zxid: Zxid,
    pub change: Change,
    pub bytes: usize,
}

/// The record at the front of `log`; `None` when there is no whole and sound one.
pub(super) fn decode(log: &[u8]) -> Option<Framed> {
    let body = unseal(log)?;
    let mut reader = Reader(body);
    let zxid = reader.i64()?;
    let change = match reader.0.first() {
        Some(&OPEN_SESSION) => {
            reader.u8()?;
            Change::OpenSession {
                timeout_ms: reader.i64()?,
            }
        }
        Some(&CLOSE_SESSION) => {
            reader.u8()?;
            Change::CloseSession {
                session: reader.i64()?,
            }
        }
        _ => take_multi(&mut reader)?,
    };
    reader.is_empty().then_some(Framed {
        zxid,
        change,
        bytes: HEAD_BYTES + body.len(),
    })
}

fn take_multi(reader: &mut Reader<'_>) -> Option<Change> {
    let (mut session, mut ops) = (0, Vec::new());
    while !reader.is_empty() {
        let tag = reader.u8()?;
        let kind = match tag {
            CREATE_SEQUENTIAL => NodeKind::PersistentSequential,
            CREATE_EPHEMERAL => NodeKind::Ephemeral,
            CREATE_EPHEMERAL_SEQUENTIAL => NodeKind::EphemeralSequential,
            _ => NodeKind::Persistent,
        };
        if kind.is_ephemeral() {
            session = reader.i64()?;
        }
        let path = reader.text()?;
        ops.push(match tag {
            CREATE | CREATE_SEQUENTIAL | CREATE_EPHEMERAL | CREATE_EPHEMERAL_SEQUENTIAL => Op::Create {
                path,
                data: reader.bytes()?,
                kind,
            },
            SET => Op::Set {
                path,
                data: reader.bytes()?,
                version: reader.version()?,
            },
            DELETE => Op::Delete {
                path,
                version: reader.version()?,
            },
            CHECK => Op::Check {
                path,
                version: reader.version()?,
            },
            _ => return None,
        });
    }
    Some(Change::Multi {
        session,
        multi: Multi { ops },
    })
}

/// Puts length and checksum before the body.
pub(super) fn seal(body: &[u8]) -> Bytes {
    let mut sealed = BytesMut::with_capacity(HEAD_BYTES + body.len());
    sealed.put_u32(body.len() as u32);
    sealed.put_u32(crate::record::crc::crc32c(body));
    sealed.put_slice(body);
    sealed.freeze()
}

/// The body behind length and checksum, if it is all there and sound.
pub(super) fn unseal(bytes: &[u8]) -> Option<&[u8]> {
    let mut reader = Reader(bytes);
    let length = reader.u32()?;
    let crc = reader.u32()?;
    let body = reader.take(length as usize)?;
    (crate::record::crc::crc32c(body) == crc).then_some(body)
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

    fn changes() -> Vec<Change> {
        let multi = Multi::new()
            .create("/a", "one")
            .set("/a", "", Some(0))
            .create_ephemeral("/e", "mine")
            .create_sequential("/n", "")
            .create_as(NodeKind::EphemeralSequential, "/m", "x")
            .set("/a", "two", None)
            .check("/a", Some(2))
            .delete("/a", None);
        vec![
            Change::Multi { session: 7, multi },
            Change::Multi {
                session: 0,
                multi: Multi::new().create("/b", ""),
            },
            Change::OpenSession { timeout_ms: 6000 },
            Change::CloseSession { session: 7 },
        ]
    }

    #[test]
    fn a_record_reads_back_what_was_written() {
        for change in changes() {
            let bytes = encode(42, &change);
            let framed = decode(&bytes).unwrap();
            assert_eq!(
                (framed.zxid, framed.change, framed.bytes),
                (42, change, bytes.len())
            );
        }
    }

    #[test]
    fn a_record_cut_or_flipped_anywhere_is_none() {
        for change in changes() {
            let bytes = encode(42, &change);
            for end in 0..bytes.len() {
                assert!(decode(&bytes[..end]).is_none(), "cut at {end}");
                let mut flipped = bytes.to_vec();
                flipped[end] ^= 0x10;
                assert!(decode(&flipped).is_none(), "flipped at {end}");
            }
        }
        assert!(decode(&[0xff; 64]).is_none(), "a giant length allocates nothing");
        assert!(decode(&[0; 64]).is_none(), "zeros are no record");
    }
}
