//! One log directory: a tree of names over numbered files and directories.
//!
//! Names and files are apart, as in a real file system: a name leads to a node by number, so a
//! rename moves no byte and an open file outlives its name. A node goes when the last thing that
//! leads to it is gone: a name seen now, a name on the medium, a change not yet synced, a binding.

use std::sync::Arc;

use bytes::Bytes;

use super::content::Content;
use super::file::{File, Write};
use super::{INVALID, NOT_OPEN, WRONG_KIND};
use crate::disk::{DiskOp, Pieces};
use crate::error::DiskError;
use crate::ordered::{OrderedMap, OrderedSet};

pub(super) type NodeNumber = u64;
pub(super) type Name = Arc<str>;
/// The log directory itself.
pub(super) const ROOT: NodeNumber = 0;

/// One step of a directory: a name taken away, a name given, or both at once (a rename).
#[derive(Clone, Debug)]
pub(super) struct NameChange {
    pub(super) removed: Option<Name>,
    pub(super) added: Option<(Name, NodeNumber)>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Directory {
    pub(super) live: OrderedMap<Name, NodeNumber>,
    pub(super) synced: OrderedMap<Name, NodeNumber>,
    /// Oldest first: `synced` with all of them done is `live`.
    pub(super) unsynced: Vec<NameChange>,
}

#[derive(Clone, Debug)]
pub(super) enum Node {
    File(File),
    Directory(Directory),
}

#[derive(Clone, Debug)]
pub(super) struct Volume {
    pub(super) nodes: OrderedMap<NodeNumber, Arc<Node>>,
    /// How many names, changes and bindings lead to each node; the root needs none.
    pub(super) leads: OrderedMap<NodeNumber, u32>,
    pub(super) open: OrderedMap<u64, NodeNumber>,
    pub(super) next: NodeNumber,
}

impl Default for Volume {
    fn default() -> Self {
        let root = Arc::new(Node::Directory(Directory::default()));
        Self {
            nodes: OrderedMap::from([(ROOT, root)]),
            leads: OrderedMap::new(),
            open: OrderedMap::new(),
            next: ROOT + 1,
        }
    }
}

impl Volume {
    pub(super) fn apply(&mut self, op: &DiskOp) -> Result<(), DiskError> {
        match op {
            DiskOp::Open { file, path } => self.open(file.number, path),
            DiskOp::Append { file, at, bufs } => self.append(file.number, *at, bufs),
            DiskOp::Truncate { file, len } => self.truncate(file.number, *len),
            DiskOp::Sync { file } => {
                self.open_file(file.number)?.sync();
                Ok(())
            }
            DiskOp::Close { file } => self.close(file.number),
            DiskOp::Rename { from, to } => self.rename(from, to),
            DiskOp::Unlink { path } => self.unlink(path),
            DiskOp::Replace { path, bytes } => {
                self.put(path, bytes)?;
                let (parent, _) = self.parent_of(path)?;
                self.sync_directory(parent)
            }
            DiskOp::SyncDirectory { path } => {
                let directory = self.find(path)?;
                self.sync_directory(directory)
            }
        }
    }

    fn open(&mut self, number: u64, path: &str) -> Result<(), DiskError> {
        let (parent, name) = self.make_parents(path)?;
        let node = match self.directory(parent)?.live.get(name) {
            Some(&node) => node,
            None => {
                let node = self.new_node(Node::File(File::default()));
                self.change(parent, None, Some((name.into(), node)))?;
                node
            }
        };
        if !matches!(self.node(node)?, Node::File(_)) {
            return Err(WRONG_KIND);
        }
        self.hold(node);
        if let Some(earlier) = self.open.insert(number, node) {
            self.release(earlier);
        }
        Ok(())
    }

    pub(super) fn append(&mut self, number: u64, at: u64, bufs: &Pieces) -> Result<(), DiskError> {
        let file = self.open_file(number)?;
        if at > file.live.len() {
            return Err(INVALID);
        }
        file.write(Write::Bytes {
            at,
            bufs: bufs.clone(),
        });
        Ok(())
    }

    fn truncate(&mut self, number: u64, len: u64) -> Result<(), DiskError> {
        let file = self.open_file(number)?;
        if len > file.live.len() {
            return Err(INVALID);
        }
        file.write(Write::Cut { len });
        Ok(())
    }

