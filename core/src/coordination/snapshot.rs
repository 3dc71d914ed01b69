//! The whole tree as bytes, and the way back from a snapshot and the log behind it.

use bytes::{BufMut, Bytes, BytesMut};
use thiserror::Error;

use super::record::{self, Reader, put_bytes};
use super::store::{LOG_PATH, SNAPSHOT_PATH};
use super::tree::{Stat, Tree};

/// First number of a snapshot: which way of writing it follows.
const FORMAT: u32 = 1;

/// The tree as one sealed record: format, zxid, then every node, parents first.
pub(super) fn encode(tree: &Tree) -> Bytes {
    let mut body = BytesMut::new();
    body.put_u32(FORMAT);
    body.put_i64(tree.zxid());
    for (path, node) in tree.iter() {
        put_bytes(&mut body, path.as_bytes());
        put_bytes(&mut body, &node.data);
        body.put_i64(node.stat.czxid);
        body.put_i64(node.stat.mzxid);
        body.put_i32(node.stat.version);
    }
    record::seal(&body)
}

/// Bytes that recovery must not guess around: the broker stops and says so.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "{file}: {why}; restore the file from a copy, or remove both coordination files to begin without topics"
)]
pub struct Damaged {
    pub file: &'static str,
    pub why: String,
}

/// What recovery found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recovered {
    pub tree: Tree,
    /// Length of the log's sound part; the file is cut to it.
    pub log_bytes: u64,
    /// Bytes of a torn tail behind it. Nothing in them was ever acknowledged.
    pub cut_bytes: u64,
}

/// Rebuilds the tree from both files; an absent file is empty bytes.
///
/// Records that the snapshot already holds are passed over: a kill may come between the snapshot
/// and the cut of the log. The log ends at the first record that is not whole, not sound, or not the
/// next in turn.
pub fn recover(snapshot: &[u8], log: &[u8]) -> Result<Recovered, Damaged> {
    let mut tree = decode(snapshot)?;
    let mut at = 0;
    let mut before = None;
    while let Some(framed) = record::decode(&log[at..]) {
        if before.is_some_and(|zxid| framed.zxid != zxid + 1) {
            break;
        }
        if framed.zxid > tree.zxid() + 1 {
            let why = format!(
                "begins with change {}, the snapshot ends with {}",
                framed.zxid,
                tree.zxid()
            );
            return Err(Damaged { file: LOG_PATH, why });
        }
        if framed.zxid == tree.zxid() + 1 {
            tree.apply(&framed.multi).map_err(|error| Damaged {
                file: LOG_PATH,
                why: format!("change {}: {error}", framed.zxid),
            })?;
        }
        before = Some(framed.zxid);
        at += framed.bytes;
    }
    Ok(Recovered {
        tree,
        log_bytes: at as u64,
        cut_bytes: (log.len() - at) as u64,
    })
}

fn decode(snapshot: &[u8]) -> Result<Tree, Damaged> {
    let mut tree = Tree::default();
    if snapshot.is_empty() {
        return Ok(tree);
    }
    let damaged = |why: &str| Damaged {
        file: SNAPSHOT_PATH,
        why: why.to_owned(),
    };
    let body = record::unseal(snapshot).ok_or_else(|| damaged("its checksum does not match"))?;
    let mut reader = Reader(body);
    if reader.u32() != Some(FORMAT) {
        return Err(damaged("it was written by another version of this program"));
    }
    let short = || damaged("it ends within a node");
    let zxid = reader.i64().ok_or_else(short)?;
    while !reader.is_empty() {
        let path = reader.text().ok_or_else(short)?;
        let data = reader.bytes().ok_or_else(short)?;
        let stat = Stat {
            czxid: reader.i64().ok_or_else(short)?,
            mzxid: reader.i64().ok_or_else(short)?,
            version: reader.i32().ok_or_else(short)?,
        };
        tree.restore(&path, data, stat)
            .map_err(|error| damaged(&format!("node {path}: {error}")))?;
    }
    tree.set_zxid(zxid);
    Ok(tree)
}
