//! The tree of nodes, in memory.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;

use super::multi::{Multi, MultiError, NodeError, Op, OpResult};

/// Number of a multi, from 1, in the order in which they happened.
pub type Zxid = i64;

/// Most bytes that one node may hold (ZooKeeper's default `jute.maxbuffer`, less what frames it there).
pub const MAX_DATA_BYTES: u32 = 1_048_575 - 1024;

/// What is known of a node besides its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    /// The multi that created it.
    pub czxid: Zxid,
    /// The multi that last changed its bytes.
    pub mzxid: Zxid,
    /// How often its bytes were replaced.
    pub version: i32,
}

/// One node: bytes, stat, and the names of its children.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    pub data: Bytes,
    pub stat: Stat,
    children: BTreeSet<Arc<str>>,
}

/// All nodes by path. The root `/` is always there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    nodes: BTreeMap<Arc<str>, Node>,
    zxid: Zxid,
}

impl Default for Tree {
    fn default() -> Self {
        let stat = Stat {
            czxid: 0,
            mzxid: 0,
            version: 0,
        };
        let root = Node {
            data: Bytes::new(),
            stat,
            children: BTreeSet::new(),
        };
        Self {
            nodes: BTreeMap::from([("/".into(), root)]),
            zxid: 0,
        }
    }
}

impl Tree {
    /// The last multi that happened; 0 when none did.
    pub fn zxid(&self) -> Zxid {
        self.zxid
    }

    pub fn get(&self, path: &str) -> Option<&Node> {
        self.nodes.get(path)
    }

    pub fn exists(&self, path: &str) -> bool {
        self.nodes.contains_key(path)
    }

    /// Names of the node's children, in order; none when there is no such node.
    pub fn children(&self, path: &str) -> impl Iterator<Item = &Arc<str>> {
        self.nodes.get(path).into_iter().flat_map(|node| &node.children)
    }

    /// Every node with its path; a parent comes before its children.
    pub fn iter(&self) -> impl Iterator<Item = (&Arc<str>, &Node)> {
        self.nodes.iter()
    }

    /// Does all operations of the multi under the next zxid, or none.
    pub fn apply(&mut self, multi: &Multi) -> Result<Vec<OpResult>, MultiError> {
        let zxid = self.zxid + 1;
        let mut undo = Vec::new();
        let mut results = Vec::with_capacity(multi.ops.len());
        for (index, op) in multi.ops.iter().enumerate() {
            match self.apply_op(op, zxid, &mut undo) {
                Ok(result) => results.push(result),
                Err(error) => {
                    self.roll_back(undo);
                    return Err(MultiError {
                        index: index as u32,
                        path: op.path().clone(),
                        error,
                    });
                }
            }
        }
        self.zxid = zxid;
        Ok(results)
    }

    fn apply_op(&mut self, op: &Op, zxid: Zxid, undo: &mut Undo) -> Result<OpResult, NodeError> {
        match op {
            Op::Create { path, data } => self.create(path, data, zxid, undo).map(OpResult::Created),
            Op::Set { path, data, version } => {
                check_size(data)?;
                self.at_version(path, *version)?;
                let node = self.change(path, undo).ok_or(NodeError::NoNode)?;
                node.data = data.clone();
                node.stat.mzxid = zxid;
                node.stat.version = node.stat.version.wrapping_add(1);
                Ok(OpResult::Set(node.stat))
            }
            Op::Delete { path, version } => self.delete(path, *version, undo).map(|()| OpResult::Deleted),
            Op::Check { path, version } => self.at_version(path, *version).map(|_| OpResult::Checked),
        }
    }

    fn create(
        &mut self,
        path: &Arc<str>,
        data: &Bytes,
        zxid: Zxid,
        undo: &mut Undo,
    ) -> Result<Stat, NodeError> {
        check_size(data)?;
        if !is_valid(path) {
            return Err(NodeError::BadArguments);
        }
        let (parent, name) = split(path).ok_or(NodeError::NodeExists)?;
        if self.exists(path) {
            return Err(NodeError::NodeExists);
        }
        let parent = self.change(parent, undo).ok_or(NodeError::NoNode)?;
        parent.children.insert(name.into());
        let stat = Stat {
            czxid: zxid,
            mzxid: zxid,
            version: 0,
        };
        undo.push((path.clone(), None));
        self.nodes.insert(
            path.clone(),
            Node {
                data: data.clone(),
                stat,
                children: BTreeSet::new(),
            },
        );
        Ok(stat)
    }

    fn delete(&mut self, path: &Arc<str>, version: Option<i32>, undo: &mut Undo) -> Result<(), NodeError> {
        let (parent, name) = split(path).ok_or(NodeError::BadArguments)?;
        if !self.at_version(path, version)?.children.is_empty() {
            return Err(NodeError::NotEmpty);
        }
        if let Some(parent) = self.change(parent, undo) {
            parent.children.remove(name);
        }
        undo.push((path.clone(), self.nodes.remove(path)));
        Ok(())
    }

    fn at_version(&self, path: &str, version: Option<i32>) -> Result<&Node, NodeError> {
        let node = self.nodes.get(path).ok_or(NodeError::NoNode)?;
        match version {
            Some(expected) if expected != node.stat.version => Err(NodeError::BadVersion {
                expected,
                actual: node.stat.version,
            }),
            _ => Ok(node),
        }
    }

    /// The node, to be changed; how it was goes to the undo list.
    fn change(&mut self, path: &str, undo: &mut Undo) -> Option<&mut Node> {
        let (key, before) = self.nodes.get_key_value(path)?;
        undo.push((key.clone(), Some(before.clone())));
        self.nodes.get_mut(path)
    }

