//! What the controller has read of the coordination tree, with its own writes done to it.
//!
//! While it holds the office the controller alone writes these nodes, so the next decision need not
//! wait until the last one is acknowledged: it builds on the mirror. The versions that its writes will
//! have are known beforehand, and each write names the version that it replaces; should the mirror be
//! wrong, the write fails and the controller resigns.
//!
//! Invariant: after every acknowledged write the nodes held here are as in the tree.

use std::ops::Bound;
use std::sync::Arc;

use bytes::Bytes;

use crate::coordination::{Multi, MultiError, NodeError, Op, Stat};
use crate::metadata::nodes::{NodeSource, NodeView};
use crate::ordered::{OrderedMap, OrderedSet};

/// One node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    pub data: Bytes,
    pub version: i32,
    pub czxid: i64,
    /// The change that last wrote it. `None`: a change of this controller, later than all that was read.
    pub mzxid: Option<i64>,
}

/// The nodes by path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mirror {
    nodes: OrderedMap<Arc<str>, Held>,
}

impl Mirror {
    pub fn get(&self, path: &str) -> Option<&Held> {
        self.nodes.get(path)
    }

    pub fn contains(&self, path: &str) -> bool {
        self.nodes.contains_key(path)
    }

    /// Takes up what was read at the path.
    pub fn put(&mut self, path: &Arc<str>, found: &Option<(Bytes, Stat)>) {
        match found {
            None => drop(self.nodes.remove(path)),
            Some((data, stat)) => {
                let held = Held {
                    data: data.clone(),
                    version: stat.version,
                    czxid: stat.czxid,
                    mzxid: Some(stat.mzxid),
                };
                self.nodes.insert(path.clone(), held);
            }
        }
    }

    /// The node is as it was.
    pub fn put_back(&mut self, path: &Arc<str>, held: Option<Held>) {
        match held {
            None => drop(self.nodes.remove(path)),
            Some(held) => drop(self.nodes.insert(path.clone(), held)),
        }
    }

    /// The node is there; nothing else of it matters.
    pub fn assume(&mut self, path: String) {
        self.nodes.entry(path.into()).or_insert(Held {
            data: Bytes::new(),
            version: 0,
            czxid: 0,
            mzxid: None,
        });
    }

    /// Forgets the node and all below it.
    pub fn forget(&mut self, path: &str) {
        let below = format!("{path}/");
        let gone: Vec<Arc<str>> = self
            .nodes
            .range::<str, _>((Bound::Included(path), Bound::Unbounded))
            .map(|(known, _)| known)
            .take_while(|known| known.starts_with(path))
            .filter(|known| &***known == path || known.starts_with(&below))
            .cloned()
            .collect();
        for known in gone {
            self.nodes.remove(&known);
        }
    }

    /// Does the multi here, whole or not at all.
    pub fn apply(&mut self, multi: &Multi) -> Result<(), MultiError> {
        let mut undo = Vec::new();
        for (index, op) in multi.ops.iter().enumerate() {
            if let Err(error) = self.apply_op(op, &mut undo) {
                for (path, before) in undo.into_iter().rev() {
                    match before {
                        Some(held) => self.nodes.insert(path, held),
                        None => self.nodes.remove(&path),
                    };
                }
                return Err(MultiError {
                    index: index as u32,
                    path: op.path().clone(),
                    error,
                });
            }
        }
        Ok(())
    }

    fn apply_op(&mut self, op: &Op, undo: &mut Vec<(Arc<str>, Option<Held>)>) -> Result<(), NodeError> {
        let path = op.path();
        let (data, version) = match op {
            // Their names are the service's to give; nobody decides by them.
            Op::Create { kind, .. } if kind.is_sequential() => return Ok(()),
            Op::Create { data, .. } => {
                if self.contains(path) {
                    return Err(NodeError::NodeExists);
                }
                (Some(data), 0)
            }
            Op::Set { data, version, .. } => (Some(data), self.at(path, *version)?.wrapping_add(1)),
            Op::Delete { version, .. } => {
                self.at(path, *version)?;
                (None, 0)
            }
            Op::Check { version, .. } => return self.at(path, *version).map(drop),
        };
        undo.push((path.clone(), self.nodes.get(path).cloned()));
        match data {
            None => drop(self.nodes.remove(path)),
            Some(data) => {
                let held = Held {
                    data: data.clone(),
                    version,
                    czxid: self.nodes.get(path).map_or(0, |held| held.czxid),
                    mzxid: None,
                };
                self.nodes.insert(path.clone(), held);
            }
        }
        Ok(())
    }

    fn at(&self, path: &str, version: Option<i32>) -> Result<i32, NodeError> {
        let actual = self.get(path).ok_or(NodeError::NoNode)?.version;
        match version {
            Some(expected) if expected != actual => Err(NodeError::BadVersion { expected }),
            _ => Ok(actual),
        }
    }
}

impl NodeSource for Mirror {
    fn node(&self, path: &str) -> Option<NodeView<'_>> {
        self.get(path).map(|held| NodeView {
            data: &held.data,
            version: held.version,
            czxid: held.czxid,
        })
    }

    /// Goes through all that is below: for a whole reading, not for a daily one.
    fn child_names(&self, path: &str) -> Vec<Arc<str>> {
        let below = format!("{path}/");
        let names: OrderedSet<&str> = self
            .nodes
            .range::<str, _>((Bound::Included(&*below), Bound::Unbounded))
            .map_while(|(known, _)| known.strip_prefix(&below))
            .filter_map(|rest| rest.split('/').next())
            .collect();
        names.into_iter().map(Arc::from).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_follow_the_writes_and_a_refused_multi_leaves_no_trace() {
        let mut mirror = Mirror::default();
        mirror
            .apply(
                &Multi::new()
                    .create("/a", "1")
                    .set("/a", "2", Some(0))
                    .set("/a", "3", Some(1)),
            )
            .unwrap();
        assert_eq!(mirror.get("/a").unwrap().version, 2);
        let before = mirror.clone();
        let wrong = Multi::new()
            .create("/b", "")
            .delete("/a", None)
            .set("/c", "", None);
        assert_eq!(mirror.apply(&wrong).unwrap_err().index, 2);
        assert_eq!(mirror, before);
        let stale = Multi::new().set("/a", "4", Some(1));
        assert!(mirror.apply(&stale).is_err());
    }

    #[test]
    fn names_that_begin_alike_are_not_children() {
        let mut mirror = Mirror::default();
        for path in ["/t/a", "/t/a/partitions", "/t/a-b", "/t/ab", "/t/a.b/x", "/u"] {
            mirror.assume(path.to_owned());
        }
        let names = |mirror: &Mirror| {
            mirror
                .child_names("/t")
                .iter()
                .map(|n| n.to_string())
                .collect::<Vec<_>>()
        };
        assert_eq!(names(&mirror), ["a", "a-b", "a.b", "ab"]);
        mirror.forget("/t/a");
        assert_eq!(names(&mirror), ["a-b", "a.b", "ab"]);
    }
}
