//! The broker as a client meets it, through a host in memory.

mod answers;
mod bad_input;
mod client;
mod deletion;
mod groups;
mod lives;
mod races;
mod requests;
mod sessions;
mod storage;
mod thread;
mod waiting;