    fn close(&mut self, number: u64) -> Result<(), DiskError> {
        let node = self.open.remove(&number).ok_or(NOT_OPEN)?;
        self.release(node);
        Ok(())
    }

    pub(super) fn close_all(&mut self) {
        for node in std::mem::take(&mut self.open).into_values() {
            self.release(node);
        }
    }

    fn rename(&mut self, from: &str, to: &str) -> Result<(), DiskError> {
        let node = self.find(from)?;
        let (old_parent, old_name) = self.parent_of(from)?;
        let (new_parent, new_name) = self.make_parents(to)?;
        if old_parent == new_parent {
            return self.change(old_parent, Some(old_name.into()), Some((new_name.into(), node)));
        }
        self.change(new_parent, None, Some((new_name.into(), node)))?;
        self.change(old_parent, Some(old_name.into()), None)
    }

    /// Removes what is in a directory name by name, then the directory's own name.
    fn unlink(&mut self, path: &str) -> Result<(), DiskError> {
        let node = match self.find(path) {
            Err(DiskError::NotFound) => return Ok(()),
            found => found?,
        };
        if let Node::Directory(directory) = self.node(node)? {
            for name in directory.live.keys().cloned().collect::<Vec<_>>() {
                self.unlink(&format!("{path}/{name}"))?;
            }
        }
        let (parent, name) = self.parent_of(path)?;
        self.change(parent, Some(name.into()), None)
    }

    /// A new, synced file under the path; whoever had the old one open keeps it.
    fn put(&mut self, path: &str, bytes: &Bytes) -> Result<(), DiskError> {
        let (parent, name) = self.make_parents(path)?;
        let node = self.new_node(Node::File(File::synced(Content::from_bytes(bytes))));
        self.change(parent, None, Some((name.into(), node)))
    }

    pub(super) fn put_synced(&mut self, path: &str, bytes: &Bytes) -> Result<(), DiskError> {
        self.put(path, bytes)?;
        let mut upto = path;
        while let Some((directory, _)) = upto.rsplit_once('/') {
            self.sync_directory(self.find(directory)?)?;
            upto = directory;
        }
        self.sync_directory(ROOT)
    }

    fn sync_directory(&mut self, number: NodeNumber) -> Result<(), DiskError> {
        let directory = self.directory_mut(number)?;
        let mut freed = Vec::new();
        for change in std::mem::take(&mut directory.unsynced) {
            freed.extend(change.removed.and_then(|name| directory.synced.remove(&name)));
            // The change's own lead becomes the synced name's.
            freed.extend(
                change
                    .added
                    .and_then(|(name, node)| directory.synced.insert(name, node)),
            );
        }
        freed.into_iter().for_each(|node| self.release(node));
        Ok(())
    }

    fn change(
        &mut self,
        parent: NodeNumber,
        removed: Option<Name>,
        added: Option<(Name, NodeNumber)>,
    ) -> Result<(), DiskError> {
        if let Some((_, node)) = &added {
            self.hold(*node);
            self.hold(*node);
        }
        let directory = self.directory_mut(parent)?;
        let gone = removed.as_ref().and_then(|name| directory.live.remove(name));
        let replaced = added
            .clone()
            .and_then(|(name, node)| directory.live.insert(name, node));
        directory.unsynced.push(NameChange { removed, added });
        gone.into_iter()
            .chain(replaced)
            .for_each(|node| self.release(node));
        Ok(())
    }

    fn new_node(&mut self, node: Node) -> NodeNumber {
        let number = self.next;
        self.next += 1;
        self.nodes.insert(number, Arc::new(node));
        number
    }

    fn hold(&mut self, node: NodeNumber) {
        *self.leads.entry(node).or_insert(0) += 1;
    }

    fn release(&mut self, number: NodeNumber) {
        let mut gone = vec![number];
        while let Some(number) = gone.pop() {
            let Some(leads) = self.leads.get_mut(&number) else {
                continue;
            };
            *leads -= 1;
            if *leads > 0 {
                continue;
            }
            self.leads.remove(&number);
            if let Some(node) = self.nodes.remove(&number)
                && let Node::Directory(directory) = &*node
            {
                gone.extend(directory.live.values());
                gone.extend(directory.synced.values());
                gone.extend(
                    directory
                        .unsynced
                        .iter()
                        .filter_map(|change| Some(change.added.as_ref()?.1)),
                );
            }
        }
    }

