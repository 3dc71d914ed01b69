//! Helpers for the tests in `tests/`.
