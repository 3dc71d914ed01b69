//! Consumer groups as a client meets them: found, joined, committed to, and still there after a restart.

use bytes::Bytes;

use super::client::*;
use crate::error::ErrorCode;
use crate::group::OFFSETS_TOPIC;
use crate::protocol::messages::join_group_request::JoinGroupRequestProtocol;
use crate::protocol::messages::leave_group_request::MemberIdentity;
use crate::protocol::messages::offset_commit_request::{
    OffsetCommitRequestPartition, OffsetCommitRequestTopic,
};
use crate::protocol::messages::offset_delete_request::{
    OffsetDeleteRequestPartition, OffsetDeleteRequestTopic,
};
use crate::protocol::messages::offset_fetch_request::{
    OffsetFetchRequestGroup, OffsetFetchRequestTopic, OffsetFetchRequestTopics,
};
use crate::protocol::messages::sync_group_request::SyncGroupRequestAssignment;
use crate::protocol::messages::*;
use crate::protocol::{ApiKey, RequestBody, ResponseBody};
use crate::sim::Host;

fn coordinator() -> Host {
    Host::start(&[
        "broker.id=1",
        "log.dirs=/data",
        "offsets.topic.replication.factor=1",
        "offsets.topic.num.partitions=4",
        "group.initial.rebalance.delay.ms=0",
    ])
}

fn ask(host: &mut Host, version: i16, body: &RequestBody) -> ResponseBody {
    let conn = host.connect();
    let api = body.api();
    host.ask(conn, version, body)
        .unwrap_or_else(|| panic!("no answer to {api} of version {version}"))
}

macro_rules! ask {
    ($host:expr, $api:ident, $version:expr, $body:expr) => {
        match ask($host, $version, &RequestBody::$api($body)) {
            ResponseBody::$api(answer) => answer,
            other => panic!("{other:?}"),
        }
    };
}

fn find(host: &mut Host, version: i16) -> FindCoordinatorResponse {
    let find = message(|body: &mut FindCoordinatorRequest| match version < 4 {
        true => body.key = "g".into(),
        false => body.coordinator_keys = vec!["g".into()],
    });
    ask!(host, FindCoordinator, version, find)
}

/// With the offsets topic made and a topic to read.
fn ready() -> Host {
    let mut host = coordinator();
    find(&mut host, 6);
    create_topic(&mut host, "t", &[]);
    host
}

fn join_request(version: i16, member: &str) -> JoinGroupRequest {
    message(|body: &mut JoinGroupRequest| {
        body.group_id = "g".into();
        body.member_id = member.into();
        body.session_timeout_ms = 10_000;
        if version >= 1 {
            body.rebalance_timeout_ms = 10_000;
        }
        body.protocol_type = "consumer".into();
        body.protocols = vec![message(|protocol: &mut JoinGroupRequestProtocol| {
            protocol.name = "range".into();
            protocol.metadata = Bytes::from_static(b"\0\0\0\0\0\x01\0\x01t\xff\xff\xff\xff");
        })];
    })
}

fn commit_request(
    version: i16,
    member: &str,
    generation: i32,
    offset: i64,
    topic_id: WireUuid,
) -> OffsetCommitRequest {
    message(|body: &mut OffsetCommitRequest| {
        body.group_id = "g".into();
        body.member_id = member.into();
        body.generation_id_or_member_epoch = generation;
        body.topics = vec![message(|topic: &mut OffsetCommitRequestTopic| {
            match version < 10 {
                true => topic.name = "t".into(),
                false => topic.topic_id = topic_id,
            }
            topic.partitions = vec![message(|partition: &mut OffsetCommitRequestPartition| {
                partition.committed_offset = offset;
                partition.committed_metadata = Some("mine".into());
            })];
        })];
    })
}

fn commit(host: &mut Host, offset: i64) -> i16 {
    commit_of(host, "g", offset)
}

/// A commit of somebody who is no member: it makes the group.
fn commit_of(host: &mut Host, group: &str, offset: i64) -> i16 {
    let mut request = commit_request(9, "", -1, offset, Default::default());
    request.group_id = group.into();
    let answer = ask!(host, OffsetCommit, 9, request);
    answer.topics[0].partitions[0].error_code
}

/// Offset and metadata, as version 9 gives them.
fn committed(host: &mut Host) -> (i64, String) {
    let request = message(|body: &mut OffsetFetchRequest| {
        body.groups = vec![message(|group: &mut OffsetFetchRequestGroup| {
            group.group_id = "g".into();
            group.topics = Some(vec![message(|topic: &mut OffsetFetchRequestTopics| {
                topic.name = "t".into();
                topic.partition_indexes = vec![0];
            })]);
        })];
    });
    let answer = ask!(host, OffsetFetch, 9, request);
    assert_eq!(answer.groups[0].error_code, 0);
    let row = &answer.groups[0].topics[0].partitions[0];
    (
        row.committed_offset,
        row.metadata.as_deref().unwrap_or_default().to_owned(),
    )
}

