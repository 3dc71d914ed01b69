//! Leaders and coordinators that change, by answers that a test writes: two nodes, one consumer.

use crate::client::ClientInput;
use crate::client::testing::{Bench, Heard, metadata, settings, topic_id, versions};
use crate::consumer::{Consumer, ConsumerConfig, ConsumerError, ConsumerEvent, RebalanceListener};
use crate::disk::{Part, Parts};
use crate::error::ErrorCode;
use crate::protocol::fetch::{FetchPartitionResponse, FetchResponse, FetchTopicResponse};
use crate::protocol::leadership::{LeaderIdAndEpoch, NodeEndpoint};
use crate::protocol::messages::find_coordinator_response::Coordinator;
use crate::protocol::messages::offset_fetch_response::{
    OffsetFetchResponseGroup, OffsetFetchResponsePartitions, OffsetFetchResponseTopics,
};
use crate::protocol::messages::offset_for_leader_epoch_response::{
    EpochEndOffset, OffsetForLeaderTopicResult,
};
use crate::protocol::messages::{
    FindCoordinatorResponse, JoinGroupResponse, OffsetFetchResponse, OffsetForLeaderEpochResponse, message,
};
use crate::protocol::{ApiKey, RequestBody, ResponseBody};
use crate::record::compression::PURE_RUST;
use crate::record::{BatchBuilder, Codec};
use crate::types::{BrokerId, LeaderEpoch, Offset, TopicPartition};

struct Scene {
    bench: Bench,
    consumer: Consumer,
    open: Vec<Heard>,
}

impl Scene {
    fn new(pairs: &[(&str, &str)]) -> Self {
        let mut all = settings(&[
            ("bootstrap.servers", "first:9092"),
            ("partition.assignment.strategy", "range"),
            ("auto.offset.reset", "earliest"),
        ]);
        all.extend(settings(pairs));
        let consumer = Consumer::new(ConsumerConfig::read(&all).unwrap(), &PURE_RUST);
        Self {
            bench: Bench::new(),
            consumer,
            open: Vec::new(),
        }
    }

    /// The oldest open request of that API; ApiVersions are answered on the way, time passes if it must.
    fn next(&mut self, api: ApiKey) -> Heard {
        for _ in 0..200 {
            self.open.extend(self.bench.heard());
            if let Some(at) = self
                .open
                .iter()
                .position(|heard| heard.api() == ApiKey::ApiVersions)
            {
                let heard = self.open.remove(at);
                self.answer(&heard, versions());
                continue;
            }
            if let Some(at) = self.open.iter().position(|heard| heard.api() == api) {
                return self.open.remove(at);
            }
            self.bench.now += 50;
            self.tell(&ClientInput::Tick);
        }
        panic!("{api} is never asked; open: {:?}", self.open);
    }

    fn tell(&mut self, input: &ClientInput) {
        self.consumer.handle(&mut self.bench.cx(), input);
    }

    fn answer(&mut self, heard: &Heard, body: impl Into<ResponseBody>) {
        let input = heard.answer(body);
        self.tell(&input);
    }

    /// Answers the next metadata request: who leads `t-0`, in which epoch.
    fn leader_is(&mut self, leader: BrokerId, epoch: LeaderEpoch) {
        let asked = self.next(ApiKey::Metadata);
        self.answer(&asked, metadata(&[1, 2], &[("t", &[(leader, epoch)])]));
    }

    fn assign_at(&mut self, offset: Offset) {
        let t0 = TopicPartition::new("t", 0);
        let cx = &mut self.bench.cx();
        self.consumer.assign(cx, [t0.clone()].into()).unwrap();
        self.consumer.seek(cx, &t0, &offset.into()).unwrap();
    }

    /// Two records of epoch 0 come from the leader, and are returned.
    fn read_two(&mut self) {
        let fetch = self.next(ApiKey::Fetch);
        let mut batch = BatchBuilder::new(Codec::None).leader_epoch(0);
        for value in ["a", "b"] {
            batch.append(1, None, Some(value.as_bytes()), &[]);
        }
        self.answer(
            &fetch,
            fetched(|row| row.records = Some(Parts::from_iter([Part::Bytes(batch.build())]))),
        );
        let records = self.consumer.poll(&mut self.bench.cx());
        assert_eq!(records.len(), 2);
    }

