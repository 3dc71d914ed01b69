//! A broker that coordinates many consumer groups: 1,000 members in 100 groups, each member with a
//! connection of its own, and 10,000 commits a second from all of them.
//!
//! Each commit is due at its own time, whatever became of the one before, and its latency is counted from
//! then: a coordinator that falls behind cannot hide it.

use std::time::Duration;

use bytes::Bytes;
use highwater_core::protocol::messages::join_group_request::JoinGroupRequestProtocol;
use highwater_core::protocol::messages::offset_commit_request::{
    OffsetCommitRequestPartition, OffsetCommitRequestTopic,
};
use highwater_core::protocol::messages::sync_group_request::SyncGroupRequestAssignment;
use highwater_core::protocol::messages::{
    FindCoordinatorRequest, HeartbeatRequest, JoinGroupRequest, JoinGroupResponse, OffsetCommitRequest,
    SyncGroupRequest, message,
};
use highwater_core::protocol::{RequestBody, RequestHeader, ResponseBody, decode_response, encode_request};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use crate::broker::Broker;
use crate::loads::Values;
use crate::{Result, said, statistics, topics};

const GROUPS: usize = 100;
const MEMBERS_OF_GROUP: usize = 10;
const MEMBERS: usize = GROUPS * MEMBERS_OF_GROUP;
const COMMITS_A_SECOND: u32 = 10_000;
/// Each member's share.
const BETWEEN_COMMITS: Duration = Duration::from_millis(1000 * MEMBERS as u64 / COMMITS_A_SECOND as u64);
/// As consumers do by default.
const BETWEEN_HEARTBEATS: Duration = Duration::from_secs(3);
const SESSION_MS: i32 = 45_000;
const TOPIC: &str = "committed";
/// No answer takes so long, unless something is broken.
const LONGEST: Duration = Duration::from_secs(60);
/// No answer to what is asked here is larger.
const MOST_ANSWER_BYTES: usize = 1 << 20;
/// A group whose coordinator is not there yet is asked for again after so long.
const AGAIN: Duration = Duration::from_millis(50);

const FIND_COORDINATOR: i16 = 4;
const JOIN_GROUP: i16 = 9;
const SYNC_GROUP: i16 = 5;
const HEARTBEAT: i16 = 4;
const OFFSET_COMMIT: i16 = 8;
/// COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR.
const NOT_YET: [i16; 3] = [14, 15, 16];
const MEMBER_ID_REQUIRED: i16 = 79;

/// The groups are formed, then commit for so many seconds.
pub fn measure(broker: &Broker, seconds: u32) -> Result<Values> {
    topics::create(broker, TOPIC, 1)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(said)?;
    let before_kib = broker.memory()?.resident_kib;
    let address = broker.address();
    let began = Instant::now();
    let members = runtime.block_on(form(&address))?;
    let formed_s = began.elapsed().as_secs_f64();
    let cpu_before = broker.cpu()?;
    let mut took_ms = runtime.block_on(commit_for(members, seconds))?;
    let cpu_s = broker.cpu()?.since(cpu_before).total_s();
    let grown_kib = broker.memory()?.resident_kib - before_kib;
    topics::delete(broker, TOPIC)?;
    took_ms.sort_by(f64::total_cmp);
    Ok(vec![
        ("groups.formed", formed_s),
        ("groups.commit_p50", statistics::quantile(&took_ms, 0.5)),
        ("groups.commit_p99", statistics::quantile(&took_ms, 0.99)),
        ("groups.commit_cpu", cpu_s * 1e6 / took_ms.len() as f64),
        ("groups.memory", grown_kib * 1024.0 / 1e6),
    ])
}

/// Every member with its place in a generation.
async fn form(address: &str) -> Result<Vec<Member>> {
    let mut joining = JoinSet::new();
    for number in 0..MEMBERS {
        let address = address.to_owned();
        joining.spawn(async move { Member::join(&address, number).await });
    }
    let mut members = Vec::with_capacity(MEMBERS);
    while let Some(joined) = joining.join_next().await {
        members.push(joined.map_err(said)??);
    }
    Ok(members)
}

