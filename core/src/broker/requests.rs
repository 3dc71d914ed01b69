//! From an admitted request to the method that handles it.

use super::State;
use super::admit::{Admitted, Body};
use super::caller::Caller;
use super::cluster::{Speaker, Word};
use super::groups::Client;
use crate::cx::Cx;
use crate::full::FULL;
use crate::io::{ConnId, ListenerId, RequestId};
use crate::protocol::RequestBody;

impl State {
    pub(super) fn request(
        &mut self,
        cx: &mut Cx,
        conn: ConnId,
        request: RequestId,
        listener: ListenerId,
        admitted: Admitted,
    ) {
        if !self.is_running() {
            return self.out.close(conn, "the broker is not running");
        }
        let caller = Caller::new(conn, request, listener, &admitted, cx.cause);
        let client = || Client::new(admitted.client_id.as_ref(), admitted.client_host.as_ref());
        let body = match admitted.body {
            Body::Produce(produce) => {
                return self.produce(cx, caller, admitted.client_id.as_ref(), produce);
            }
            Body::Other(body) => *body,
        };
        match body {
            RequestBody::Fetch(body) => self.fetch(cx, caller, &body),
            RequestBody::OffsetForLeaderEpoch(body) => self.offset_for_leader_epoch(&caller, &body),
            RequestBody::InitProducerId(body) => self.init_producer_id(caller, &body),
            RequestBody::LeaderAndIsr(word) => self.hear(cx, caller, Word::LeaderAndIsr(word)),
            RequestBody::StopReplica(word) => self.hear(cx, caller, Word::StopReplica(word)),
            RequestBody::UpdateMetadata(word) => self.hear(cx, caller, Word::UpdateMetadata(word)),
            RequestBody::ApiVersions(body) => self.api_versions(&caller, &body),
            RequestBody::UnsupportedApiVersions => self.unsupported_api_versions(&caller),
            other if FULL => self.request_beyond_scenes(cx, caller, client(), other),
            other => self.administer(cx, &caller, other),
        }
    }

    /// What no scene of the page asks: consumers, of groups, and of operators.
    fn request_beyond_scenes(&mut self, cx: &mut Cx, caller: Caller, client: Client, body: RequestBody) {
        match body {
            RequestBody::ListOffsets(body) => self.list_offsets(caller, &body),
            RequestBody::DeleteRecords(body) => self.delete_records(cx, &caller, &body),
            RequestBody::DescribeLogDirs(body) => self.describe_log_dirs(&caller, &body),
            RequestBody::FindCoordinator(body) => self.find_coordinator(cx, &caller, &body),
            RequestBody::JoinGroup(body) => self.join_group(cx, &caller, client, &body),
            RequestBody::SyncGroup(body) => self.sync_group(cx, &caller, &body),
            RequestBody::Heartbeat(body) => self.heartbeat(cx, &caller, &body),
            RequestBody::LeaveGroup(body) => self.leave_group(cx, &caller, &body),
            RequestBody::OffsetCommit(body) => self.offset_commit(cx, &caller, &body),
            RequestBody::OffsetFetch(body) => self.offset_fetch(cx, &caller, &body),
            RequestBody::OffsetDelete(body) => self.offset_delete(cx, &caller, &body),
            RequestBody::ListGroups(body) => self.list_groups(cx, &caller, &body),
            RequestBody::DescribeGroups(body) => self.describe_groups(&caller, &body),
            RequestBody::DeleteGroups(body) => self.delete_groups(cx, &caller, &body),
            RequestBody::ConsumerGroupHeartbeat(_) => self.refuse_consumer_heartbeat(&caller),
            RequestBody::ConsumerGroupDescribe(body) => self.refuse_consumer_describe(&caller, &body),
            other => self.administer(cx, &caller, other),
        }
    }

    fn administer(&mut self, cx: &mut Cx, caller: &Caller, body: RequestBody) {
        if let Some(unserved) = self.admin_request(cx, caller, body) {
            self.out
                .close(caller.conn, format!("{} is not served", unserved.api()));
        }
    }

    /// Another broker's controller speaks.
    fn hear(&mut self, cx: &mut Cx, caller: Caller, word: Word) {
        self.controller_says(cx, Speaker::Caller(caller), word);
    }
}