/// A stable group of one; its id.
fn member(host: &mut Host) -> String {
    let given = ask!(host, JoinGroup, 9, join_request(9, ""));
    assert_eq!(given.error_code, ErrorCode::MemberIdRequired.code());
    let id = given.member_id.to_string();
    let conn = host.connect();
    let request = host.send(conn, 9, &RequestBody::JoinGroup(join_request(9, &id)));
    host.advance(10);
    let Some(ResponseBody::JoinGroup(joined)) = host.answer(conn, request) else {
        panic!("not joined");
    };
    assert_eq!((joined.error_code, &*joined.leader), (0, &*id));
    let sync = message(|body: &mut SyncGroupRequest| {
        body.group_id = "g".into();
        body.member_id = id.as_str().into();
        body.generation_id = joined.generation_id;
        body.protocol_type = Some("consumer".into());
        body.protocol_name = Some("range".into());
        body.assignments = vec![message(|share: &mut SyncGroupRequestAssignment| {
            share.member_id = id.as_str().into();
            share.assignment = Bytes::from_static(b"all");
        })];
    });
    let synced = ask!(host, SyncGroup, 5, sync);
    assert_eq!((synced.error_code, &synced.assignment[..]), (0, &b"all"[..]));
    id
}

#[test]
fn the_first_who_asks_for_a_coordinator_has_the_topic_made() {
    let mut host = coordinator();
    let first = find(&mut host, 2);
    assert_eq!(first.error_code, ErrorCode::CoordinatorNotAvailable.code());
    for version in 0..=6 {
        let found = find(&mut host, version);
        let node = match version < 4 {
            true => (found.error_code, found.node_id),
            false => (found.coordinators[0].error_code, found.coordinators[0].node_id),
        };
        assert_eq!(node, (0, 1), "version {version}");
    }
    let metadata = ask!(
        &mut host,
        Metadata,
        12,
        message(|body: &mut MetadataRequest| body.topics = None)
    );
    let topic = &metadata.topics[0];
    assert_eq!(topic.name.as_deref(), Some(OFFSETS_TOPIC));
    assert_eq!((topic.partitions.len(), topic.is_internal), (4, true));
    let transactions = message(|body: &mut FindCoordinatorRequest| {
        body.key_type = 1;
        body.coordinator_keys = vec!["tx".into()];
    });
    let answer = ask!(&mut host, FindCoordinator, 6, transactions);
    assert_eq!(
        answer.coordinators[0].error_code,
        ErrorCode::CoordinatorNotAvailable.code()
    );
}

#[test]
fn offsets_are_there_after_a_kill() {
    let mut host = ready();
    assert_eq!(committed(&mut host), (-1, String::new()));
    assert_eq!(commit(&mut host, 5), 0);
    assert_eq!(committed(&mut host), (5, "mine".into()));
    for offset in 6..300 {
        assert_eq!(commit(&mut host, offset), 0);
    }
    host.crash();
    host.boot();
    assert_eq!(committed(&mut host), (299, "mine".into()));
}

#[test]
fn a_group_is_there_after_a_kill() {
    let mut host = ready();
    let id = member(&mut host);
    host.crash();
    host.boot();
    let beat = message(|body: &mut HeartbeatRequest| {
        body.group_id = "g".into();
        body.member_id = id.as_str().into();
        body.generation_id = 1;
    });
    assert_eq!(ask!(&mut host, Heartbeat, 4, beat).error_code, 0);
    let describe = message(|body: &mut DescribeGroupsRequest| body.groups = vec!["g".into(), "other".into()]);
    let described = ask!(&mut host, DescribeGroups, 6, describe);
    let group = &described.groups[0];
    assert_eq!((&*group.group_state, &*group.protocol_data), ("Stable", "range"));
    assert_eq!(
        (
            &*group.members[0].member_id,
            &group.members[0].member_assignment[..]
        ),
        (&*id, &b"all"[..])
    );
    let other = &described.groups[1];
    assert_eq!(
        (other.error_code, &*other.group_state),
        (ErrorCode::GroupIdNotFound.code(), "Dead")
    );
}

