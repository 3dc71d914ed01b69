//! Helpers for the tests in `tests/`: a broker of one's own ([`broker`]), a client that sends any
//! bytes ([`wire`]).

pub mod broker;
pub mod kafka;
pub mod wire;
