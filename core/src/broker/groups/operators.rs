//! ListGroups, DescribeGroups and DeleteGroups.

use std::sync::Arc;

use super::State;
use super::members::name;
use super::waiting::Form;
use crate::broker::caller::Caller;
use crate::broker::work::Step;
use crate::coordinator::Token;
use crate::cx::Cx;
use crate::error::ErrorCode;
use crate::group::listing::{CLASSIC, Filter};
use crate::group::{Answer, ClassicGroup, GroupState};
use crate::ordered::OrderedMap;
use crate::protocol::StrBytes;
use crate::protocol::messages::delete_groups_response::DeletableGroupResult;
use crate::protocol::messages::describe_groups_response::{DescribedGroup, DescribedGroupMember};
use crate::protocol::messages::list_groups_response::ListedGroup;
use crate::protocol::messages::{
    DeleteGroupsRequest, DeleteGroupsResponse, DescribeGroupsRequest, DescribeGroupsResponse,
    ListGroupsRequest, ListGroupsResponse, message,
};
use crate::types::PartitionIndex;

/// First versions that have what they are named for.
const LIST_WITH_STATE: i16 = 4;
const LIST_WITH_TYPE: i16 = 5;
const DESCRIBE_WITH_OPERATIONS: i16 = 3;
const DESCRIBE_WITH_INSTANCE_ID: i16 = 4;
const DESCRIBE_WITH_NOT_FOUND: i16 = 6;

/// What a group that is not there is called.
const DEAD: &str = "Dead";
/// Operations on a group that everybody is authorized for here (`AclOperation` as bits).
const GROUP_OPERATIONS: i32 = 0b1101_0100_1000;

/// A ListGroups under way. What happens meanwhile is seen in the partitions that are still to come.
#[derive(Clone, Debug)]
pub(in crate::broker) struct Listing {
    caller: Caller,
    filter: Filter,
    /// Where the listing is: this partition, behind this group.
    partition: PartitionIndex,
    after: Option<Arc<str>>,
    answer: ListGroupsResponse,
}

impl State {
    pub(in crate::broker) fn list_groups(
        &mut self,
        cx: &mut Cx,
        caller: &Caller,
        request: &ListGroupsRequest,
    ) {
        let states = request.states_filter.iter().map(|state| &**state);
        let types = request.types_filter.iter().map(|kind| &**kind);
        let listing = Listing {
            caller: *caller,
            filter: Filter::new(states, types),
            partition: 0,
            after: None,
            answer: message(|_: &mut ListGroupsResponse| {}),
        };
        self.run_or_queue(cx, Step::ListGroups(Box::new(listing)));
    }

    /// Looks at about `budget` groups; true when all are seen, or one partition is not loaded.
    pub(in crate::broker) fn list_step(&self, listing: &mut Listing, budget: &mut usize) -> bool {
        for (partition, shard) in self.groups.coordinators.read_from(listing.partition) {
            let shard = match shard {
                Ok(shard) => shard,
                Err(code) => {
                    listing.answer.groups.clear();
                    listing.answer.error_code = code.code();
                    return true;
                }
            };
            if partition != listing.partition {
                (listing.partition, listing.after) = (partition, None);
            }
            for group in shard.after(listing.after.clone().as_deref()) {
                if *budget == 0 {
                    return false;
                }
                *budget -= 1;
                if listing.filter.takes(group) {
                    listing.answer.groups.push(listed(listing.caller.version, group));
                }
                listing.after = Some(group.id().clone());
            }
        }
        true
    }

    pub(in crate::broker) fn listed(&mut self, listing: Listing) {
        self.out.answer(&listing.caller, listing.answer);
    }