#[test]
fn a_partition_that_does_not_exist_has_no_offset() {
    let mut host = ready();
    let mut request = commit_request(9, "", -1, 5, Default::default());
    request
        .topics
        .push(message(|topic: &mut OffsetCommitRequestTopic| {
            topic.name = "nowhere".into();
            topic.partitions = vec![Default::default()];
        }));
    request.topics[0]
        .partitions
        .push(message(|partition: &mut OffsetCommitRequestPartition| {
            partition.partition_index = 9;
        }));
    let answer = ask!(&mut host, OffsetCommit, 9, request);
    let unknown = ErrorCode::UnknownTopicOrPartition.code();
    let codes = |at: usize| {
        let rows = answer.topics[at].partitions.iter();
        rows.map(|row| row.error_code).collect::<Vec<_>>()
    };
    assert_eq!((codes(0), codes(1)), (vec![0, unknown], vec![unknown]));
    let unknown_id = commit_request(10, "", -1, 5, WireUuid::from_bytes([9; 16]));
    let answer = ask!(&mut host, OffsetCommit, 10, unknown_id);
    assert_eq!(
        answer.topics[0].partitions[0].error_code,
        ErrorCode::UnknownTopicId.code()
    );
}

#[test]
fn the_offsets_of_a_deleted_topic_are_gone() {
    let mut host = ready();
    assert_eq!(commit(&mut host, 5), 0);
    delete_topic(&mut host, "t");
    host.advance(100);
    create_topic(&mut host, "t", &[]);
    assert_eq!(committed(&mut host), (-1, String::new()));
}

#[test]
fn clients_that_never_come_again_with_their_id_do_not_pile_up() {
    let mut host = ready();
    for _ in 0..500 {
        ask!(&mut host, JoinGroup, 9, join_request(9, ""));
    }
    host.advance(10_001);
    let delete = message(|body: &mut DeleteGroupsRequest| body.groups_names = vec!["g".into()]);
    assert_eq!(ask!(&mut host, DeleteGroups, 2, delete).results[0].error_code, 0);
}

/// Refused or taken: a field that the version lacks would cost the connection.
#[test]
fn every_version_of_every_request_is_answered() {
    let mut host = ready();
    let metadata = ask!(
        &mut host,
        Metadata,
        12,
        message(|body: &mut MetadataRequest| body.topics = None)
    );
    let topics = metadata.topics.iter();
    let id = topics
        .filter(|topic| topic.name.as_deref() == Some("t"))
        .map(|topic| topic.topic_id)
        .next();
    let id = id.unwrap();
    let member = member(&mut host);
    for group in ["g", "", "other"] {
        let bodies = |api: ApiKey, version: i16| -> Option<RequestBody> {
            Some(match api {
                ApiKey::JoinGroup => {
                    let mut body = join_request(version, "stranger");
                    body.group_id = group.into();
                    RequestBody::JoinGroup(body)
                }
                ApiKey::SyncGroup => RequestBody::SyncGroup(message(|body: &mut SyncGroupRequest| {
                    body.group_id = group.into();
                    body.member_id = member.as_str().into();
                    body.generation_id = 1;
                    if version >= 5 {
                        body.protocol_type = Some("consumer".into());
                        body.protocol_name = Some("range".into());
                    }
                })),
                ApiKey::Heartbeat => RequestBody::Heartbeat(message(|body: &mut HeartbeatRequest| {
                    body.group_id = group.into();
                    body.member_id = member.as_str().into();
                    body.generation_id = 1;
                })),
                ApiKey::LeaveGroup => RequestBody::LeaveGroup(message(|body: &mut LeaveGroupRequest| {
                    body.group_id = group.into();
                    match version < 3 {
                        true => body.member_id = "stranger".into(),
                        false => {
                            body.members = vec![message(|member: &mut MemberIdentity| {
                                member.member_id = "stranger".into();
                            })];
                        }
                    }
                })),
                ApiKey::OffsetCommit => {
                    let mut body = commit_request(version, &member, 1, 5, id);
                    body.group_id = group.into();
                    RequestBody::OffsetCommit(body)
                }
                ApiKey::OffsetFetch => RequestBody::OffsetFetch(message(|body: &mut OffsetFetchRequest| {
                    if version < 8 {
                        body.group_id = group.into();
                        body.topics = Some(vec![message(|topic: &mut OffsetFetchRequestTopic| {
                            topic.name = "t".into();
                            topic.partition_indexes = vec![0, 7];
                        })]);
                        if version >= 7 {
                            body.require_stable = true;
                        }
                        return;
                    }
                    body.require_stable = version % 2 == 1;
                    body.groups = [true, false]
                        .map(|all| {
                            message(|asked: &mut OffsetFetchRequestGroup| {
                                asked.group_id = group.into();
                                asked.topics = (!all).then(|| {
                                    vec![message(|topic: &mut OffsetFetchRequestTopics| {
                                        match version < 10 {
                                            true => topic.name = "t".into(),
                                            false => topic.topic_id = id,
                                        }
                                        topic.partition_indexes = vec![0, 7];
                                    })]
                                });
                            })
                        })
                        .into();
                })),
                ApiKey::DescribeGroups => {
                    RequestBody::DescribeGroups(message(|body: &mut DescribeGroupsRequest| {
                        body.groups = vec![group.into()];
                    }))
                }
                ApiKey::ListGroups => RequestBody::ListGroups(Default::default()),
                ApiKey::DeleteGroups => {
                    RequestBody::DeleteGroups(message(|body: &mut DeleteGroupsRequest| {
                        body.groups_names = vec![group.into()];
                    }))
                }
                ApiKey::OffsetDelete => {
                    RequestBody::OffsetDelete(message(|body: &mut OffsetDeleteRequest| {
                        body.group_id = group.into();
                        body.topics = vec![message(|topic: &mut OffsetDeleteRequestTopic| {
                            topic.name = "t".into();
                            topic.partitions = [0, 9]
                                .map(|index| {
                                    message(|partition: &mut OffsetDeleteRequestPartition| {
                                        partition.partition_index = index;
                                    })
                                })
                                .into();
                        })];
                    }))
                }
                _ => return None,
            })
        };
        let mut asked = 0;
        for served in crate::protocol::api::SERVED {
            for version in served.min..=served.max {
                if let Some(body) = bodies(served.api, version) {
                    assert_eq!(ask(&mut host, version, &body).api(), served.api);
                    asked += 1;
                }
            }
        }
        assert_eq!(asked, 10 + 6 + 5 + 6 + 9 + 10 + 7 + 6 + 4 + 1);
    }
}

