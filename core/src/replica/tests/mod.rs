//! Replication as a whole: a leader, its followers and a controller that agrees to everything that is
//! not outdated, on in-memory logs; each step is one exchange.

mod cluster;
mod leading;
mod pauses;
#[cfg(not(target_arch = "wasm32"))]
mod schedules;
mod sessions;
mod truncation;