    /// Splits a path into its directory, which must be there, and its last name.
    fn parent_of<'p>(&self, path: &'p str) -> Result<(NodeNumber, &'p str), DiskError> {
        let (parent, name) = path.rsplit_once('/').unwrap_or(("", path));
        check_name(name)?;
        Ok((self.find(parent)?, name))
    }

    fn make_parents<'p>(&mut self, path: &'p str) -> Result<(NodeNumber, &'p str), DiskError> {
        let (parents, name) = path.rsplit_once('/').unwrap_or(("", path));
        check_name(name)?;
        let mut at = ROOT;
        for part in parents.split('/').filter(|_| !parents.is_empty()) {
            check_name(part)?;
            at = match self.directory(at)?.live.get(part) {
                Some(&node) => node,
                None => {
                    let node = self.new_node(Node::Directory(Directory::default()));
                    self.change(at, None, Some((part.into(), node)))?;
                    node
                }
            };
        }
        Ok((at, name))
    }

    fn find(&self, path: &str) -> Result<NodeNumber, DiskError> {
        let mut at = ROOT;
        for part in path.split('/').filter(|_| !path.is_empty()) {
            check_name(part)?;
            at = *self.directory(at)?.live.get(part).ok_or(DiskError::NotFound)?;
        }
        Ok(at)
    }

    fn node(&self, number: NodeNumber) -> Result<&Node, DiskError> {
        self.nodes
            .get(&number)
            .map(|node| &**node)
            .ok_or(DiskError::NotFound)
    }

    fn directory(&self, number: NodeNumber) -> Result<&Directory, DiskError> {
        match self.node(number)? {
            Node::Directory(directory) => Ok(directory),
            Node::File(_) => Err(WRONG_KIND),
        }
    }

    fn directory_mut(&mut self, number: NodeNumber) -> Result<&mut Directory, DiskError> {
        match self.nodes.get_mut(&number).map(Arc::make_mut) {
            Some(Node::Directory(directory)) => Ok(directory),
            Some(Node::File(_)) => Err(WRONG_KIND),
            None => Err(DiskError::NotFound),
        }
    }

    fn open_file(&mut self, number: u64) -> Result<&mut File, DiskError> {
        let node = *self.open.get(&number).ok_or(NOT_OPEN)?;
        match self.nodes.get_mut(&node).map(Arc::make_mut) {
            Some(Node::File(file)) => Ok(file),
            _ => Err(NOT_OPEN),
        }
    }

    pub(super) fn open_content(&self, number: u64) -> Result<&Content, DiskError> {
        self.content_of(*self.open.get(&number).ok_or(NOT_OPEN)?)
    }

    pub(super) fn content(&self, path: &str) -> Result<&Content, DiskError> {
        self.content_of(self.find(path)?)
    }

    fn content_of(&self, number: NodeNumber) -> Result<&Content, DiskError> {
        match self.node(number)? {
            Node::File(file) => Ok(&file.live),
            Node::Directory(_) => Err(WRONG_KIND),
        }
    }

    pub(super) fn list(&self, path: &str) -> Result<Vec<String>, DiskError> {
        let show = |(name, &node): (&Name, &NodeNumber)| match self.node(node)? {
            Node::Directory(_) => Ok(format!("{name}/")),
            Node::File(_) => Ok(name.to_string()),
        };
        let names = self.directory(self.find(path)?)?.live.iter();
        let names = names.map(show).collect::<Result<OrderedSet<_>, DiskError>>()?;
        Ok(names.into_iter().collect())
    }

    pub(super) fn files(&self) -> Vec<(String, u64)> {
        let mut found = OrderedMap::new();
        let mut waiting = vec![(String::new(), ROOT)];
        while let Some((path, number)) = waiting.pop() {
            match self.node(number) {
                Ok(Node::File(file)) => {
                    found.insert(path, file.live.len());
                }
                Ok(Node::Directory(directory)) => {
                    let below = |name: &Name| match path.as_str() {
                        "" => name.to_string(),
                        path => format!("{path}/{name}"),
                    };
                    waiting.extend(directory.live.iter().map(|(name, &node)| (below(name), node)));
                }
                Err(_) => {}
            }
        }
        found.into_iter().collect()
    }
}

/// No name may be empty or lead out of the log directory.
fn check_name(name: &str) -> Result<(), DiskError> {
    match name {
        "" | "." | ".." => Err(INVALID),
        _ => Ok(()),
    }
}
