//! # highwater-core: a Kafka broker as a value
//!
//! Nothing here opens a file or a socket, reads a clock, draws a random number or starts a thread.
//! A *host* does that: the native broker (package `highwater`) or the lab in the browser (package
//! `highwater-web`). The host pushes what happened in, as an [`Input`](io::Input), and takes what
//! shall happen out, as an [`Output`](io::Output); time and seeds are arguments. So the same code
//! can be run for real, tested step by step, and watched.
//!
//! Reading order, which is also the order of dependencies: each layer uses only those above it.
//!
//! 1. [`full`], [`ordered`], [`types`], [`error`], [`trace`]: what a build has, maps, the words; the facts that a run leaves behind
//! 2. [`record`]: record batches, format v2, byte by byte
//! 3. [`disk`], [`cx`]: what the core asks of a disk; what every deciding function is handed
//! 4. [`protocol`]: frames, headers, requests and answers
//! 5. [`log`]: one partition's log on disk: segments, sparse indexes, recovery, retention
//! 6. [`coordination`]: the tree of nodes that remembers topics, ids and configurations
//! 7. [`config`]: every key of a broker and of a topic, in one table
//! 8. [`metadata`]: what is known of the cluster: topics, partitions, brokers, settings
//! 9. [`replica`]: a partition as its leader sees it, and where operations wait
//! 10. [`controller`]: the broker that decides for the cluster
//! 11. [`coordinator`], [`group`]: state that lives in a topic; consumer groups and their offsets
//! 12. [`client`]: what producers and consumers have in common: connections, versions, metadata
//! 13. [`producer`], [`consumer`]: records into a cluster, and out of it, alone or shared with a group
//! 14. [`io`], [`broker`]: the host contract and the broker that keeps it
//! 15. [`view`]: what an onlooker knows of a cluster, folded from its facts
//! 16. [`stage`]: what is drawn of it, and said of what is drawn
//! 17. [`sim`]: a host in memory, for tests and for the lab

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used))]
#![forbid(unsafe_code)]

#[macro_use]
mod mutation;

pub mod broker;
pub mod client;
pub mod config;
pub mod consumer;
pub mod controller;
pub mod coordination;
pub mod coordinator;
pub mod cx;
pub mod disk;
pub mod error;
pub mod full;
pub mod group;
pub mod io;
pub mod log;
pub mod metadata;
pub mod ordered;
pub mod producer;
pub mod protocol;
pub mod record;
pub mod replica;
pub mod sim;
pub mod stage;
pub mod trace;
pub mod types;
pub mod view;
