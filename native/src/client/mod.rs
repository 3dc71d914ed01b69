//! The host of the core's clients: sockets, a clock and chance for a producer or a consumer.
//!
//! A client of the core is a value that neither waits nor sends. [`Hosted`] gives it what it lacks: its
//! frames go out by [`Outbound`](crate::outbound::Outbound) connections, answers and time come in on the
//! runtime's threads, and the application, on a thread of its own, calls it at any time. So a member's
//! heartbeats go on while the application works, as with the threads of Java's clients.
//!
//! ```text
//! application ── with ──►┐                ┌── Send, Disconnect ──► Outbound ──► brokers
//!                        ├─ lock ─ client ┤                            │
//! timer, connections ────┘                └── next tick ──► Timer      │
//!          ▲───────────────────── answers, failures ───────────────────┘
//! ```
//!
//! Reading order: [`hosted`] (the lock and what happens under it), [`caller`] (what connections report),
//! [`consumer`] and [`producer`] (whose calls wait, as Java's do), [`warnings`] (what a user should hear of).

mod caller;
pub mod consumer;
mod hosted;
pub mod producer;
mod warnings;

pub use consumer::{KafkaConsumer, Polled};
pub use hosted::{CoreClient, Hosted, Listener};
pub use producer::KafkaProducer;
pub use warnings::Warnings;
