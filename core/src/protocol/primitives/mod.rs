//! The wire's primitive types: a [`Reader`] that believes no length, and a [`Writer`].
//!
//! Kafka has two spellings of strings, byte strings and arrays: the old one with a length of two
//! or four bytes (-1 is null) and the compact one with an unsigned varint of length + 1 (0 is
//! null). A message uses one of them throughout, so reader and writer carry it as a switch.

mod reader;
mod writer;

pub use reader::{MAX_ITEMS, Reader};
pub use writer::{Writer, part_len, tagged_field};