    /// The leader of the second epoch tells where the first ends.
    fn first_epoch_ends_at(&mut self, end_offset: Offset, leader_epoch: LeaderEpoch) {
        let asked = self.next(ApiKey::OffsetForLeaderEpoch);
        assert_eq!(asked.to.id, 2);
        let RequestBody::OffsetForLeaderEpoch(body) = &asked.body else {
            panic!("{asked:?}");
        };
        let row = &body.topics[0].partitions[0];
        assert_eq!((row.leader_epoch, row.current_leader_epoch), (0, 1));
        let answer = message(|answer: &mut OffsetForLeaderEpochResponse| {
            answer.topics = vec![message(|topic: &mut OffsetForLeaderTopicResult| {
                topic.topic = "t".into();
                topic.partitions = vec![message(|row: &mut EpochEndOffset| {
                    (row.end_offset, row.leader_epoch) = (end_offset, leader_epoch);
                })];
            })];
        });
        self.answer(&asked, answer);
    }

    /// The partition moves to broker 2: the old leader says so.
    fn moved(&mut self) {
        let fetch = self.next(ApiKey::Fetch);
        assert_eq!(fetch.to.id, 1);
        let mut answer = fetched(|row| {
            row.error_code = ErrorCode::NotLeaderOrFollower;
            row.current_leader = LeaderIdAndEpoch {
                leader_id: 2,
                leader_epoch: 1,
            };
        });
        answer.node_endpoints = vec![NodeEndpoint {
            node_id: 2,
            host: "broker-2".into(),
            port: 9002,
            rack: None,
        }];
        self.answer(&fetch, answer);
    }

    fn position(&self) -> Option<Offset> {
        self.consumer.position(&TopicPartition::new("t", 0))
    }

    fn events(&mut self) -> Vec<ConsumerEvent> {
        std::iter::from_fn(|| self.consumer.next_event()).collect()
    }
}

fn fetched(fill: impl FnOnce(&mut FetchPartitionResponse)) -> FetchResponse {
    let mut row = FetchPartitionResponse::default();
    fill(&mut row);
    FetchResponse {
        session_id: 7,
        topics: vec![FetchTopicResponse {
            name: "t".into(),
            topic_id: topic_id("t"),
            partitions: vec![row],
        }],
        ..FetchResponse::default()
    }
}

/// A consumer that has read two records of epoch 0 from broker 1, of which broker 2 takes over.
fn after_a_move(pairs: &[(&str, &str)]) -> Scene {
    let mut scene = Scene::new(pairs);
    scene.assign_at(0);
    scene.leader_is(1, 0);
    scene.read_two();
    scene.moved();
    assert_eq!(scene.position(), None, "it is being checked");
    scene
}

#[test]
fn the_new_leader_is_fetched_from_when_its_log_is_the_same() {
    let mut scene = after_a_move(&[]);
    scene.first_epoch_ends_at(2, 0);
    assert_eq!(scene.position(), Some(2));
    let fetch = scene.next(ApiKey::Fetch);
    let RequestBody::Fetch(body) = &fetch.body else {
        panic!("{fetch:?}");
    };
    let row = &body.topics[0].partitions[0];
    assert_eq!(
        (fetch.to.id, row.fetch_offset, row.current_leader_epoch),
        (2, 2, 1)
    );
}

#[test]
fn a_partition_that_failed_is_asked_for_again_after_a_pause() {
    let mut scene = Scene::new(&[("retry.backoff.ms", "1000"), ("retry.backoff.max.ms", "1000")]);
    scene.assign_at(0);
    scene.leader_is(1, 0);
    let fetch = scene.next(ApiKey::Fetch);
    let failed_ms = scene.bench.now;
    // The broker has yet to hear of the epoch that the consumer knows.
    scene.answer(
        &fetch,
        fetched(|row| row.error_code = ErrorCode::UnknownLeaderEpoch),
    );
    assert_eq!(scene.next(ApiKey::Fetch).to.id, 1);
    let pause_ms = scene.bench.now - failed_ms;
    assert!((800..=1050).contains(&pause_ms), "{pause_ms} ms");
}

