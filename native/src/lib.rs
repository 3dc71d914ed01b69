//! The native host of `highwater-core`: real files, real sockets, real time.
//!
//! Reading order: [`disk`] carries out disk operations, [`driver`] drives the core, [`server`]
//! serves connections, [`outbound`] makes them and [`peers`] those to other brokers, [`host`] puts a
//! broker together and runs it, [`client`] runs a producer or a consumer, `output` is where words go,
//! [`cli`] are the commands.
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used))]
#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod cli;
pub mod client;
pub mod clock;
pub mod coordination;
pub mod decompress;
pub mod disk;
pub mod driver;
pub mod host;
mod http;
mod logging;
mod metrics;
pub mod outbound;
mod output;
pub mod peers;
mod progress;
pub mod server;
mod timer;
