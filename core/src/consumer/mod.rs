//! # The consumer: who reads what, and how far it has come
//!
//! Members of a group share the partitions of the topics that they read; [`assignor`] says how.

pub mod assignor;
