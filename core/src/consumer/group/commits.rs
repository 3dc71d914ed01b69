//! Offsets on their way to the coordinator, and their outcomes back (Kafka's `ConsumerCoordinator`).
//!
//! Commits are sent in the order in which they are asked for and end in that order. One that the
//! application does not wait for is sent once; what may be tried again is left to the next commit, which
//! covers it. One that it waits for is tried until it is done or its time is over, and holds back those
//! behind it.
//!
//! Invariant: every commit ends once.

use std::collections::VecDeque;

use super::coordinator::{Coordinator, group_error};
use super::membership::{MemberState, Membership};
use crate::client::{ClientCx, NetworkError};
use crate::consumer::config::GroupConfig;
use crate::consumer::error::ConsumerError;
use crate::consumer::event::{CommitId, ConsumerEvent};
use crate::consumer::generation::Generation;
use crate::consumer::purpose::Purpose;
use crate::consumer::record::OffsetAndMetadata;
use crate::consumer::requests;
use crate::consumer::shared::Shared;
use crate::error::ErrorCode;
use crate::ordered::OrderedMap;
use crate::protocol::messages::OffsetCommitResponse;
use crate::protocol::{ApiKey, ResponseBody};
use crate::trace::{CommitReason, ConsumerFact};
use crate::types::{Millis, Offset, TopicPartition};

type Offsets = OrderedMap<TopicPartition, OffsetAndMetadata>;

#[derive(Clone, Debug)]
enum Progress {
    Waiting { not_before: Millis },
    InFlight,
    Done(Result<(), ConsumerError>),
}

#[derive(Clone, Debug)]
struct Commit {
    id: CommitId,
    offsets: Offsets,
    reason: CommitReason,
    progress: Progress,
    failures: u32,
    due_ms: Millis,
}

impl Commit {
    /// Somebody waits for it.
    fn is_sync(&self) -> bool {
        matches!(self.reason, CommitReason::Sync | CommitReason::Close)
    }

    /// As a fact shows it.
    fn shown(&self) -> Vec<(TopicPartition, Offset)> {
        let offsets = self.offsets.iter();
        offsets
            .map(|(partition, offset)| (partition.clone(), offset.offset))
            .collect()
    }
}

/// How a commit ended that the application did not ask for.
#[derive(Clone, Debug)]
pub(super) struct OwnCommit {
    pub reason: CommitReason,
    pub result: Result<(), ConsumerError>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Commits {
    last: CommitId,
    queue: VecDeque<Commit>,
}

impl Commits {
    pub fn add(&mut self, offsets: Offsets, reason: CommitReason, due_ms: Millis) -> CommitId {
        self.last += 1;
        self.queue.push_back(Commit {
            id: self.last,
            offsets,
            reason,
            progress: Progress::Waiting { not_before: 0 },
            failures: 0,
            due_ms,
        });
        self.last
    }

    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Sends what can be sent, and tells of what ended; the consumer's own are handed back.
    pub fn run(
        &mut self,
        config: &GroupConfig,
        coordinator: &mut Coordinator,
        membership: &Membership,
        shared: &mut Shared,
        cx: &mut ClientCx,
    ) -> Vec<OwnCommit> {
        for commit in &mut self.queue {
            if !matches!(commit.progress, Progress::Done(_)) {
                advance(commit, config, coordinator, membership, shared, cx);
            }
            let blocks = commit.is_sync() && !matches!(commit.progress, Progress::Done(_));
            if blocks {
                break;
            }
        }
        let mut own = Vec::new();
        while let Some(commit) = self
            .queue
            .pop_front_if(|commit| matches!(commit.progress, Progress::Done(_)))
        {
            let Progress::Done(result) = commit.progress else {
                continue;
            };
            shared.again = true;
            match commit.reason {
                CommitReason::Sync | CommitReason::Async => {
                    shared.events.push_back(ConsumerEvent::Committed {
                        id: commit.id,
                        offsets: commit.offsets,
                        result,
                    });
                }
                reason => own.push(OwnCommit { reason, result }),
            }
        }
        own
    }

