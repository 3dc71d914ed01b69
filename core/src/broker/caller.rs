//! Who waits for an answer, and the queue in which answers and wishes leave.

use std::collections::VecDeque;

use super::admit::Admitted;
use crate::io::{ConnId, Level, ListenerId, Output, Parts, RequestId};
use crate::protocol::{ResponseBody, encode_response};
use crate::trace::EventId;

/// One request that is owed an answer, and the form that the answer takes.
#[derive(Clone, Copy, Debug)]
pub struct Caller {
    pub conn: ConnId,
    pub request: RequestId,
    pub listener: ListenerId,
    pub version: i16,
    pub correlation_id: i32,
    /// The event that the request follows from.
    pub cause: EventId,
}

impl Caller {
    pub fn new(
        conn: ConnId,
        request: RequestId,
        listener: ListenerId,
        body: &Admitted,
        cause: EventId,
    ) -> Self {
        Self {
            conn,
            request,
            listener,
            version: body.version,
            correlation_id: body.correlation_id,
            cause,
        }
    }
}

/// What shall happen, in order, besides the disk's operations.
#[derive(Clone, Debug, Default)]
pub struct Outbox {
    queue: VecDeque<Output>,
}

impl Outbox {
    pub fn push(&mut self, output: Output) {
        self.queue.push_back(output);
    }

    /// Puts these before everything that waits, in their order.
    pub fn push_first(&mut self, outputs: impl DoubleEndedIterator<Item = Output>) {
        outputs.rev().for_each(|output| self.queue.push_front(output));
    }

    pub fn pop(&mut self) -> Option<Output> {
        self.queue.pop_front()
    }

    /// Answers a request. A body that the version cannot carry is a mistake of ours: it costs the
    /// connection, never the broker.
    pub fn answer(&mut self, caller: &Caller, body: impl Into<ResponseBody>) {
        match encode_response(caller.correlation_id, caller.version, &body.into()) {
            Ok(parts) => self.push(Output::Respond {
                conn: caller.conn,
                request: caller.request,
                parts,
            }),
            Err(error) => {
                let reason = format!("the answer cannot be encoded: {error}");
                self.say(
                    Level::Error,
                    format!("connection {} is closed: {reason}", caller.conn),
                );
                self.close(caller.conn, reason);
            }
        }
    }

    /// Frees the place of a request that wants no answer (produce with acks=0).
    pub fn answer_nothing(&mut self, caller: &Caller) {
        self.push(Output::Respond {
            conn: caller.conn,
            request: caller.request,
            parts: Parts::new(),
        });
    }

    pub fn close(&mut self, conn: ConnId, reason: impl Into<String>) {
        let reason = reason.into();
        self.push(Output::Close { conn, reason });
    }

    /// One line for the operator.
    pub fn say(&mut self, level: Level, text: impl Into<String>) {
        let text = text.into();
        self.push(Output::Say { level, text });
    }
}
