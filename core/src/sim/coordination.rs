//! The coordination service beside a broker, in the same process: its value, and its disk.
//!
//! Every operation is carried out at once, unless it is held: then nothing that depends on it is told.

use std::collections::VecDeque;

use crate::coordination::{
    ClientId, CoordinationEvent, LOG_PATH, SNAPSHOT_PATH, Service, ServiceInput, ServiceOptions,
    ServiceOutput, recover,
};
use crate::disk::memory::MemoryDisk;
use crate::disk::{DirId, DiskOp, Ticket};
use crate::error::DiskError;
use crate::trace::{EventId, Trace};
use crate::types::Millis;

/// The only directory of its disk.
const DIR: DirId = 0;

/// A service and its disk.
#[derive(Debug, Default)]
pub struct EmbeddedService {
    pub disk: MemoryDisk,
    service: Option<Service>,
    hold: bool,
    waiting: VecDeque<(Ticket, DiskOp)>,
}

impl EmbeddedService {
    /// Starts on what the disk has; sessions of the life before are over, since their brokers lived in
    /// the same process.
    ///
    /// # Panics
    /// When the files are damaged.
    pub fn boot(&mut self, now: Millis, trace: &mut Trace) {
        let file = |path: &str| self.disk.read_file(DIR, path).unwrap_or_default();
        let recovered = match recover(&file(SNAPSHOT_PATH), &file(LOG_PATH)) {
            Ok(recovered) => recovered,
            Err(damaged) => panic!("{damaged}"),
        };
        let options = ServiceOptions {
            min_session_timeout_ms: 1,
            expire_all_on_start: true,
            silence_expires: false,
            ..ServiceOptions::default()
        };
        self.service = Some(Service::open(now, recovered, options, trace));
    }

    /// The process is gone.
    pub fn crash(&mut self) {
        self.service = None;
        self.waiting.clear();
        self.disk.crash();
    }

    /// And so is what was not synced.
    pub fn lose_power(&mut self) {
        self.crash();
        self.disk.power_loss();
    }

    /// Operations wait from now on, or go on with those that waited.
    pub fn hold(&mut self, hold: bool) {
        self.hold = hold;
    }

    /// The disk fails from now on.
    pub fn fail(&mut self, now: Millis, error: DiskError, trace: &mut Trace) {
        self.handle(now, ServiceInput::DiskFailed { error }, trace);
    }

    pub fn handle(&mut self, now: Millis, input: ServiceInput, trace: &mut Trace) {
        if let Some(service) = &mut self.service {
            service.handle(now, input, EventId::NONE, trace);
        }
    }

    pub fn poll_timeout(&self) -> Option<Millis> {
        self.service.as_ref()?.poll_timeout()
    }

    pub fn service(&self) -> Option<&Service> {
        self.service.as_ref()
    }

    /// What the service tells next, once the disk has done what stands before it.
    pub fn poll_event(&mut self, now: Millis, trace: &mut Trace) -> Option<(ClientId, CoordinationEvent)> {
        let service = self.service.as_mut()?;
        loop {
            while !self.hold
                && let Some((ticket, op)) = self.waiting.pop_front()
            {
                let input = match self.disk.apply(DIR, &op) {
                    Ok(()) => ServiceInput::DiskDone { upto: ticket },
                    Err(error) => ServiceInput::DiskFailed { error },
                };
                service.handle(now, input, EventId::NONE, trace);
            }
            match service.poll_output() {
                Some(ServiceOutput::Event { client, event, .. }) => return Some((client, event)),
                Some(ServiceOutput::Disk { ticket, op }) => self.waiting.push_back((ticket, op)),
                Some(ServiceOutput::Pong { .. }) => {}
                None if self.hold || self.waiting.is_empty() => return None,
                None => {}
            }
        }
    }
}
