//! The leader of a group, by hand: it hands out what it is told to, and takes all the time that it is given.
//!
//! While it holds back its answer everybody else has joined and waits for a share: that is the middle of a
//! rebalance, for as long as the test likes.

use std::collections::BTreeMap;
use std::time::Duration;

use highwater_core::error::ErrorCode;
use highwater_core::protocol::consumer_protocol::{Assignment, Subscription};
use highwater_core::protocol::messages::join_group_request::JoinGroupRequestProtocol;
use highwater_core::protocol::messages::sync_group_request::SyncGroupRequestAssignment;
use highwater_core::protocol::messages::{
    FindCoordinatorRequest, HeartbeatRequest, JoinGroupRequest, JoinGroupResponse, SyncGroupRequest, message,
};
use highwater_core::protocol::{RequestBody, ResponseBody};
use highwater_core::types::{PartitionIndex, TopicPartition};
use highwater_tests::cluster::until;
use highwater_tests::wire::WireClient;

const FIND_COORDINATOR: i16 = 4;
const JOIN_GROUP: i16 = 9;
const SYNC_GROUP: i16 = 5;
const HEARTBEAT: i16 = 4;
const ASSIGNOR: &str = "cooperative-sticky";
const TIMEOUT_MS: i32 = 300_000;
/// The others join when they hear of the rebalance.
const JOINED_WITHIN: Duration = Duration::from_secs(120);

/// Partitions by `client.id`; who is not named has none.
pub type Shares<'a> = &'a [(&'a str, &'a [PartitionIndex])];

pub struct SlowLeader {
    client: WireClient,
    group: String,
    topic: String,
    member: String,
    generation: i32,
    /// The member id of each `client.id`.
    members: BTreeMap<String, String>,
}

impl SlowLeader {
    /// Joins an empty group.
    pub fn new(address: &str, group: &str, topic: &str) -> Self {
        let mut client = WireClient::connect(address);
        client.wait_at_most(JOINED_WITHIN);
        let mut leader = Self {
            client,
            group: group.to_owned(),
            topic: topic.to_owned(),
            member: String::new(),
            generation: -1,
            members: BTreeMap::new(),
        };
        // Like everybody it is told its id first. The first who looks for a coordinator has its topic made.
        until("a member id", || {
            leader.find_coordinator();
            let answer = leader.ask_to_join();
            leader.member = answer.member_id.to_string();
            let is_told = answer.error_code == ErrorCode::MemberIdRequired.code();
            is_told
                .then_some(())
                .ok_or_else(|| format!("error {}", answer.error_code))
        });
        leader.join();
        leader.hand_out(&[]);
        leader
    }

    /// Joins as all others do, and comes back when they have: the group waits for its shares now.
    pub fn join(&mut self) {
        let answer = self.ask_to_join();
        assert_eq!(answer.error_code, 0, "the leader joins");
        assert_eq!(*answer.leader, *self.member, "it leads");
        self.generation = answer.generation_id;
        let ids = answer.members.iter().map(|member| member.member_id.to_string());
        // The coordinator makes an id of the `client.id` and a UUID.
        const UUID: usize = 36;
        let named = ids.filter_map(|id| {
            let name = id.get(..id.len().checked_sub(UUID + 1)?)?;
            Some((name.to_owned(), id))
        });
        self.members = named.collect();
    }

    fn find_coordinator(&mut self) {
        let find = message(|body: &mut FindCoordinatorRequest| {
            body.coordinator_keys = vec![self.group.as_str().into()];
        });
        self.client
            .ask(FIND_COORDINATOR, &RequestBody::FindCoordinator(find));
    }

    fn ask_to_join(&mut self) -> JoinGroupResponse {
        let subscription = Subscription {
            topics: vec![self.topic.as_str().into()],
            user_data: None,
            owned_partitions: Vec::new(),
            generation: None,
            rack: None,
        };
        let metadata = subscription.encode().expect("names are short");
        let body = message(|body: &mut JoinGroupRequest| {
            body.group_id = self.group.as_str().into();
            body.member_id = self.member.as_str().into();
            body.session_timeout_ms = TIMEOUT_MS;
            body.rebalance_timeout_ms = TIMEOUT_MS;
            body.protocol_type = "consumer".into();
            body.protocols = vec![message(|protocol: &mut JoinGroupRequestProtocol| {
                protocol.name = ASSIGNOR.into();
                protocol.metadata = metadata;
            })];
        });
        match self.client.ask(JOIN_GROUP, &RequestBody::JoinGroup(body)) {
            ResponseBody::JoinGroup(answer) => answer,
            other => panic!("another answer: {other:?}"),
        }
    }

    /// Ends the rebalance.
    pub fn hand_out(&mut self, shares: Shares) {
        let assignments = shares.iter().map(|(name, partitions)| {
            let of = |partition: &PartitionIndex| TopicPartition::new(self.topic.as_str(), *partition);
            let assignment = Assignment {
                partitions: partitions.iter().map(of).collect(),
                user_data: None,
            };
            message(|row: &mut SyncGroupRequestAssignment| {
                row.member_id = self.members[*name].as_str().into();
                row.assignment = assignment.encode().expect("names are short");
            })
        });
        let body = message(|body: &mut SyncGroupRequest| {
            body.group_id = self.group.as_str().into();
            body.member_id = self.member.as_str().into();
            body.generation_id = self.generation;
            body.protocol_type = Some("consumer".into());
            body.protocol_name = Some(ASSIGNOR.into());
            body.assignments = assignments.collect();
        });
        match self.client.ask(SYNC_GROUP, &RequestBody::SyncGroup(body)) {
            ResponseBody::SyncGroup(answer) => assert_eq!(answer.error_code, 0, "shares are taken"),
            other => panic!("another answer: {other:?}"),
        }
    }

    /// Waits until somebody has begun the next rebalance; who does so waits for the leader to join.
    pub fn await_rebalance(&mut self) {
        let body = message(|body: &mut HeartbeatRequest| {
            body.group_id = self.group.as_str().into();
            body.member_id = self.member.as_str().into();
            body.generation_id = self.generation;
        });
        let body = RequestBody::Heartbeat(body);
        until("a rebalance", || match self.client.ask(HEARTBEAT, &body) {
            ResponseBody::Heartbeat(answer) if answer.error_code == ErrorCode::RebalanceInProgress.code() => {
                Ok(())
            }
            other => Err(format!("{other:?}")),
        });
    }
}
