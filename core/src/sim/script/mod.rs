//! Scripts: what happens in a world, line by line, in words.
//!
//! ```text
//! # The leader dies before anybody has fetched what it acknowledged.
//! brokers 3
//! topic t partitions 1 replicas 3 config min.insync.replicas=1
//! show LeadershipTaken HighWatermarkMoved RecordsAcknowledged
//! produce t-0 1 acks=1
//! step until RecordsAcknowledged
//! | 1234 ms  client 101  t-0: client 101 is told that 1 records ...
//! crash leader:t-0
//! settle
//! expect hw leader:t-0 t-0 0
//! ```
//!
//! A line is a command; `#` begins a remark; a line that begins with `|` is what the command before it
//! showed, so that a script with its output is one text that a reader can follow. The same words are
//! what a reader of the lab does, what chance does in a search, and what a failure is replayed from.
//! All of them are listed in the book (`scripts.md`).
//!
//! Reading order: [`command`] the words; `parse` how a line is read, `write` how it is written, `clients` both for
//! consumers;
//! [`pattern`] facts, described; [`query`] questions to a run;
//! [`player`] carrying a script out; [`random`] scripts that chance writes; [`search`] running many of
//! them, and finding the shortest that still fails; [`hashes`] small ones that must be the same everywhere;
//! [`speed`] what is played to measure it all.

mod clients;
pub mod command;
mod fact_names;
pub mod hashes;
mod parse;
pub mod pattern;
pub mod player;
pub mod query;
pub mod random;
#[cfg(all(test, target_arch = "wasm32"))]
mod scenarios;
pub mod search;
pub mod speed;
#[cfg(test)]
mod tests;
mod write;

pub use command::{BadScript, Command, Line, Script};
pub use fact_names::fact_names;
pub use pattern::Pattern;
pub use player::{Failure, Player};
pub use query::{Query, Sight};
