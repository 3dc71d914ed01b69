//! Events in, decisions out.
