//! JoinGroup, SyncGroup, Heartbeat and LeaveGroup between the wire and the coordinator.

use std::sync::Arc;

use bytes::Bytes;

use super::waiting::Form;
use super::{Client, State};
use crate::broker::caller::Caller;
use crate::cx::Cx;
use crate::error::ErrorCode;
use crate::group::{Answer, Identity, Join, Joined, Leaving, Protocol, Sync, Synced};
use crate::protocol::StrBytes;
use crate::protocol::messages::join_group_response::JoinGroupResponseMember;
use crate::protocol::messages::leave_group_response::MemberResponse;
use crate::protocol::messages::{
    HeartbeatRequest, HeartbeatResponse, JoinGroupRequest, JoinGroupResponse, LeaveGroupRequest,
    LeaveGroupResponse, SyncGroupRequest, SyncGroupResponse, message,
};

/// First versions of JoinGroup that have what they are named for.
const JOIN_WITH_REBALANCE_TIMEOUT: i16 = 1;
const JOIN_WITH_MEMBER_ID: i16 = 4;
const JOIN_WITH_INSTANCE_ID: i16 = 5;
/// Before, the protocol's name is never null.
const JOIN_WITH_PROTOCOL_TYPE: i16 = 7;
const JOIN_WITH_SKIP: i16 = 9;
const SYNC_WITH_PROTOCOL: i16 = 5;
/// From this version on LeaveGroup names many members.
const LEAVE_WITH_MANY: i16 = 3;

pub(super) fn name(text: &StrBytes) -> Arc<str> {
    Arc::from(&**text)
}

pub(super) fn opt_name(text: Option<&StrBytes>) -> Option<Arc<str>> {
    text.map(name)
}

fn text(name: &Arc<str>) -> StrBytes {
    (&**name).into()
}

impl State {
    pub(in crate::broker) fn join_group(
        &mut self,
        cx: &mut Cx,
        caller: &Caller,
        client: Client,
        request: &JoinGroupRequest,
    ) {
        let protocols = request.protocols.iter().map(|protocol| Protocol {
            name: name(&protocol.name),
            // A copy: it outlives its request.
            metadata: Bytes::copy_from_slice(&protocol.metadata),
        });
        let join = Join {
            group: name(&request.group_id),
            member: name(&request.member_id),
            instance_id: opt_name(request.group_instance_id.as_ref()),
            client_id: client.id,
            client_host: client.host,
            session_timeout_ms: request.session_timeout_ms,
            rebalance_timeout_ms: match caller.version < JOIN_WITH_REBALANCE_TIMEOUT {
                true => request.session_timeout_ms,
                false => request.rebalance_timeout_ms,
            },
            protocol_type: name(&request.protocol_type),
            protocols: protocols.collect(),
            can_be_told_its_id: caller.version >= JOIN_WITH_MEMBER_ID,
            can_skip_assignment: caller.version >= JOIN_WITH_SKIP,
        };
        if let Err(code) = self.groups.settings.check_join(&join) {
            let refused = Joined::refused(&join.member, code);
            return self.answer_join(caller, &join.member, Ok(Answer::Joined(refused)));
        }
        let form = Form::Join {
            member: join.member.clone(),
        };
        let token = self.park_for_groups(cx, caller, form, 1);
        self.ask_group(cx, &join.group.clone(), token, |shard, turn| {
            shard.join(turn, token, &join);
        });
    }

    pub(super) fn answer_join(
        &mut self,
        caller: &Caller,
        member: &Arc<str>,
        answer: Result<Answer, ErrorCode>,
    ) {
        let joined = match answer {
            Ok(Answer::Joined(joined)) => joined,
            Ok(_) => Joined::refused(member, ErrorCode::UnknownServerError),
            Err(code) => Joined::refused(member, code),
        };
        let answer = message(|answer: &mut JoinGroupResponse| {
            answer.error_code = joined.error.code();
            answer.generation_id = joined.generation;
            answer.leader = text(&joined.leader);
            answer.member_id = text(&joined.member);
            answer.protocol_name = joined.protocol.as_ref().map(text);
            if caller.version >= JOIN_WITH_PROTOCOL_TYPE {
                answer.protocol_type = joined.protocol_type.as_ref().map(text);
            } else {
                answer.protocol_name.get_or_insert_default();
            }
            if caller.version >= JOIN_WITH_SKIP {
                answer.skip_assignment = joined.skip_assignment;
            }
            answer.members = joined
                .members
                .iter()
                .map(|member| {
                    message(|row: &mut JoinGroupResponseMember| {
                        row.member_id = text(&member.id);
                        if caller.version >= JOIN_WITH_INSTANCE_ID {
                            row.group_instance_id = member.instance_id.as_ref().map(text);
                        }
                        row.metadata = member.metadata.clone();
                    })
                })
                .collect();
        });
        self.out.answer(caller, answer);
    }