/// What each commit took, in milliseconds.
async fn commit_for(members: Vec<Member>, seconds: u32) -> Result<Vec<f64>> {
    let began = Instant::now();
    let mut working = JoinSet::new();
    for member in members {
        working.spawn(member.work(began, seconds));
    }
    let mut took_ms = Vec::new();
    while let Some(done) = working.join_next().await {
        took_ms.extend(done.map_err(said)??);
    }
    Ok(took_ms)
}

/// One member of one group, on one connection.
struct Member {
    stream: TcpStream,
    correlation_id: i32,
    number: usize,
    group: String,
    id: String,
    generation: i32,
}

impl Member {
    async fn join(address: &str, number: usize) -> Result<Self> {
        let stream = TcpStream::connect(address).await.map_err(said)?;
        stream.set_nodelay(true).map_err(said)?;
        let mut member = Self {
            stream,
            correlation_id: 0,
            number,
            group: format!("group-{}", number / MEMBERS_OF_GROUP),
            id: String::new(),
            generation: -1,
        };
        member.await_coordinator().await?;
        let joined = member.joined().await?;
        member.generation = joined.generation_id;
        member.synced(&joined).await?;
        Ok(member)
    }

    /// There is one broker, so that this one coordinates every group as soon as any does.
    async fn await_coordinator(&mut self) -> Result<()> {
        loop {
            let find = message(|body: &mut FindCoordinatorRequest| {
                body.coordinator_keys = vec![self.group.as_str().into()];
            });
            let answer = self
                .ask(FIND_COORDINATOR, RequestBody::FindCoordinator(find))
                .await?;
            let ResponseBody::FindCoordinator(answer) = answer else {
                return Err(other(&answer));
            };
            match answer.coordinators.first().map(|found| found.error_code) {
                Some(0) => return Ok(()),
                Some(code) if NOT_YET.contains(&code) => sleep(AGAIN).await,
                code => return Err(format!("FindCoordinator of {}: error {code:?}", self.group)),
            }
        }
    }

    async fn joined(&mut self) -> Result<JoinGroupResponse> {
        loop {
            let join = message(|body: &mut JoinGroupRequest| {
                body.group_id = self.group.as_str().into();
                body.member_id = self.id.as_str().into();
                body.session_timeout_ms = SESSION_MS;
                body.rebalance_timeout_ms = SESSION_MS;
                body.protocol_type = "consumer".into();
                body.protocols = vec![message(|protocol: &mut JoinGroupRequestProtocol| {
                    protocol.name = "range".into();
                    protocol.metadata = Bytes::from_static(b"\0\0\0\0\0\x01\0\x01t\xff\xff\xff\xff");
                })];
            });
            let answer = self.ask(JOIN_GROUP, RequestBody::JoinGroup(join)).await?;
            let ResponseBody::JoinGroup(answer) = answer else {
                return Err(other(&answer));
            };
            match answer.error_code {
                0 => return Ok(answer),
                MEMBER_ID_REQUIRED => self.id = answer.member_id.to_string(),
                code if NOT_YET.contains(&code) => sleep(AGAIN).await,
                code => return Err(format!("JoinGroup of {}: error {code}", self.group)),
            }
        }
    }

    async fn synced(&mut self, joined: &JoinGroupResponse) -> Result<()> {
        let leads = joined.leader == joined.member_id;
        let assignments = joined.members.iter().filter(|_| leads).map(|member| {
            message(|assignment: &mut SyncGroupRequestAssignment| {
                assignment.member_id = member.member_id.clone();
                assignment.assignment = Bytes::from_static(b"\0\0\0\0\0\0\xff\xff\xff\xff");
            })
        });
        let sync = message(|body: &mut SyncGroupRequest| {
            body.group_id = self.group.as_str().into();
            body.member_id = self.id.as_str().into();
            body.generation_id = self.generation;
            body.protocol_type = Some("consumer".into());
            body.protocol_name = Some("range".into());
            body.assignments = assignments.collect();
        });
        match self.ask(SYNC_GROUP, RequestBody::SyncGroup(sync)).await? {
            ResponseBody::SyncGroup(answer) if answer.error_code == 0 => Ok(()),
            answer => Err(other(&answer)),
        }
    }

