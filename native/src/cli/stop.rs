//! Ctrl-C and SIGTERM: a tool that was told to stop ends well, and its process as one that was stopped.

use std::fmt;
use std::io;

use tokio::signal::unix::{self, SignalKind, signal};

/// Hears of signals from its making on.
pub struct Stop {
    interrupt: unix::Signal,
    terminate: unix::Signal,
}

impl Stop {
    /// Called within a runtime.
    pub fn new() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    /// Waits for the next signal, and answers its number. It may be dropped before it is done.
    pub async fn signalled(&mut self) -> i32 {
        tokio::select! {
            _ = self.interrupt.recv() => SignalKind::interrupt().as_raw_value(),
            _ = self.terminate.recv() => SignalKind::terminate().as_raw_value(),
        }
    }
}

/// A command was stopped by this signal. It has done what there was to do, and says nothing more.
#[derive(Clone, Copy, Debug)]
pub struct Interrupted(pub i32);

impl Interrupted {
    /// What a shell expects of a process that a signal ended, and what a JVM answers.
    pub fn exit_code(self) -> u8 {
        u8::try_from(128 + self.0).unwrap_or(1)
    }
}

impl fmt::Display for Interrupted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "stopped by signal {}", self.0)
    }
}

impl std::error::Error for Interrupted {}
