//! The consumer protocol of KIP-848, which is off: ConsumerGroupHeartbeat and ConsumerGroupDescribe.
//!
//! They are listed in ApiVersions and answered UNSUPPORTED_VERSION, as by a Kafka whose
//! `group.coordinator.rebalance.protocols` is `classic`. Each client makes an error of its own of that, or
//! falls back to the classic protocol.

use crate::broker::State;
use crate::broker::caller::Caller;
use crate::error::ErrorCode;
use crate::protocol::messages::consumer_group_describe_response::DescribedGroup;
use crate::protocol::messages::{
    ConsumerGroupDescribeRequest, ConsumerGroupDescribeResponse, ConsumerGroupHeartbeatResponse, message,
};

const CODE: ErrorCode = ErrorCode::UnsupportedVersion;

impl State {
    pub(in crate::broker) fn refuse_consumer_heartbeat(&mut self, caller: &Caller) {
        let answer = message(|answer: &mut ConsumerGroupHeartbeatResponse| answer.error_code = CODE.code());
        self.out.answer(caller, answer);
    }

    /// Of each group that is asked for.
    pub(in crate::broker) fn refuse_consumer_describe(
        &mut self,
        caller: &Caller,
        request: &ConsumerGroupDescribeRequest,
    ) {
        let refused = request.group_ids.iter().map(|id| {
            message(|group: &mut DescribedGroup| {
                group.group_id = id.clone();
                group.error_code = CODE.code();
            })
        });
        let answer = message(|answer: &mut ConsumerGroupDescribeResponse| answer.groups = refused.collect());
        self.out.answer(caller, answer);
    }
}
