//! The whole broker as a value.

/// A request, decoded and validated on the connection's side.
#[derive(Debug)]
pub struct Admitted {}