#[test]
fn reading_goes_on_where_a_cut_log_parts_ways() {
    let mut scene = after_a_move(&[]);
    scene.first_epoch_ends_at(1, 0);
    assert_eq!(scene.position(), Some(1));
    assert!(scene.events().is_empty());
}

#[test]
fn without_a_reset_the_application_hears_of_a_cut_log() {
    let mut scene = after_a_move(&[("auto.offset.reset", "none")]);
    scene.first_epoch_ends_at(1, 0);
    let events = scene.events();
    let [ConsumerEvent::Failed(error)] = &events[..] else {
        panic!("{events:?}");
    };
    assert_eq!(
        *error,
        ConsumerError::LogTruncation {
            partition: TopicPartition::new("t", 0),
            offset: 2,
            diverges_at: Some((1, 0)),
        }
    );
    assert!(error.to_string().contains("epoch 0 ends at 1 now"), "{error}");
}

#[test]
fn a_leader_that_does_not_know_the_epoch_means_a_reset() {
    let mut scene = after_a_move(&[]);
    scene.first_epoch_ends_at(-1, -1);
    assert_eq!(scene.position(), None);
    let asked = scene.next(ApiKey::ListOffsets);
    assert_eq!(asked.to.id, 2);
}

fn coordinator_is(id: BrokerId) -> FindCoordinatorResponse {
    message(|answer: &mut FindCoordinatorResponse| {
        answer.coordinators = vec![message(|row: &mut Coordinator| {
            row.node_id = id;
            row.host = format!("broker-{id}").as_str().into();
            row.port = 9000 + id;
        })];
    })
}

#[test]
fn a_coordinator_that_moved_is_looked_for_and_joined() {
    let mut scene = Scene::new(&[("group.id", "g")]);
    let cx = &mut scene.bench.cx();
    let listener = RebalanceListener::Absent;
    scene
        .consumer
        .subscribe(cx, ["t".into()].into(), listener)
        .unwrap();
    scene.consumer.poll(&mut scene.bench.cx());
    scene.leader_is(1, 0);
    let asked = scene.next(ApiKey::FindCoordinator);
    scene.answer(&asked, coordinator_is(1));
    let join = scene.next(ApiKey::JoinGroup);
    assert_eq!(join.to.id, 1);
    let moved =
        message(|answer: &mut JoinGroupResponse| answer.error_code = ErrorCode::NotCoordinator.code());
    scene.answer(&join, moved);
    let asked = scene.next(ApiKey::FindCoordinator);
    scene.answer(&asked, coordinator_is(2));
    assert_eq!(scene.next(ApiKey::JoinGroup).to.id, 2);
}

#[test]
fn an_offset_that_a_transaction_may_still_change_is_asked_for_again() {
    let mut scene = Scene::new(&[("group.id", "g")]);
    let cx = &mut scene.bench.cx();
    scene
        .consumer
        .assign(cx, [TopicPartition::new("t", 0)].into())
        .unwrap();
    scene.leader_is(1, 0);
    let asked = scene.next(ApiKey::FindCoordinator);
    scene.answer(&asked, coordinator_is(1));
    for (code, offset) in [(ErrorCode::UnstableOffsetCommit, -1), (ErrorCode::None, 5)] {
        let asked = scene.next(ApiKey::OffsetFetch);
        let answer = message(|answer: &mut OffsetFetchResponse| {
            answer.groups = vec![message(|group: &mut OffsetFetchResponseGroup| {
                group.group_id = "g".into();
                group.topics = vec![message(|topic: &mut OffsetFetchResponseTopics| {
                    topic.name = "t".into();
                    topic.partitions = vec![message(|row: &mut OffsetFetchResponsePartitions| {
                        row.error_code = code.code();
                        row.committed_offset = offset;
                    })];
                })];
            })];
        });
        scene.answer(&asked, answer);
    }
    assert_eq!(scene.position(), Some(5));
}
