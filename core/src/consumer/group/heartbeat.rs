//! Heartbeats, and the two silences that end a membership: the coordinator's and the application's
//! (Kafka's `Heartbeat` and its thread).
//!
//! A member says that it is there every `heartbeat.interval.ms`, whether the application polls or not. When
//! no answer comes for `session.timeout.ms` the coordinator is looked for anew; it will have taken the member
//! out by then. When the application does not poll for `max.poll.interval.ms`, the member leaves by itself,
//! so that others get its partitions.

use super::Group;
use super::coordinator::group_error;
use super::membership::MemberState;
use crate::client::{ClientCx, ExponentialBackoff, NetworkError};
use crate::consumer::generation::Generation;
use crate::consumer::purpose::Purpose;
use crate::consumer::requests;
use crate::consumer::shared::Shared;
use crate::error::ErrorCode;
use crate::protocol::{ApiKey, ResponseBody};
use crate::trace::ConsumerFact;

impl Group {
    pub(super) fn beat(&mut self, shared: &mut Shared, cx: &mut ClientCx) {
        if shared.polling && self.member.callback.is_none() {
            self.member.last_poll_ms = cx.now;
        }
        if !self.member.beats() || self.poll_is_overdue(shared, cx) {
            return;
        }
        if self.coordinator.is_known() && self.member.heartbeat.session_due_ms <= cx.now {
            let why = "session timed out without receiving a heartbeat response";
            self.coordinator.give_up(shared, cx, why);
        }
        let Some(node) = self.coordinator.ready(shared, cx) else {
            return;
        };
        shared.wake_at(self.member.heartbeat.session_due_ms);
        if self.member.heartbeat.in_flight {
            return;
        }
        if self.member.heartbeat.next_ms > cx.now {
            return shared.wake_at(self.member.heartbeat.next_ms);
        }
        let Ok(version) = shared.net.usable_version(&node, ApiKey::Heartbeat, i16::MAX) else {
            return;
        };
        let generation = self.member.generation.clone();
        let body = requests::heartbeat(version, &self.config, &generation);
        let purpose = Purpose::Heartbeat(generation);
        if shared.net.send(cx, &node, version, &body, purpose, 0).is_ok() {
            self.member.heartbeat.in_flight = true;
            self.member.heartbeat.next_ms = cx.now + self.config.heartbeat_interval_ms;
        }
    }

    fn poll_is_overdue(&mut self, shared: &mut Shared, cx: &mut ClientCx) -> bool {
        if shared.polling && self.member.callback.is_none() {
            return false;
        }
        let most = self.config.max_poll_interval_ms;
        let due_ms = self.member.last_poll_ms.saturating_add(most);
        if cx.now < due_ms {
            shared.wake_at(due_ms);
            return false;
        }
        let (group, since_ms) = (self.config.group.clone(), cx.now - self.member.last_poll_ms);
        shared.emit(cx, || ConsumerFact::PollOverdue { group, since_ms });
        self.leave(
            shared,
            cx,
            "consumer poll timeout has expired.",
            super::LeaveBy::Default,
        );
        true
    }

    pub(super) fn beat_answered(
        &mut self,
        shared: &mut Shared,
        cx: &mut ClientCx,
        sent: &Generation,
        result: Result<ResponseBody, NetworkError>,
    ) {
        self.member.heartbeat.in_flight = false;
        let code = match result {
            Ok(ResponseBody::Heartbeat(answer)) => {
                ErrorCode::from_code(answer.error_code).unwrap_or(ErrorCode::UnknownServerError)
            }
            Ok(_) => return self.beat_failed(shared, cx),
            Err(error) => {
                self.coordinator.lost(shared, cx, &error.to_string());
                return self.beat_failed(shared, cx);
            }
        };
        if code != ErrorCode::None {
            let group = self.config.group.clone();
            shared.emit(cx, || ConsumerFact::HeartbeatRefused { group, code });
        }
        match code {
            ErrorCode::None => self.heard(cx.now),
            ErrorCode::RebalanceInProgress => {
                // Beating goes on, so that the member stays in until it has joined again.
                self.heard(cx.now);
                if self.member.state == MemberState::Stable && !self.member.rejoin_needed {
                    self.member
                        .want_rejoin(shared, cx, "group is already rebalancing");
                }
            }
            ErrorCode::CoordinatorNotAvailable | ErrorCode::NotCoordinator => {
                self.coordinator.give_up(shared, cx, code.kafka_name());
                self.beat_failed(shared, cx);
            }
            ErrorCode::IllegalGeneration | ErrorCode::UnknownMemberId | ErrorCode::FencedInstanceId => {
                if self.member.generation != *sent {
                    return self.heard(cx.now);
                }
                let why = format!("encountered {code} from HEARTBEAT response");
                self.member
                    .reset(shared, cx, &why, code != ErrorCode::IllegalGeneration);
                if code == ErrorCode::FencedInstanceId {
                    shared.fail(cx, group_error(&self.config.group, code));
                }
            }
            ErrorCode::GroupAuthorizationFailed => {
                shared.fail(cx, group_error(&self.config.group, code));
                self.beat_failed(shared, cx);
            }
            _ => self.beat_failed(shared, cx),
        }
    }

    fn heard(&mut self, now: i64) {
        self.member.heartbeat.failures = 0;
        self.member.heartbeat.session_due_ms = now + self.config.session_timeout_ms;
    }

    fn beat_failed(&mut self, shared: &mut Shared, cx: &mut ClientCx) {
        let backoff: ExponentialBackoff = shared.config.client.retry_backoff;
        let heartbeat = &mut self.member.heartbeat;
        heartbeat.next_ms = cx.now + backoff.backoff_ms(heartbeat.failures, cx.rng);
        heartbeat.failures += 1;
    }
}
