//! What the coordinator says of a group.

use highwater_core::protocol::messages::{DescribeGroupsRequest, message};
use highwater_core::protocol::{RequestBody, ResponseBody};
use highwater_tests::cluster::until;
use highwater_tests::wire::WireClient;

const DESCRIBE_GROUPS: i16 = 5;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Described {
    pub state: String,
    /// The assignor that all members share.
    pub protocol: String,
    /// The `client.id` of each, sorted.
    pub members: Vec<String>,
}

pub fn describe(client: &mut WireClient, group: &str) -> Described {
    let body = message(|body: &mut DescribeGroupsRequest| body.groups = vec![group.into()]);
    let answer = client.ask(DESCRIBE_GROUPS, &RequestBody::DescribeGroups(body));
    let ResponseBody::DescribeGroups(answer) = answer else {
        panic!("another answer: {answer:?}");
    };
    let group = &answer.groups[0];
    let mut members: Vec<String> = group
        .members
        .iter()
        .map(|member| member.client_id.to_string())
        .collect();
    members.sort();
    Described {
        state: group.group_state.to_string(),
        protocol: group.protocol_data.to_string(),
        members,
    }
}

/// Waits until the group is in that state with these members and no others.
pub fn await_state(client: &mut WireClient, group: &str, state: &str, members: &[&str]) {
    let mut members = members.to_vec();
    members.sort_unstable();
    until(&format!("{state} with {members:?}"), || {
        let described = describe(client, group);
        let is_so = described.state == state && described.members == members;
        is_so.then_some(()).ok_or_else(|| format!("{described:?}"))
    });
}
