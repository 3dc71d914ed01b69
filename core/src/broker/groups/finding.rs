//! FindCoordinator: the leader of the partition that a group lives in, and the topic made on first use.

use crate::broker::State;
use crate::broker::admin::Node;
use crate::broker::caller::Caller;
use crate::cx::Cx;
use crate::error::ErrorCode;
use crate::group::OFFSETS_TOPIC;
use crate::io::Level;
use crate::protocol::messages::find_coordinator_response::Coordinator;
use crate::protocol::messages::{FindCoordinatorRequest, FindCoordinatorResponse, message};
use crate::types::Millis;

/// From this version on an answer has words beside its code; up to version 3 also where there is no error.
const FIRST_WITH_MESSAGE: i16 = 1;
const NO_ERROR: &str = "NONE";
/// From this version on one request asks for many.
const FIRST_WITH_MANY: i16 = 4;
/// Kinds of coordinators (`FindCoordinatorRequest.CoordinatorType`).
const OF_GROUPS: i8 = 0;
const OF_TRANSACTIONS: i8 = 1;

/// The controller is not asked for the topic again before.
const ASK_AGAIN_AFTER_MS: Millis = 1_000;

impl State {
    pub(in crate::broker) fn find_coordinator(
        &mut self,
        cx: &mut Cx,
        caller: &Caller,
        request: &FindCoordinatorRequest,
    ) {
        if request.key_type == OF_GROUPS && self.image.topic(OFFSETS_TOPIC).is_none() {
            self.ask_for_offsets_topic(cx);
        }
        let nodes = self.nodes(caller);
        let find = |key: &str| match request.key_type {
            OF_GROUPS => self.coordinator_of(&nodes, key),
            // There is none yet.
            OF_TRANSACTIONS => Err(ErrorCode::CoordinatorNotAvailable),
            _ => Err(ErrorCode::InvalidRequest),
        };
        let answer = message(|answer: &mut FindCoordinatorResponse| {
            if caller.version < FIRST_WITH_MANY {
                let found = row(&request.key, find(&request.key));
                answer.error_code = found.error_code;
                if caller.version >= FIRST_WITH_MESSAGE {
                    let fine = found.error_code == ErrorCode::None.code();
                    answer.error_message = match fine {
                        true => Some(NO_ERROR.into()),
                        false => found.error_message,
                    };
                }
                answer.node_id = found.node_id;
                answer.host = found.host;
                answer.port = found.port;
                return;
            }
            let keys = request.coordinator_keys.iter();
            answer.coordinators = keys.map(|key| row(key, find(key))).collect();
        });
        self.out.answer(caller, answer);
    }

    fn coordinator_of<'a>(&self, nodes: &'a [Node], group: &str) -> Result<&'a Node, ErrorCode> {
        let topic = self.image.topic(OFFSETS_TOPIC);
        let partition = topic.and_then(|topic| topic.partition(self.group_partition(group)));
        let leader = partition.map(|partition| partition.leader);
        let node = nodes.iter().find(|node| Some(node.id) == leader);
        node.ok_or(ErrorCode::CoordinatorNotAvailable)
    }

    /// Nobody has used a group yet: the controller makes the topic.
    fn ask_for_offsets_topic(&mut self, cx: &mut Cx) {
        let asked = self.groups.asked_for_topic_at;
        if asked.is_some_and(|at| cx.now < at + ASK_AGAIN_AFTER_MS) {
            return;
        }
        self.groups.asked_for_topic_at = Some(cx.now);
        let live = self.image.brokers().count();
        let factor = self.config.offsets_topic_replication_factor;
        if live < factor.max(0) as usize {
            let line = format!(
                "{OFFSETS_TOPIC} cannot be made with {factor} replicas (offsets.topic.replication.factor) while {live} brokers live; consumer groups wait for it"
            );
            return self.out.say(Level::Error, line);
        }
        self.create_needed(cx, &[OFFSETS_TOPIC.to_owned()]);
    }
}

/// Kafka's words for the code.
fn words_for(code: ErrorCode) -> &'static str {
    match code {
        ErrorCode::InvalidRequest => {
            "This most likely occurs because of a request being malformed by the client library or the message was sent to an incompatible broker. See the broker logs for more details."
        }
        _ => "The coordinator is not available.",
    }
}

fn row(key: &crate::protocol::StrBytes, found: Result<&Node, ErrorCode>) -> Coordinator {
    message(|row: &mut Coordinator| {
        row.key = key.clone();
        match found {
            Ok(node) => {
                row.node_id = node.id;
                row.host = node.host.as_str().into();
                row.port = node.port.into();
            }
            Err(code) => {
                row.error_code = code.code();
                row.error_message = Some(words_for(code).into());
                row.node_id = -1;
                row.port = -1;
            }
        }
    })
}
