//! Fetch: enter the session -> visit its partitions -> locate -> account -> answer, or wait for data.
//!
//! A visit asks one partition what it can give from the wanted offset. At the tail the answer is in
//! memory; further back a job finds it, with a hint of where the last one ended (`far_reads`). When all
//! visits are made, the fetch is answered if it has enough bytes, or an error, or may not wait; else it is
//! parked. Each growth of a watched partition
//! takes its bytes off what the fetch still misses, and at zero, or at its deadline, the fetch visits
//! again and is answered. The records themselves never come here: an answer names ranges of files.
//!
//! Reading order: [`session`], `wait` (a fetch while it is under way), `visit` (one partition),
//! `answer`.
//!
//! Invariants
//! - at most one answer, and none after the client has left
//! - within the limits of a request the first batch comes whole, and partitions take turns
//! - consumers read below HW, under read_committed below the last stable offset

mod answer;
mod far_reads;
pub(super) mod session;
mod visit;
mod wait;

pub(super) use far_reads::FarReads;
pub(super) use wait::FetchWait;
