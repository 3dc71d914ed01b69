//! Which broker coordinates the group, and how it is found (Kafka's `AbstractCoordinator`).
//!
//! Any broker knows. The coordinator is spoken to on a connection of its own, so that a fetch that waits
//! for data delays no heartbeat. When it says that it is not the one, or the connection is lost, it is
//! looked for again.

use std::sync::Arc;

use crate::client::{ClientCx, ClientLane, NetworkError, Node};
use crate::consumer::error::ConsumerError;
use crate::consumer::purpose::Purpose;
use crate::consumer::requests;
use crate::consumer::shared::Shared;
use crate::error::ErrorCode;
use crate::protocol::messages::FindCoordinatorResponse;
use crate::protocol::{ApiKey, ResponseBody};
use crate::trace::ConsumerFact;
use crate::types::Millis;

#[derive(Clone, Debug)]
pub(super) struct Coordinator {
    group: Arc<str>,
    node: Option<Node>,
    /// Its connection is being made.
    connecting: bool,
    /// Somebody was asked.
    looking: bool,
    not_before: Millis,
    failures: u32,
}

impl Coordinator {
    pub fn new(group: Arc<str>) -> Self {
        Self {
            group,
            node: None,
            connecting: false,
            looking: false,
            not_before: 0,
            failures: 0,
        }
    }

    pub fn is_known(&self) -> bool {
        self.node.is_some()
    }

    pub fn node(&self) -> Option<&Node> {
        self.node.as_ref()
    }

    /// The coordinator, if a request may be sent to it now; else what can be done about it is done.
    pub fn ready(&mut self, shared: &mut Shared, cx: &mut ClientCx) -> Option<Node> {
        let Some(node) = self.node.clone() else {
            self.look(shared, cx);
            return None;
        };
        if shared.net.ready(cx, &node) {
            self.connecting = false;
            return Some(node);
        }
        match shared.net.ready_at(cx.now, &node) {
            None => self.connecting = true,
            Some(_) if self.connecting => {
                self.lost(shared, cx, "it cannot be reached");
                self.look(shared, cx);
            }
            Some(at) => shared.wake_at(at),
        }
        None
    }

    fn look(&mut self, shared: &mut Shared, cx: &mut ClientCx) {
        if self.looking {
            return;
        }
        if self.not_before > cx.now {
            return shared.wake_at(self.not_before);
        }
        let Some(node) = shared.net.least_loaded(cx) else {
            self.pause(shared, cx);
            return;
        };
        if !shared.net.ready(cx, &node) {
            if let Some(at) = shared.net.ready_at(cx.now, &node) {
                shared.wake_at(at.max(cx.now + 1));
            }
            return;
        }
        let Ok(version) = shared
            .net
            .usable_version(&node, ApiKey::FindCoordinator, i16::MAX)
        else {
            return self.pause(shared, cx);
        };
        let body = requests::find_coordinator(version, &self.group);
        let sent = shared
            .net
            .send(cx, &node, version, &body, Purpose::FindCoordinator, 0);
        self.looking = sent.is_ok();
    }

    fn pause(&mut self, shared: &mut Shared, cx: &mut ClientCx) {
        self.not_before = shared.retry_at(cx, self.failures);
        self.failures += 1;
        shared.wake_at(self.not_before);
    }

    /// Takes in who it is. True if that is known now.
    pub fn found(
        &mut self,
        shared: &mut Shared,
        cx: &mut ClientCx,
        result: Result<ResponseBody, NetworkError>,
    ) -> bool {
        self.looking = false;
        let Ok(ResponseBody::FindCoordinator(answer)) = result else {
            self.pause(shared, cx);
            return false;
        };
        let (code, node) = read(&answer);
        match (code, node) {
            (ErrorCode::None, Some(node)) => {
                let group = self.group.clone();
                shared.emit(cx, || ConsumerFact::CoordinatorFound {
                    group,
                    broker: node.id,
                });
                self.failures = 0;
                self.connecting = false;
                self.node = Some(node);
                true
            }
            (ErrorCode::None, None) => {
                self.pause(shared, cx);
                false
            }
            (code, _) => {
                self.pause(shared, cx);
                if code.is_retriable() {
                    shared.net.metadata.request_update(false, cx.cause);
                } else {
                    shared.fail(cx, group_error(&self.group, code));
                }
                false
            }
        }
    }

    /// Forgets the coordinator. What is awaited on its connection is answered or fails by itself.
    pub fn lost(&mut self, shared: &mut Shared, cx: &mut ClientCx, why: &str) -> Option<Node> {
        let node = self.node.take()?;
        self.connecting = false;
        let group = self.group.clone();
        shared.emit(cx, || ConsumerFact::CoordinatorLost {
            group,
            broker: node.id,
            why: why.to_owned(),
        });
        Some(node)
    }

    /// Forgets it, and gives its connection up, so that nothing is awaited any more.
    pub fn give_up(&mut self, shared: &mut Shared, cx: &mut ClientCx, why: &str) {
        if let Some(node) = self.lost(shared, cx, why) {
            shared.disconnect(cx, &node, why);
        }
    }
}

/// From version 4 on there is a list; here of one.
fn read(answer: &FindCoordinatorResponse) -> (ErrorCode, Option<Node>) {
    let (code, id, host, port) = match answer.coordinators.first() {
        Some(found) => (found.error_code, found.node_id, &found.host, found.port),
        None => (answer.error_code, answer.node_id, &answer.host, answer.port),
    };
    let node = u16::try_from(port).ok().map(|port| Node {
        id,
        host: (&**host).into(),
        port,
        lane: ClientLane::Coordinator,
    });
    let code = ErrorCode::from_code(code).unwrap_or(ErrorCode::UnknownServerError);
    (code, node)
}

/// An error of the group as its application is told.
pub(super) fn group_error(group: &str, code: ErrorCode) -> ConsumerError {
    let hint = match code {
        ErrorCode::InconsistentGroupProtocol => {
            "its members have no assignor in common, or are no consumers: set partition.assignment.strategy alike"
        }
        ErrorCode::InvalidSessionTimeout => {
            "session.timeout.ms must lie between the broker's group.min.session.timeout.ms and group.max.session.timeout.ms"
        }
        ErrorCode::InvalidGroupId => "the broker does not take this group.id",
        ErrorCode::GroupAuthorizationFailed => "not authorized to access the group",
        ErrorCode::GroupMaxSizeReached => "it already has the configured maximum number of members",
        ErrorCode::FencedInstanceId => "another consumer has the same group.instance.id: give each its own",
        ErrorCode::UnsupportedVersion => "the broker is too old for group.instance.id",
        ErrorCode::OffsetMetadataTooLarge => {
            "the metadata of an offset is larger than offset.metadata.max.bytes"
        }
        _ => "the coordinator refuses",
    };
    ConsumerError::Group {
        group: group.to_owned(),
        code,
        hint,
    }
}