    pub(in crate::broker) fn sync_group(&mut self, cx: &mut Cx, caller: &Caller, request: &SyncGroupRequest) {
        if request.group_id.is_empty() {
            return self.answer_sync(caller, Err(ErrorCode::InvalidGroupId));
        }
        let shares = request.assignments.iter();
        let shares = shares.map(|share| (name(&share.member_id), Bytes::copy_from_slice(&share.assignment)));
        let sync = Sync {
            group: name(&request.group_id),
            member: name(&request.member_id),
            instance_id: opt_name(request.group_instance_id.as_ref()),
            generation: request.generation_id,
            protocol_type: opt_name(request.protocol_type.as_ref()),
            protocol: opt_name(request.protocol_name.as_ref()),
            assignments: shares.collect(),
        };
        if caller.version >= SYNC_WITH_PROTOCOL && (sync.protocol_type.is_none() || sync.protocol.is_none()) {
            // A client of this version knows both (KIP-559).
            return self.answer_sync(caller, Err(ErrorCode::InconsistentGroupProtocol));
        }
        let token = self.park_for_groups(cx, caller, Form::Sync, 1);
        self.ask_group(cx, &sync.group.clone(), token, |shard, turn| {
            shard.sync(turn, token, sync);
        });
    }

    pub(super) fn answer_sync(&mut self, caller: &Caller, answer: Result<Answer, ErrorCode>) {
        let synced = match answer {
            Ok(Answer::Synced(synced)) => synced,
            Ok(_) => Synced::refused(ErrorCode::UnknownServerError),
            Err(code) => Synced::refused(code),
        };
        let answer = message(|answer: &mut SyncGroupResponse| {
            answer.error_code = synced.error.code();
            if caller.version >= SYNC_WITH_PROTOCOL {
                answer.protocol_type = synced.protocol_type.as_ref().map(text);
                answer.protocol_name = synced.protocol.as_ref().map(text);
            }
            answer.assignment = synced.assignment;
        });
        self.out.answer(caller, answer);
    }

    pub(in crate::broker) fn heartbeat(&mut self, cx: &mut Cx, caller: &Caller, request: &HeartbeatRequest) {
        if request.group_id.is_empty() {
            return self.answer_heartbeat(caller, &Err(ErrorCode::InvalidGroupId));
        }
        let who = Identity {
            member: name(&request.member_id),
            instance_id: opt_name(request.group_instance_id.as_ref()),
            generation: request.generation_id,
        };
        let token = self.park_for_groups(cx, caller, Form::Heartbeat, 1);
        self.ask_group(cx, &request.group_id, token, |shard, turn| {
            shard.heartbeat(turn, token, &request.group_id, &who);
        });
    }

    pub(super) fn answer_heartbeat(&mut self, caller: &Caller, answer: &Result<Answer, ErrorCode>) {
        let code = match *answer {
            Ok(Answer::Heartbeat(code)) => code,
            Ok(_) => ErrorCode::UnknownServerError,
            // While the group is being loaded a member is given the benefit of the doubt.
            Err(ErrorCode::CoordinatorLoadInProgress) => ErrorCode::None,
            Err(code) => code,
        };
        let answer = message(|answer: &mut HeartbeatResponse| answer.error_code = code.code());
        self.out.answer(caller, answer);
    }

    pub(in crate::broker) fn leave_group(
        &mut self,
        cx: &mut Cx,
        caller: &Caller,
        request: &LeaveGroupRequest,
    ) {
        let leaving: Vec<Leaving> = if caller.version < LEAVE_WITH_MANY {
            vec![Leaving {
                member: name(&request.member_id),
                instance_id: None,
            }]
        } else {
            let members = request.members.iter();
            let leaving = members.map(|member| Leaving {
                member: name(&member.member_id),
                instance_id: opt_name(member.group_instance_id.as_ref()),
            });
            leaving.collect()
        };
        if request.group_id.is_empty() {
            return self.answer_leave(caller, &leaving, Err(ErrorCode::InvalidGroupId));
        }
        let token = self.park_for_groups(cx, caller, Form::Leave(leaving.clone()), 1);
        self.ask_group(cx, &request.group_id, token, |shard, turn| {
            shard.leave(turn, token, &request.group_id, &leaving);
        });
    }

    pub(super) fn answer_leave(
        &mut self,
        caller: &Caller,
        leaving: &[Leaving],
        answer: Result<Answer, ErrorCode>,
    ) {
        let outcomes = match answer {
            Ok(Answer::Left(outcomes)) => Ok(outcomes),
            Ok(_) => Err(ErrorCode::UnknownServerError),
            Err(code) => Err(code),
        };
        let answer = message(|answer: &mut LeaveGroupResponse| match &outcomes {
            Err(code) => answer.error_code = code.code(),
            Ok(outcomes) if caller.version < LEAVE_WITH_MANY => {
                let only = outcomes.first().copied().unwrap_or(ErrorCode::None);
                answer.error_code = only.code();
            }
            Ok(outcomes) => {
                let rows = leaving.iter().zip(outcomes);
                let rows = rows.map(|(who, code)| {
                    message(|row: &mut MemberResponse| {
                        row.member_id = text(&who.member);
                        row.group_instance_id = who.instance_id.as_ref().map(text);
                        row.error_code = code.code();
                    })
                });
                answer.members = rows.collect();
            }
        });
        self.out.answer(caller, answer);
    }
}