    fn roll_back(&mut self, undo: Undo) {
        for (path, before) in undo.into_iter().rev() {
            match before {
                Some(node) => self.nodes.insert(path, node),
                None => self.nodes.remove(&path),
            };
        }
    }

    /// Puts a node of a snapshot in its place. Parents come first; the root's own bytes may be given.
    pub(super) fn restore(&mut self, path: &Arc<str>, data: Bytes, stat: Stat) -> Result<(), NodeError> {
        if !is_valid(path) {
            return Err(NodeError::BadArguments);
        }
        let Some((parent, name)) = split(path) else {
            let root = self.nodes.get_mut("/").ok_or(NodeError::NoNode)?;
            (root.data, root.stat) = (data, stat);
            return Ok(());
        };
        let parent = self.nodes.get_mut(parent).ok_or(NodeError::NoNode)?;
        if !parent.children.insert(name.into()) {
            return Err(NodeError::NodeExists);
        }
        self.nodes.insert(
            path.clone(),
            Node {
                data,
                stat,
                children: BTreeSet::new(),
            },
        );
        Ok(())
    }

    pub(super) fn set_zxid(&mut self, zxid: Zxid) {
        self.zxid = zxid;
    }
}

/// How nodes were before a multi touched them, oldest first; `None`: not there.
type Undo = Vec<(Arc<str>, Option<Node>)>;

fn check_size(data: &Bytes) -> Result<(), NodeError> {
    let asked = data.len() as u64;
    if asked > u64::from(MAX_DATA_BYTES) {
        return Err(NodeError::TooLarge {
            limit: MAX_DATA_BYTES,
            asked,
        });
    }
    Ok(())
}

fn is_valid(path: &str) -> bool {
    path == "/"
        || path.strip_prefix('/').is_some_and(|parts| {
            parts
                .split('/')
                .all(|part| !matches!(part, "" | "." | "..") && !part.contains('\0'))
        })
}

/// Parent and name; `None` for the root.
fn split(path: &str) -> Option<(&str, &str)> {
    let (parent, name) = path.rsplit_once('/')?;
    if name.is_empty() {
        return None;
    }
    Some((if parent.is_empty() { "/" } else { parent }, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree() -> Tree {
        let mut tree = Tree::default();
        tree.apply(&Multi::new().create("/a", "1").create("/a/b", "2"))
            .unwrap();
        tree
    }

    fn refused(tree: &mut Tree, multi: &Multi) -> (u32, NodeError) {
        let before = tree.clone();
        let error = tree.apply(multi).unwrap_err();
        assert_eq!(*tree, before, "a refused multi leaves no trace");
        (error.index, error.error)
    }

    #[test]
    fn a_multi_happens_whole_under_one_zxid() {
        let mut tree = tree();
        assert_eq!(tree.zxid(), 1);
        let results = tree.apply(
            &Multi::new()
                .set("/a", "x", Some(0))
                .create("/a/c", "3")
                .check("/a", Some(1)),
        );
        let results = results.unwrap();
        assert_eq!(
            results[0],
            OpResult::Set(Stat {
                czxid: 1,
                mzxid: 2,
                version: 1
            })
        );
        assert_eq!(
            results[1],
            OpResult::Created(Stat {
                czxid: 2,
                mzxid: 2,
                version: 0
            })
        );
        assert_eq!(results[2], OpResult::Checked);
        assert_eq!(tree.children("/a").map(|n| &**n).collect::<Vec<_>>(), ["b", "c"]);
    }

    #[test]
    fn a_multi_that_fails_late_undoes_what_it_did_early() {
        let mut tree = tree();
        let multi = Multi::new()
            .create("/new", "")
            .create("/new/child", "")
            .set("/a", "x", None)
            .delete("/a/b", None)
            .check("/a", Some(7));
        assert_eq!(
            refused(&mut tree, &multi),
            (
                4,
                NodeError::BadVersion {
                    expected: 7,
                    actual: 1
                }
            )
        );
    }

    #[test]
    fn each_operation_is_refused_for_its_own_reason() {
        let mut tree = tree();
        let cases = [
            (Multi::new().create("/a", ""), NodeError::NodeExists),
            (Multi::new().create("/", ""), NodeError::NodeExists),
            (Multi::new().create("/no/child", ""), NodeError::NoNode),
            (Multi::new().set("/no", "", None), NodeError::NoNode),
            (
                Multi::new().set("/a", "", Some(3)),
                NodeError::BadVersion {
                    expected: 3,
                    actual: 0,
                },
            ),
            (Multi::new().delete("/a", None), NodeError::NotEmpty),
            (Multi::new().delete("/", None), NodeError::BadArguments),
            (Multi::new().check("/no", None), NodeError::NoNode),
            (Multi::new().create("a", ""), NodeError::BadArguments),
            (Multi::new().create("/a/../b", ""), NodeError::BadArguments),
            (Multi::new().create("/a//b", ""), NodeError::BadArguments),
            (
                Multi::new().create("/big", vec![0; 2_000_000]),
                NodeError::TooLarge {
                    limit: MAX_DATA_BYTES,
                    asked: 2_000_000,
                },
            ),
        ];
        for (multi, error) in cases {
            assert_eq!(refused(&mut tree, &multi), (0, error), "{multi:?}");
        }
    }

    #[test]
    fn a_node_made_again_is_another_node() {
        let mut tree = tree();
        tree.apply(&Multi::new().set("/a/b", "x", None)).unwrap();
        tree.apply(&Multi::new().delete("/a/b", Some(1)).create("/a/b", "y"))
            .unwrap();
        assert_eq!(
            tree.get("/a/b").unwrap().stat,
            Stat {
                czxid: 3,
                mzxid: 3,
                version: 0
            }
        );
    }
}