/// Groups that are more than one step's work.
const MANY: usize = 400;

fn many_groups() -> Host {
    let mut host = ready();
    for number in 0..MANY {
        assert_eq!(commit_of(&mut host, &format!("g{number:03}"), 1), 0);
    }
    host
}

fn list() -> RequestBody {
    RequestBody::ListGroups(ListGroupsRequest::default())
}

fn names_of(answer: Option<ResponseBody>) -> Vec<String> {
    let Some(ResponseBody::ListGroups(answer)) = answer else {
        panic!("{answer:?}");
    };
    assert_eq!(answer.error_code, 0);
    let mut names: Vec<String> = answer
        .groups
        .iter()
        .map(|group| group.group_id.to_string())
        .collect();
    names.sort();
    names
}

#[test]
fn many_groups_are_listed_step_by_step_with_others_in_between() {
    let mut host = many_groups();
    let all: Vec<String> = (0..MANY).map(|number| format!("g{number:03}")).collect();
    let conn = host.connect();
    let at_once = host.ask(conn, 5, &list());
    assert_eq!(names_of(at_once), all);
    host.hold_work(true);
    let listing = host.send(conn, 5, &list());
    assert!(
        host.answer(conn, listing).is_none(),
        "all of it is more than one step"
    );
    assert_eq!(commit(&mut host, 7), 0, "another request does not wait for it");
    let mut steps = 0;
    while host.work(10) {
        assert!(host.answer(conn, listing).is_none());
        steps += 1;
    }
    // 64 were looked at when it was asked, and the new group may be among the others.
    let left = MANY - 64;
    assert!(
        (left / 10..=left / 10 + 1).contains(&steps),
        "{steps} steps of 10"
    );
    let mut names = names_of(host.answer(conn, listing));
    names.retain(|name| name != "g");
    assert_eq!(names, all);
}

#[test]
fn many_groups_are_made_ready_step_by_step_before_they_are_served() {
    let mut host = many_groups();
    host.hold_work(false);
    host.crash();
    host.hold_work(true);
    host.boot();
    let loading = ErrorCode::CoordinatorLoadInProgress.code();
    let mut heard = Vec::new();
    while host.work(1) {
        heard.push(commit_of(&mut host, "g000", 2));
    }
    let refused = heard.iter().take_while(|code| **code == loading).count();
    assert!(refused > 1, "{heard:?}");
    assert!(heard.iter().skip(refused).all(|code| *code == 0), "{heard:?}");
    host.hold_work(false);
    let conn = host.connect();
    assert_eq!(names_of(host.ask(conn, 5, &list())).len(), MANY);
}

#[test]
fn the_consumer_protocol_is_off_and_says_so() {
    let mut host = ready();
    let beat = message(|body: &mut ConsumerGroupHeartbeatRequest| {
        body.group_id = "g".into();
        body.member_id = "m".into();
    });
    for version in 0..=1 {
        let answer = ask!(&mut host, ConsumerGroupHeartbeat, version, beat.clone());
        assert_eq!(answer.error_code, ErrorCode::UnsupportedVersion.code());
        let describe = message(|body: &mut ConsumerGroupDescribeRequest| {
            body.group_ids = vec!["g".into(), "h".into()];
        });
        let answer = ask!(&mut host, ConsumerGroupDescribe, version, describe);
        let refused = answer
            .groups
            .iter()
            .map(|group| (&*group.group_id, group.error_code));
        let code = ErrorCode::UnsupportedVersion.code();
        assert_eq!(refused.collect::<Vec<_>>(), [("g", code), ("h", code)]);
    }
}
