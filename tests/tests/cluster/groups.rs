//! A consumer group and the death of its coordinator.

use std::time::{Duration, Instant};

use bytes::Bytes;
use highwater_core::group::{OFFSETS_TOPIC, partition_of};
use highwater_core::protocol::messages::join_group_request::JoinGroupRequestProtocol;
use highwater_core::protocol::messages::offset_commit_request::{
    OffsetCommitRequestPartition, OffsetCommitRequestTopic,
};
use highwater_core::protocol::messages::offset_fetch_request::{
    OffsetFetchRequestGroup, OffsetFetchRequestTopics,
};
use highwater_core::protocol::messages::sync_group_request::SyncGroupRequestAssignment;
use highwater_core::protocol::messages::*;
use highwater_core::protocol::{RequestBody, ResponseBody};
use highwater_tests::cluster::TestCluster;
use highwater_tests::requests::*;

use super::COMES_WITHIN;

const GROUP: &str = "readers";
const TOPIC: &str = "read";
/// Between two looks at what comes in its own time.
const PAUSE: Duration = Duration::from_millis(50);

macro_rules! ask {
    ($cluster:expr, $broker:expr, $api:ident, $version:expr, $body:expr) => {
        match $cluster.client($broker).ask($version, &RequestBody::$api($body)) {
            ResponseBody::$api(answer) => answer,
            other => panic!("{other:?}"),
        }
    };
}

/// Looks until there is something.
fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + COMES_WITHIN;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < end, "{what} never came");
        std::thread::sleep(PAUSE);
    }
}

/// The coordinator that every broker which runs names.
fn coordinator(cluster: &TestCluster) -> i32 {
    until("a coordinator that runs", || {
        let named = cluster.running().into_iter().map(|id| {
            let find =
                message(|body: &mut FindCoordinatorRequest| body.coordinator_keys = vec![GROUP.into()]);
            let found = ask!(cluster, id, FindCoordinator, 4, find);
            found.coordinators[0].node_id
        });
        let mut named: Vec<i32> = named.collect();
        named.dedup();
        let [one] = named[..] else { return None };
        cluster.running().contains(&one).then_some(one)
    })
}

fn join(member: &str) -> JoinGroupRequest {
    message(|body: &mut JoinGroupRequest| {
        body.group_id = GROUP.into();
        body.member_id = member.into();
        body.session_timeout_ms = 60_000;
        body.rebalance_timeout_ms = 60_000;
        body.protocol_type = "consumer".into();
        body.protocols = vec![message(|protocol: &mut JoinGroupRequestProtocol| {
            protocol.name = "range".into();
            protocol.metadata = Bytes::from_static(b"\0\0\0\0\0\0\xff\xff\xff\xff");
        })];
    })
}

fn sync(member: &str, generation: i32, share: &'static [u8]) -> SyncGroupRequest {
    message(|body: &mut SyncGroupRequest| {
        body.group_id = GROUP.into();
        body.member_id = member.into();
        body.generation_id = generation;
        body.protocol_type = Some("consumer".into());
        body.protocol_name = Some("range".into());
        body.assignments = vec![message(|assignment: &mut SyncGroupRequestAssignment| {
            assignment.member_id = member.into();
            assignment.assignment = Bytes::from_static(share);
        })];
    })
}

fn commit(cluster: &TestCluster, broker: i32, member: &str, generation: i32, offset: i64) -> i16 {
    let body = message(|body: &mut OffsetCommitRequest| {
        body.group_id = GROUP.into();
        body.member_id = member.into();
        body.generation_id_or_member_epoch = generation;
        body.topics = vec![message(|topic: &mut OffsetCommitRequestTopic| {
            topic.name = TOPIC.into();
            topic.partitions = vec![message(|partition: &mut OffsetCommitRequestPartition| {
                partition.committed_offset = offset;
            })];
        })];
    });
    let answer = ask!(cluster, broker, OffsetCommit, 9, body);
    answer.topics[0].partitions[0].error_code
}

/// `None`: the coordinator does not serve the group yet.
fn committed(cluster: &TestCluster, broker: i32) -> Option<i64> {
    let body = message(|body: &mut OffsetFetchRequest| {
        body.groups = vec![message(|group: &mut OffsetFetchRequestGroup| {
            group.group_id = GROUP.into();
            group.topics = Some(vec![message(|topic: &mut OffsetFetchRequestTopics| {
                topic.name = TOPIC.into();
                topic.partition_indexes = vec![0];
            })]);
        })];
    });
    let answer = ask!(cluster, broker, OffsetFetch, 9, body);
    let group = &answer.groups[0];
    (group.error_code == 0).then(|| group.topics[0].partitions[0].committed_offset)
}

#[test]
fn a_group_goes_on_when_its_coordinator_dies() {
    let mut cluster = TestCluster::start(3);
    let controller = cluster.await_controller(None);
    let request = create_replicated_request(TOPIC, 1, 3);
    created(cluster.client(controller).ask(CREATE_TOPICS, &request)).expect("a topic");
    cluster.await_whole(TOPIC, 0);

    let first = coordinator(&cluster);
    let partition = partition_of(GROUP, 50);
    assert_eq!(cluster.await_whole(OFFSETS_TOPIC, partition).leader, first);
    until("the group", || committed(&cluster, first));
    let member = ask!(cluster, first, JoinGroup, 9, join("")).member_id.to_string();
    let joined = ask!(cluster, first, JoinGroup, 9, join(&member));
    assert_eq!((joined.error_code, joined.generation_id), (0, 1));
    let synced = ask!(cluster, first, SyncGroup, 5, sync(&member, 1, b"all"));
    assert_eq!((synced.error_code, &synced.assignment[..]), (0, &b"all"[..]));
    for offset in 1..=42 {
        assert_eq!(commit(&cluster, first, &member, 1, offset), 0);
    }

    cluster.kill(first);
    let second = coordinator(&cluster);
    assert_ne!(second, first);
    let offset = until("the group elsewhere", || committed(&cluster, second));
    assert_eq!(offset, 42, "what was acknowledged is there");
    let beat = message(|body: &mut HeartbeatRequest| {
        body.group_id = GROUP.into();
        body.member_id = member.as_str().into();
        body.generation_id = 1;
    });
    assert_eq!(ask!(cluster, second, Heartbeat, 4, beat).error_code, 0);
    let synced = ask!(cluster, second, SyncGroup, 5, sync(&member, 1, b""));
    assert_eq!((synced.error_code, &synced.assignment[..]), (0, &b"all"[..]));
    assert_eq!(commit(&cluster, second, &member, 1, 43), 0);
    assert_eq!(committed(&cluster, second), Some(43));

    // The first one comes back, and knows that it coordinates the group no more.
    cluster.restart(first);
    cluster.await_whole(OFFSETS_TOPIC, partition);
    if coordinator(&cluster) == second {
        assert_eq!(committed(&cluster, first), None);
        assert_eq!(committed(&cluster, second), Some(43));
    }
}
