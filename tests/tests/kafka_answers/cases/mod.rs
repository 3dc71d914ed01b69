//! What is asked, in this order: each answer may depend on what was asked before.
//!
//! Topics: `t` has two partitions of which the second stays empty, `late` takes the broker's time, `keyed`
//! is compacted, `small` takes small batches only, `made-vN` were made with CreateTopics N. Groups: see `groups`.

mod groups;
mod records;
mod settings;
mod topics;

use highwater_core::protocol::RequestBody;
use highwater_core::protocol::messages::{ApiVersionsRequest, message};
use highwater_core::types::Uuid;

use crate::client::Asker;

/// One request.
pub struct Case {
    pub name: String,
    pub version: i16,
    /// Some requests name topics by their ids.
    pub ask: Box<dyn Fn(&Asker) -> RequestBody>,
    /// The topics that there must be before the next.
    pub settle: Option<&'static [&'static str]>,
    /// What the member is called whom a JoinGroup is told of.
    pub member: Option<&'static str>,
    pub answered: Answered,
}

/// When a request is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answered {
    AtOnce,
    /// Only after this many more requests.
    After(i32),
}

impl Case {
    pub fn of_member(mut self, name: &'static str) -> Self {
        self.member = Some(name);
        self
    }

    pub fn answered_after(mut self, more: i32) -> Self {
        self.answered = Answered::After(more);
        self
    }
}

pub fn case(name: &str, version: i16, ask: impl Fn(&Asker) -> RequestBody + 'static) -> Case {
    Case {
        name: name.to_owned(),
        version,
        ask: Box::new(ask),
        settle: None,
        member: None,
        answered: Answered::AtOnce,
    }
}

/// The id of nothing.
pub const NOBODY: Uuid = Uuid([7; 16]);

pub fn all() -> Vec<Case> {
    let groups = [
        api_versions(),
        topics::create_topics_cases(),
        topics::create_partitions_cases(),
        topics::metadata_cases(),
        topics::describe_partitions_cases(),
        records::produce_cases(),
        records::fetch_cases(),
        records::list_offsets_cases(),
        records::epoch_cases(),
        records::producer_id_cases(),
        records::delete_records_cases(),
        settings::configs_cases(),
        settings::alter_cases(),
        settings::resources_cases(),
        settings::cluster_cases(),
        groups::joining_cases(),
        groups::two_members_cases(),
        groups::static_member_cases(),
        groups::commit_cases(),
        groups::fetch_cases(),
        groups::operator_cases(),
        groups::leaving_cases(),
        groups::deleting_cases(),
        topics::delete_topics_cases(),
    ];
    groups.into_iter().flatten().collect()
}

fn api_versions() -> Vec<Case> {
    vec![case("a client's name with a blank in it", 4, |_| {
        RequestBody::ApiVersions(message(|request: &mut ApiVersionsRequest| {
            request.client_software_name = "a b".into();
            request.client_software_version = "1".into();
        }))
    })]
}
