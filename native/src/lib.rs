//! The native host of `highwater-core`.
