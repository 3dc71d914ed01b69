//! Requests of this broker to others, and for whom their answers are.

use std::sync::Arc;

use super::fetchers::FetcherId;
use crate::broker::State;
use crate::broker::{AdmittedAnswer, AnswerBody};
use crate::controller::{CallerToken, TellId};
use crate::cx::Cx;
use crate::io::{Level, Output, Peer, PeerLane, SendId};
use crate::ordered::OrderedMap;
use crate::protocol::{RequestBody, RequestHeader, SentAs, encode_request};
use crate::types::BrokerId;

/// Who wants an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::broker) enum SendFor {
    /// The controller in this broker told another broker something.
    Told { tell: TellId },
    /// Changes of ISRs, asked of the controller.
    AlterPartition,
    /// This broker wants to stop.
    ControlledShutdown,
    /// A fetcher's request.
    Fetcher(FetcherId),
    /// A topic is to be made for a client that asked for its metadata.
    AutoCreate,
    /// A client's change of settings.
    PassedOn { token: CallerToken },
}

#[derive(Clone, Debug, Default)]
pub(in crate::broker) struct Sends {
    next: SendId,
    under_way: OrderedMap<SendId, SendFor>,
}

impl State {
    /// Sends a request to a broker that is known to live; false when it is not, or its address cannot
    /// be told.
    pub(in crate::broker) fn send(
        &mut self,
        broker: BrokerId,
        lane: PeerLane,
        version: i16,
        body: &RequestBody,
        whom: SendFor,
    ) -> bool {
        let listener = self.config.inter_broker_listener.clone();
        let Some((host, port)) = self.address_of(broker, &listener) else {
            return false;
        };
        self.send_to(broker, host, port, lane, version, body, whom)
    }

    fn address_of(&self, broker: BrokerId, listener: &str) -> Option<(Arc<str>, u16)> {
        let endpoint = self.image.broker(broker)?.endpoint(listener)?;
        Some((endpoint.host.clone(), endpoint.port))
    }

    /// The same, to an address that the caller knows.
    #[allow(clippy::too_many_arguments)]
    pub(in crate::broker) fn send_to(
        &mut self,
        broker: BrokerId,
        host: Arc<str>,
        port: u16,
        lane: PeerLane,
        version: i16,
        body: &RequestBody,
        whom: SendFor,
    ) -> bool {
        let sends = &mut self.cluster.sends;
        let id = sends.next;
        let api = body.api();
        let header = RequestHeader {
            api,
            version,
            correlation_id: id as i32,
            client_id: Some(format!("broker-{}", self.config.node_id).as_str().into()),
        };
        let frame = match encode_request(&header, body) {
            Ok(frame) => frame,
            Err(error) => {
                let line = format!("a {api} for broker {broker} cannot be encoded: {error}");
                self.out.say(Level::Error, line);
                return false;
            }
        };
        sends.next += 1;
        sends.under_way.insert(id, whom);
        self.out.push(Output::Send {
            to: Peer {
                broker,
                host,
                port,
                lane,
            },
            id,
            sent: SentAs { api, version },
            frame,
        });
        true
    }

    pub(in crate::broker) fn response(&mut self, cx: &mut Cx, id: SendId, answer: AdmittedAnswer) {
        let Some(whom) = self.cluster.sends.under_way.remove(&id) else {
            return;
        };
        match (whom, answer.body) {
            (SendFor::Fetcher(fetcher), body) => self.fetcher_answered(cx, fetcher, Ok(body)),
            (SendFor::Told { tell }, AnswerBody::Other(body)) => self.told(cx, tell, Ok(body)),
            (SendFor::AlterPartition, AnswerBody::Other(body)) => self.alter_partition_answered(cx, Ok(body)),
            (SendFor::ControlledShutdown, AnswerBody::Other(body)) => {
                self.controlled_shutdown_answered(cx, Ok(body));
            }
            (SendFor::AutoCreate, _) => {}
            (SendFor::PassedOn { token }, AnswerBody::Other(body)) => {
                self.passed_on_answered(cx, token, Some(body));
            }
            (whom, AnswerBody::Fetched(_)) => unreachable!("{whom:?} sent no fetch"),
        }
    }

    pub(in crate::broker) fn send_failed(&mut self, cx: &mut Cx, id: SendId, why: String) {
        let Some(whom) = self.cluster.sends.under_way.remove(&id) else {
            return;
        };
        match whom {
            SendFor::Told { tell } => self.told(cx, tell, Err(why)),
            SendFor::AlterPartition => self.alter_partition_answered(cx, Err(why)),
            SendFor::ControlledShutdown => self.controlled_shutdown_answered(cx, Err(why)),
            SendFor::Fetcher(fetcher) => self.fetcher_answered(cx, fetcher, Err(why)),
            SendFor::AutoCreate => {}
            SendFor::PassedOn { token } => self.passed_on_answered(cx, token, None),
        }
    }
}