    async fn work(mut self, began: Instant, seconds: u32) -> Result<Vec<f64>> {
        let own = BETWEEN_COMMITS * self.number as u32 / MEMBERS as u32;
        let commits = Duration::from_secs(u64::from(seconds)).as_micros() / BETWEEN_COMMITS.as_micros();
        let mut took_ms = Vec::with_capacity(commits as usize);
        let mut beat = began + BETWEEN_HEARTBEATS;
        for number in 0..commits as u32 {
            let due = began + own + BETWEEN_COMMITS * number;
            sleep_until(due).await;
            if due >= beat {
                self.heartbeat().await?;
                beat += BETWEEN_HEARTBEATS;
            }
            self.commit(i64::from(number)).await?;
            took_ms.push(due.elapsed().as_secs_f64() * 1e3);
        }
        Ok(took_ms)
    }

    async fn heartbeat(&mut self) -> Result<()> {
        let beat = message(|body: &mut HeartbeatRequest| {
            body.group_id = self.group.as_str().into();
            body.member_id = self.id.as_str().into();
            body.generation_id = self.generation;
        });
        match self.ask(HEARTBEAT, RequestBody::Heartbeat(beat)).await? {
            ResponseBody::Heartbeat(answer) if answer.error_code == 0 => Ok(()),
            answer => Err(other(&answer)),
        }
    }

    async fn commit(&mut self, offset: i64) -> Result<()> {
        let partition = message(|partition: &mut OffsetCommitRequestPartition| {
            partition.committed_offset = offset;
        });
        let topic = message(|topic: &mut OffsetCommitRequestTopic| {
            topic.name = TOPIC.into();
            topic.partitions = vec![partition];
        });
        let commit = message(|body: &mut OffsetCommitRequest| {
            body.group_id = self.group.as_str().into();
            body.member_id = self.id.as_str().into();
            body.generation_id_or_member_epoch = self.generation;
            body.topics = vec![topic];
        });
        let answer = self.ask(OFFSET_COMMIT, RequestBody::OffsetCommit(commit)).await?;
        let ResponseBody::OffsetCommit(committed) = &answer else {
            return Err(other(&answer));
        };
        let mut partitions = committed.topics.iter().flat_map(|topic| &topic.partitions);
        match partitions.next().map(|partition| partition.error_code) {
            Some(0) => Ok(()),
            _ => Err(other(&answer)),
        }
    }

    async fn ask(&mut self, version: i16, body: RequestBody) -> Result<ResponseBody> {
        self.correlation_id += 1;
        let header = RequestHeader {
            api: body.api(),
            version,
            correlation_id: self.correlation_id,
            client_id: Some("highwater-bench".into()),
        };
        let request = encode_request(&header, &body).map_err(said)?;
        self.stream.write_all(&request).await.map_err(said)?;
        let frame = timeout(LONGEST, self.read_frame())
            .await
            .map_err(|_| format!("{:?}: no answer within {LONGEST:?}", header.api))??;
        let response = decode_response(header.api, version, frame).map_err(said)?;
        Ok(response.body)
    }

    async fn read_frame(&mut self) -> Result<Bytes> {
        let length = self.stream.read_u32().await.map_err(said)? as usize;
        if length > MOST_ANSWER_BYTES {
            return Err(format!("an answer of {length} bytes"));
        }
        let mut bytes = vec![0; length];
        self.stream.read_exact(&mut bytes).await.map_err(said)?;
        Ok(bytes.into())
    }
}

fn other(answer: &ResponseBody) -> String {
    format!("not the answer that a member waits for: {answer:?}")
}
