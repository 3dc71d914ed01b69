//! Changes of settings that come to a broker which is not the controller: it passes them on and hands
//! the answer back.
//!
//! Clients ask the controller for every other change, and hear NOT_CONTROLLER elsewhere. But those of
//! Kafka 4 ask any broker for settings of topics, and the very broker for its own; what they are told
//! of a controller does not move them.
//!
//! Invariants
//! - a request is passed on along ever later terms of office, so never in a ring: a broker that has
//!   been controller knows of no earlier one
//! - who waits hears the controller's answer, or NOT_CONTROLLER when there is none to be had

use std::sync::Arc;

use super::leading::Waits;
use super::sends::SendFor;
use crate::broker::State;
use crate::broker::caller::Caller;
use crate::controller::CallerToken;
use crate::cx::Cx;
use crate::io::PeerLane;
use crate::protocol::{RequestBody, ResponseBody};

impl State {
    /// Whether it is for the controller to carry out, but not for the client to find it.
    pub(in crate::broker) fn is_to_be_passed_on(&self, body: &RequestBody) -> bool {
        let cluster = &self.cluster;
        let is_of_settings = matches!(
            body,
            RequestBody::AlterConfigs(_) | RequestBody::IncrementalAlterConfigs(_)
        );
        let knows_another = cluster.controller_id >= 0 && cluster.controller_id != self.config.node_id;
        is_of_settings && cluster.controller.is_none() && cluster.lost.is_none() && knows_another
    }

    pub(in crate::broker) fn pass_on(&mut self, cx: &mut Cx, caller: &Caller, body: RequestBody) {
        let controller = self.cluster.controller_id;
        let body = Arc::new(body);
        let token = self.token(Waits::Caller(*caller, body.clone()));
        let whom = SendFor::PassedOn { token };
        if !self.send(controller, PeerLane::Requests, caller.version, &body, whom) {
            self.passed_on_answered(cx, token, None);
        }
    }

    /// `None`: the controller could not be asked, or its answer was lost.
    pub(super) fn passed_on_answered(
        &mut self,
        cx: &mut Cx,
        token: CallerToken,
        answer: Option<ResponseBody>,
    ) {
        match (self.cluster.office.no_longer_waits(token), answer) {
            (Some(Waits::Caller(caller, _)), Some(answer)) => self.out.answer(&caller, answer),
            (Some(waits), _) => self.not_controller(cx, waits),
            (None, _) => {}
        }
    }
}