    /// Takes in the coordinator's answer.
    #[expect(clippy::too_many_arguments, reason = "all that a commit may change")]
    pub fn answered(
        &mut self,
        config: &GroupConfig,
        coordinator: &mut Coordinator,
        membership: &mut Membership,
        shared: &mut Shared,
        cx: &mut ClientCx,
        (id, sent): (CommitId, &Generation),
        result: Result<ResponseBody, NetworkError>,
    ) {
        let outcome = match result {
            Ok(ResponseBody::OffsetCommit(answer)) => {
                let (code, denied) = first_error(&answer);
                judge(config, coordinator, membership, shared, cx, (sent, code, denied))
            }
            Ok(_) => Outcome::Retriable("the answer is to another request".to_owned()),
            Err(error) => {
                coordinator.lost(shared, cx, &error.to_string());
                Outcome::Retriable(error.to_string())
            }
        };
        let Some(commit) = self.queue.iter_mut().find(|commit| commit.id == id) else {
            return;
        };
        match outcome {
            Outcome::Done => {
                let (group, offsets) = (config.group.clone(), commit.shown());
                shared.emit(cx, || ConsumerFact::Committed { group, offsets });
                commit.progress = Progress::Done(Ok(()));
            }
            Outcome::Retriable(why) => {
                failed(commit, config, shared, cx, &why, commit.is_sync());
                commit.progress = if commit.is_sync() {
                    let not_before = shared.retry_at(cx, commit.failures);
                    commit.failures += 1;
                    Progress::Waiting { not_before }
                } else {
                    Progress::Done(Err(ConsumerError::RetriableCommitFailed { why }))
                };
            }
            Outcome::Fatal(error) => {
                failed(commit, config, shared, cx, &error.to_string(), false);
                commit.progress = Progress::Done(Err(error));
            }
        }
    }
}

fn failed(
    commit: &Commit,
    config: &GroupConfig,
    shared: &mut Shared,
    cx: &mut ClientCx,
    why: &str,
    again: bool,
) {
    shared.emit(cx, || ConsumerFact::CommitFailed {
        group: config.group.clone(),
        offsets: commit.shown(),
        why: why.to_owned(),
        again,
    });
}

/// Sends the commit if it can be sent, ends it if it cannot be.
fn advance(
    commit: &mut Commit,
    config: &GroupConfig,
    coordinator: &mut Coordinator,
    membership: &Membership,
    shared: &mut Shared,
    cx: &mut ClientCx,
) {
    if commit.offsets.is_empty() {
        commit.progress = Progress::Done(Ok(()));
        return;
    }
    if commit.due_ms <= cx.now {
        commit.progress = Progress::Done(Err(ConsumerError::Timeout {
            what: "the commit of offsets",
            ms: shared.config.default_api_timeout_ms,
        }));
        return;
    }
    shared.wake_at(commit.due_ms);
    let Progress::Waiting { not_before } = commit.progress else {
        return;
    };
    if not_before > cx.now {
        return shared.wake_at(not_before);
    }
    let generation = match generation(membership, shared) {
        Ok(generation) => generation,
        Err(error) => {
            failed(commit, config, shared, cx, &error.to_string(), false);
            commit.progress = Progress::Done(Err(error));
            return;
        }
    };
    let Some(node) = coordinator.ready(shared, cx) else {
        return;
    };
    let most = requests::LAST_COMMIT_WITH_NAMES;
    let Ok(version) = shared.net.usable_version(&node, ApiKey::OffsetCommit, most) else {
        return;
    };
    let body = requests::offset_commit(version, config, &generation, &commit.offsets);
    let (group, offsets, why) = (config.group.clone(), commit.shown(), commit.reason);
    shared.emit(cx, || ConsumerFact::CommitSent { group, offsets, why });
    let purpose = Purpose::Commit {
        id: commit.id,
        generation,
    };
    if shared.net.send(cx, &node, version, &body, purpose, 0).is_ok() {
        commit.progress = Progress::InFlight;
    }
}

/// As whom to commit. Who should be in a group and is not must not.
fn generation(membership: &Membership, shared: &Shared) -> Result<Generation, ConsumerError> {
    if !shared.subscriptions.is_by_group() {
        return Ok(Generation::default());
    }
    match membership.state {
        MemberState::Stable => Ok(membership.generation.clone()),
        MemberState::PreparingRebalance | MemberState::CompletingRebalance => {
            Err(ConsumerError::RebalanceInProgress)
        }
        MemberState::Unjoined => Err(ConsumerError::CommitFailed),
    }
}

enum Outcome {
    Done,
    Retriable(String),
    Fatal(ConsumerError),
}

/// The first error that counts, and the topics that may not be read, which count last.
fn first_error(answer: &OffsetCommitResponse) -> (ErrorCode, Vec<String>) {
    let mut denied = Vec::new();
    for topic in &answer.topics {
        for row in &topic.partitions {
            match ErrorCode::from_code(row.error_code).unwrap_or(ErrorCode::UnknownServerError) {
                ErrorCode::None => {}
                ErrorCode::TopicAuthorizationFailed => denied.push(topic.name.to_string()),
                code => return (code, denied),
            }
        }
    }
    denied.dedup();
    (ErrorCode::None, denied)
}

fn judge(
    config: &GroupConfig,
    coordinator: &mut Coordinator,
    membership: &mut Membership,
    shared: &mut Shared,
    cx: &mut ClientCx,
    (sent, code, denied): (&Generation, ErrorCode, Vec<String>),
) -> Outcome {
    let is_unchanged = membership.generation == *sent;
    let is_rejoining = membership.state == MemberState::PreparingRebalance;
    match code {
        ErrorCode::None if denied.is_empty() => Outcome::Done,
        ErrorCode::None => Outcome::Fatal(ConsumerError::TopicAuthorization { topics: denied }),
        ErrorCode::CoordinatorLoadInProgress | ErrorCode::UnknownTopicOrPartition => {
            Outcome::Retriable(code.to_string())
        }
        ErrorCode::CoordinatorNotAvailable | ErrorCode::NotCoordinator | ErrorCode::RequestTimedOut => {
            coordinator.give_up(shared, cx, code.kafka_name());
            Outcome::Retriable(code.to_string())
        }
        ErrorCode::RebalanceInProgress => {
            membership.want_rejoin(
                shared,
                cx,
                "offset commit failed since group is already rebalancing",
            );
            Outcome::Fatal(ConsumerError::RebalanceInProgress)
        }
        ErrorCode::FencedInstanceId if is_unchanged => Outcome::Fatal(group_error(&config.group, code)),
        ErrorCode::FencedInstanceId | ErrorCode::UnknownMemberId | ErrorCode::IllegalGeneration
            if !is_unchanged && is_rejoining =>
        {
            Outcome::Fatal(ConsumerError::RebalanceInProgress)
        }
        ErrorCode::FencedInstanceId => Outcome::Fatal(ConsumerError::CommitFailed),
        ErrorCode::UnknownMemberId | ErrorCode::IllegalGeneration => {
            // The member may still be known when only its generation is over.
            let forget = code == ErrorCode::UnknownMemberId;
            let why = format!("encountered {code} from OFFSET_COMMIT response");
            membership.reset(shared, cx, &why, forget);
            Outcome::Fatal(ConsumerError::CommitFailed)
        }
        ErrorCode::OffsetMetadataTooLarge
        | ErrorCode::InvalidCommitOffsetSize
        | ErrorCode::GroupAuthorizationFailed => Outcome::Fatal(group_error(&config.group, code)),
        code => Outcome::Fatal(ConsumerError::Unexpected {
            api: ApiKey::OffsetCommit.name(),
            code: code.code(),
        }),
    }
}
