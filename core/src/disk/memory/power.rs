//! What is left of a log directory when the power goes.

use std::sync::Arc;

use super::content::Content;
use super::file::{File, Write, first_bytes};
use super::volume::{Directory, Name, Node, NodeNumber, ROOT, Volume};
use crate::ordered::OrderedMap;
use crate::types::Rng;

/// Decides how much of what was not synced the medium took.
pub(super) trait Taken {
    /// How many of `changes` changes, oldest first, are on the medium.
    fn of(&mut self, changes: usize) -> usize;
    /// How many bytes of the next write of `bytes` bytes are there.
    fn bytes(&mut self, bytes: u64) -> u64;
    /// Whether the length of a torn write got there before its bytes: the rest reads as zeros.
    fn zeros(&mut self) -> bool;
}

/// Nothing that was not synced.
pub(super) struct Least;

impl Taken for Least {
    fn of(&mut self, _: usize) -> usize {
        0
    }
    fn bytes(&mut self, _: u64) -> u64 {
        0
    }
    fn zeros(&mut self) -> bool {
        false
    }
}

/// Anything, by chance.
pub(super) struct Drawn<'a>(pub(super) &'a mut Rng);

impl Taken for Drawn<'_> {
    fn of(&mut self, changes: usize) -> usize {
        self.0.below(changes as u64 + 1) as usize
    }
    fn bytes(&mut self, bytes: u64) -> u64 {
        self.0.below(bytes + 1)
    }
    fn zeros(&mut self) -> bool {
        self.0.below(4) == 0
    }
}

/// The directory as the next start finds it: nothing open, nothing unsynced.
pub(super) fn after_loss(volume: &Volume, taken: &mut dyn Taken) -> Volume {
    let mut left = Volume {
        next: volume.next,
        ..Volume::default()
    };
    let mut waiting = vec![ROOT];
    while let Some(number) = waiting.pop() {
        let Some(node) = volume.nodes.get(&number) else {
            continue;
        };
        if number != ROOT && left.nodes.contains_key(&number) {
            continue; // reached by a second name
        }
        let node = match &**node {
            Node::File(file) => Node::File(File::synced(content_left(file, taken))),
            Node::Directory(directory) => {
                let names = names_left(directory, taken);
                for &node in names.values() {
                    *left.leads.entry(node).or_insert(0) += 2; // one name seen, one on the medium
                    waiting.push(node);
                }
                Node::Directory(Directory {
                    live: names.clone(),
                    synced: names,
                    unsynced: Vec::new(),
                })
            }
        };
        left.nodes.insert(number, Arc::new(node));
    }
    left
}

fn names_left(directory: &Directory, taken: &mut dyn Taken) -> OrderedMap<Name, NodeNumber> {
    let mut names = directory.synced.clone();
    let kept = taken.of(directory.unsynced.len());
    for change in directory.unsynced.iter().take(kept) {
        if let Some(name) = &change.removed {
            names.remove(name);
        }
        if let Some((name, node)) = &change.added {
            names.insert(name.clone(), *node);
        }
    }
    names
}

fn content_left(file: &File, taken: &mut dyn Taken) -> Content {
    let mut content = file.synced.clone();
    let kept = taken.of(file.unsynced.len());
    for write in file.unsynced.iter().take(kept) {
        write.apply(&mut content);
    }
    let Some(Write::Bytes { at, bufs }) = file.unsynced.get(kept) else {
        return content;
    };
    let len: u64 = bufs.iter().map(|piece| piece.len() as u64).sum();
    let there = taken.bytes(len);
    let torn = Write::Bytes {
        at: *at,
        bufs: first_bytes(bufs, there),
    };
    torn.apply(&mut content);
    if taken.zeros() {
        let missing = (at + len).saturating_sub(content.len());
        content.write(content.len(), &vec![0; missing as usize]);
    }
    content
}
