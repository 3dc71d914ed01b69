//! Helpers for the tests in `tests/`: a broker of one's own ([`broker`]).

pub mod broker;
