//! Helpers for the tests in `tests/`: a broker of one's own ([`broker`]), several ([`cluster`]), a browser ([`browser`]),
//! Kafka's own tools ([`kafka`]) and brokers ([`kafka_cluster`]), who runs a tool's command ([`run_tool`]), what
//! tools print ([`tools`]), what Java's classes say ([`java`]), a real ZooKeeper ([`zookeeper`]), a client that sends any bytes ([`wire`]) and what it asks for in few words ([`requests`]).

use std::path::Path;

pub mod broker;
pub mod browser;
pub mod cluster;
pub mod java;
pub mod kafka;
pub mod kafka_cluster;
pub mod requests;
pub mod run_tool;
pub mod tools;
pub mod wire;
pub mod zookeeper;

/// The folder of the whole project.
pub fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap_or(Path::new("."))
}
