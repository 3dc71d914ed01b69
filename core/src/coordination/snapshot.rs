//! The whole tree and the sessions as bytes, and the way back from a snapshot and the log behind it.

use bytes::{BufMut, Bytes, BytesMut};
use thiserror::Error;

use super::multi::NodeError;
use super::record::{self, Change, Framed, Reader, put_bytes};
use super::session::SessionId;
use super::store::{LOG_PATH, SNAPSHOT_PATH};
use super::tree::{Stat, Tree};
use crate::ordered::OrderedMap;
use crate::types::Millis;

/// First number of a snapshot: which way of writing it follows.
const FORMAT: u32 = 2;

/// Open sessions and how long each may be silent.
pub(super) type Timeouts = OrderedMap<SessionId, Millis>;

/// One sealed record: format, zxid, number of sessions and each of them, then every node, parents first.
pub(super) fn encode(tree: &Tree, sessions: &Timeouts) -> Bytes {
    let mut body = BytesMut::new();
    body.put_u32(FORMAT);
    body.put_i64(tree.zxid());
    body.put_u32(sessions.len() as u32);
    for (session, timeout_ms) in sessions {
        body.put_i64(*session);
        body.put_i64(*timeout_ms);
    }
    for (path, node) in tree.iter() {
        put_bytes(&mut body, path.as_bytes());
        put_bytes(&mut body, &node.data);
        body.put_i64(node.stat.czxid);
        body.put_i64(node.stat.mzxid);
        body.put_i64(node.children_zxid());
        body.put_i32(node.stat.version);
        body.put_i32(node.stat.cversion);
        body.put_i64(node.stat.ephemeral_owner);
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
    /// Sessions that were open, with the time that each may be silent.
    pub sessions: OrderedMap<SessionId, Millis>,
    /// Length of the log's sound part; the file is cut to it.
    pub log_bytes: u64,
    /// Bytes of a torn tail behind it. Nothing in them was ever acknowledged.
    pub cut_bytes: u64,
}

/// Rebuilds tree and sessions from both files; an absent file is empty bytes.
///
/// Records that the snapshot already holds are passed over: a kill may come between the snapshot
/// and the cut of the log. The log ends at the first record that is not whole, not sound, or not the
/// next in turn.
pub fn recover(snapshot: &[u8], log: &[u8]) -> Result<Recovered, Damaged> {
    let (mut tree, mut sessions) = decode(snapshot)?;
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
            replay(&mut tree, &mut sessions, &framed)?;
        }
        before = Some(framed.zxid);
        at += framed.bytes;
    }
    Ok(Recovered {
        tree,
        sessions,
        log_bytes: at as u64,
        cut_bytes: (log.len() - at) as u64,
    })
}

fn replay(tree: &mut Tree, sessions: &mut Timeouts, framed: &Framed) -> Result<(), Damaged> {
    match &framed.change {
        Change::Multi { session, multi } => {
            tree.apply(multi, *session).map_err(|error| Damaged {
                file: LOG_PATH,
                why: format!("change {}: {error}", framed.zxid),
            })?;
        }
        Change::OpenSession { timeout_ms } => {
            sessions.insert(tree.pass(), *timeout_ms);
        }
        Change::CloseSession { session } => {
            sessions.remove(session);
            tree.close_session(*session);
        }
    }
    Ok(())
}

fn decode(snapshot: &[u8]) -> Result<(Tree, Timeouts), Damaged> {
    let mut sessions = Timeouts::new();
    if snapshot.is_empty() {
        return Ok((Tree::default(), sessions));
    }
    let body = record::unseal(snapshot).ok_or_else(|| damaged("its checksum does not match"))?;
    let mut reader = Reader(body);
    if reader.u32() != Some(FORMAT) {
        return Err(damaged("it was written by another version of this program"));
    }
    let zxid = reader.i64().ok_or_else(short)?;
    for _ in 0..reader.u32().ok_or_else(short)? {
        let session = reader.i64().ok_or_else(short)?;
        sessions.insert(session, reader.i64().ok_or_else(short)?);
    }
    let mut tree = Tree::default();
    while !reader.is_empty() {
        let node = take_node(&mut reader, &mut tree).ok_or_else(short)?;
        node.map_err(|(path, error)| damaged(&format!("node {path}: {error}")))?;
    }
    tree.set_zxid(zxid);
    Ok((tree, sessions))
}

/// Puts the next node into the tree; `None`: the bytes end early.
fn take_node(reader: &mut Reader<'_>, tree: &mut Tree) -> Option<Result<(), (String, NodeError)>> {
    let path = reader.text()?;
    let data = reader.bytes()?;
    let (czxid, mzxid, children_zxid) = (reader.i64()?, reader.i64()?, reader.i64()?);
    let stat = Stat {
        czxid,
        mzxid,
        version: reader.i32()?,
        cversion: reader.i32()?,
        ephemeral_owner: reader.i64()?,
    };
    let is_twice = tree.exists(&path) && &*path != "/";
    let put = if is_twice {
        Err(NodeError::NodeExists)
    } else {
        tree.put(&path, data, stat)
    };
    tree.set_children_zxid(&path, children_zxid);
    Some(put.map_err(|error| (path.to_string(), error)))
}

fn damaged(why: &str) -> Damaged {
    Damaged {
        file: SNAPSHOT_PATH,
        why: why.to_owned(),
    }
}

fn short() -> Damaged {
    damaged("it ends early")
}