    pub(in crate::broker) fn describe_groups(&mut self, caller: &Caller, request: &DescribeGroupsRequest) {
        let version = caller.version;
        let answer = message(|answer: &mut DescribeGroupsResponse| {
            let groups = request.groups.iter().map(|id| {
                message(|out: &mut DescribedGroup| {
                    out.group_id = id.clone();
                    match self.read_group(id) {
                        Err(code) => out.error_code = code.code(),
                        Ok(shard) => match shard.group(id) {
                            Some(group) => describe(out, version, group),
                            None => not_found(out, version),
                        },
                    }
                    if version >= DESCRIBE_WITH_OPERATIONS {
                        out.authorized_operations =
                            match request.include_authorized_operations && out.error_code == 0 {
                                true => GROUP_OPERATIONS,
                                false => i32::MIN,
                            };
                    }
                })
            });
            answer.groups = groups.collect();
        });
        self.out.answer(caller, answer);
    }

    pub(in crate::broker) fn delete_groups(
        &mut self,
        cx: &mut Cx,
        caller: &Caller,
        request: &DeleteGroupsRequest,
    ) {
        let mut parts: OrderedMap<PartitionIndex, (Vec<Arc<str>>, Vec<usize>)> = OrderedMap::new();
        let rows = message(|rows: &mut DeleteGroupsResponse| {
            for (at, group) in request.groups_names.iter().enumerate() {
                let part = parts.entry(self.group_partition(group)).or_default();
                part.0.push(name(group));
                part.1.push(at);
                rows.results.push(message(|row: &mut DeletableGroupResult| {
                    row.group_id = group.clone();
                }));
            }
        });
        if parts.is_empty() {
            return self.out.answer(caller, rows);
        }
        let places = parts.values().map(|(_, places)| places.clone()).collect();
        let form = Form::DeleteGroups(rows, places);
        let first = self.park_for_groups(cx, caller, form, parts.len() as u32);
        for (part, (partition, (groups, _))) in (0..).zip(parts) {
            let token = Token { part, ..first };
            self.ask_groups_of(cx, partition, token, |shard, turn| {
                shard.delete_groups(turn, token, &groups);
            });
        }
    }
}

/// Some of a DeleteGroups are answered.
pub(super) fn groups_deleted(
    rows: &mut DeleteGroupsResponse,
    places: &[usize],
    answer: &Result<Answer, ErrorCode>,
) {
    for (nth, &place) in places.iter().enumerate() {
        let code = match answer {
            Ok(Answer::Deleted(codes)) => codes.get(nth).copied().unwrap_or(ErrorCode::None),
            Ok(_) => ErrorCode::UnknownServerError,
            Err(code) => *code,
        };
        if let Some(row) = rows.results.get_mut(place) {
            row.error_code = code.code();
        }
    }
}

fn listed(version: i16, group: &ClassicGroup) -> ListedGroup {
    message(|out: &mut ListedGroup| {
        out.group_id = (&**group.id()).into();
        out.protocol_type = group.protocol_type().map_or("", |kind| kind).into();
        if version >= LIST_WITH_STATE {
            out.group_state = group.state().name().into();
        }
        if version >= LIST_WITH_TYPE {
            out.group_type = CLASSIC.to_lowercase().as_str().into();
        }
    })
}

fn describe(out: &mut DescribedGroup, version: i16, group: &ClassicGroup) {
    let is_stable = group.state() == GroupState::Stable;
    let protocol = group.protocol().map_or("", |name| name);
    out.group_state = group.state().name().into();
    out.protocol_type = group.protocol_type().map_or("", |kind| kind).into();
    if is_stable {
        out.protocol_data = protocol.into();
    }
    let members = group.members().map(|member| {
        message(|row: &mut DescribedGroupMember| {
            row.member_id = (&*member.id).into();
            if version >= DESCRIBE_WITH_INSTANCE_ID {
                row.group_instance_id = member.instance_id.as_deref().map(StrBytes::from);
            }
            row.client_id = (&*member.client_id).into();
            row.client_host = (&*member.client_host).into();
            if is_stable {
                row.member_metadata = member.metadata(protocol);
            }
            row.member_assignment = member.assignment.clone();
        })
    });
    out.members = members.collect();
}

fn not_found(out: &mut DescribedGroup, version: i16) {
    out.group_state = DEAD.into();
    if version >= DESCRIBE_WITH_NOT_FOUND {
        out.error_code = ErrorCode::GroupIdNotFound.code();
        let why = format!("Group {} not found.", &*out.group_id);
        out.error_message = Some(why.as_str().into());
    }
}
