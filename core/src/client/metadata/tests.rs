//! What is believed, what is asked for and when.

use super::*;
use crate::client::testing::{Bench, Told, client_config, failed_topic, metadata as told, topic_id};

const LONG: Millis = Millis::MAX;

fn metadata() -> Metadata {
    Metadata::new(&client_config(&[]), true)
}

fn learn(metadata: &mut Metadata, bench: &mut Bench, brokers: &[BrokerId], topics: &[Told]) {
    learn_answer(metadata, bench, &told(brokers, topics));
}

fn learn_answer(metadata: &mut Metadata, bench: &mut Bench, answer: &MetadataResponse) {
    let (_, asked) = metadata.request(bench.now, 12);
    metadata.learn(&mut bench.cx(), asked, answer);
}

fn names(body: &MetadataRequest) -> Option<Vec<String>> {
    let topics = body.topics.as_ref()?;
    Some(
        topics
            .iter()
            .map(|t| t.name.as_deref().unwrap().to_owned())
            .collect(),
    )
}

fn want(metadata: &mut Metadata, name: &str) {
    metadata.want(&name.into(), LONG, EventId::NONE);
}

#[test]
fn bootstrap_addresses_are_numbered_downwards_and_serve_until_a_broker_is_known() {
    let mut metadata = metadata();
    let mut bench = Bench::new();
    let shown: Vec<String> = metadata.nodes().iter().map(Node::to_string).collect();
    assert_eq!(shown, ["first:9092 (id: -1)", "second:9092 (id: -2)"]);
    learn(&mut metadata, &mut bench, &[], &[]);
    assert_eq!(metadata.nodes().len(), 2, "an answer without brokers is none");
    learn(&mut metadata, &mut bench, &[1, 2], &[]);
    let shown: Vec<String> = metadata.nodes().iter().map(Node::to_string).collect();
    assert_eq!(shown, ["broker-1:9001 (id: 1)", "broker-2:9002 (id: 2)"]);
    assert_eq!(metadata.controller, Some(1));
    metadata.rebootstrap(&mut bench.cx(), "test");
    assert_eq!(metadata.nodes().len(), 2);
    assert!(metadata.nodes()[0].is_bootstrap());
}

#[test]
fn a_leader_epoch_never_goes_back() {
    let mut metadata = metadata();
    let mut bench = Bench::new();
    let partition = TopicPartition::new("a", 0);
    want(&mut metadata, "a");
    learn(&mut metadata, &mut bench, &[1, 2], &[("a", &[(1, 5)])]);
    assert_eq!(metadata.leader(&partition), Some((1, Some(5))));
    learn(&mut metadata, &mut bench, &[1, 2], &[("a", &[(2, 4)])]);
    assert_eq!(metadata.leader(&partition), Some((1, Some(5))), "an older word");
    learn(&mut metadata, &mut bench, &[1, 2], &[("a", &[(2, 6)])]);
    assert_eq!(metadata.leader(&partition), Some((2, Some(6))));
    let stale = bench
        .facts()
        .iter()
        .filter(|f| matches!(f, Fact::Client(ClientFact::StaleLeaderIgnored { .. })))
        .count();
    assert_eq!(stale, 1);
}

#[test]
fn a_topic_made_anew_begins_its_epochs_anew() {
    let mut metadata = metadata();
    let mut bench = Bench::new();
    want(&mut metadata, "a");
    learn(&mut metadata, &mut bench, &[1], &[("a", &[(1, 5)])]);
    let mut answer = told(&[1], &[("a", &[(1, 0)])]);
    answer.topics[0].topic_id = Uuid([9; 16]).into();
    learn_answer(&mut metadata, &mut bench, &answer);
    assert_eq!(metadata.leader(&TopicPartition::new("a", 0)), Some((1, Some(0))));
    assert_eq!(metadata.topic_name(Uuid([9; 16])).map(|name| &**name), Some("a"));
    assert_eq!(metadata.topic_name(topic_id("a")), None);
}

#[test]
fn a_newer_epoch_seen_elsewhere_makes_what_is_known_stale() {
    let mut metadata = metadata();
    let mut bench = Bench::new();
    let partition = TopicPartition::new("a", 0);
    want(&mut metadata, "a");
    learn(&mut metadata, &mut bench, &[1], &[("a", &[(1, 5)])]);
    assert!(!metadata.is_update_wanted());
    assert!(!metadata.saw_epoch(&partition, 5, EventId::NONE));
    assert!(metadata.saw_epoch(&partition, 6, EventId::NONE));
    assert!(metadata.is_update_wanted());
    assert_eq!(
        metadata.leader(&partition),
        None,
        "who leads in epoch 6 is not known"
    );
    learn(&mut metadata, &mut bench, &[1], &[("a", &[(1, 5)])]);
    assert_eq!(metadata.leader(&partition), None, "the answer is older still");
}

#[test]
fn new_topics_are_asked_for_alone_and_at_once() {
    let mut metadata = metadata();
    let mut bench = Bench::new();
    want(&mut metadata, "a");
    let (body, _) = metadata.request(bench.now, 12);
    assert_eq!(names(&body).unwrap(), ["a"]);
    learn(&mut metadata, &mut bench, &[1], &[("a", &[(1, 0)])]);
    assert!(metadata.update_at() > bench.now);
    want(&mut metadata, "b");
    want(&mut metadata, "a");
    assert!(metadata.update_at() <= bench.now, "no pause for a new topic");
    let (body, asked) = metadata.request(bench.now, 12);
    assert_eq!(names(&body).unwrap(), ["b"]);
    want(&mut metadata, "c");
    metadata.learn(&mut bench.cx(), asked, &told(&[1], &[("b", &[(1, 0)])]));
    assert!(
        metadata.topic("a").is_some() && metadata.topic("b").is_some(),
        "merged"
    );
    assert!(metadata.is_update_wanted(), "c came after the request");
    let (body, _) = metadata.request(bench.now, 12);
    assert_eq!(names(&body).unwrap(), ["c"]);
    metadata.request_update(false, EventId::NONE);
    let (body, _) = metadata.request(bench.now, 12);
    assert_eq!(
        names(&body).unwrap(),
        ["a", "b", "c"],
        "what may be stale is asked in full"
    );
}

#[test]
fn without_news_the_pause_grows_and_news_end_it() {
    let mut metadata = metadata();
    let mut bench = Bench::new();
    want(&mut metadata, "a");
    learn(&mut metadata, &mut bench, &[1], &[("a", &[(1, 0)])]);
    let mut pauses = Vec::new();
    for _ in 0..5 {
        metadata.request_update(false, EventId::NONE);
        bench.now = metadata.update_at();
        learn(&mut metadata, &mut bench, &[1], &[("a", &[(1, 0)])]);
        pauses.push(metadata.update_at().min(metadata.not_before) - bench.now);
    }
    assert!(
        pauses[0] <= 120 && pauses[3] >= 640 && pauses[4] >= 800,
        "{pauses:?}"
    );
    learn(&mut metadata, &mut bench, &[1], &[("a", &[(1, 1)])]);
    metadata.request_update(false, EventId::NONE);
    assert!(metadata.update_at() - bench.now <= 120);
}

#[test]
fn failures_make_the_pause_grow_too() {
    let mut metadata = metadata();
    let mut bench = Bench::new();
    want(&mut metadata, "a");
    assert!(metadata.update_at() <= bench.now);
    let mut last = 0;
    for least in [80, 160, 320, 640, 800] {
        metadata.failed(&mut bench.cx(), "test");
        let pause = metadata.update_at() - bench.now;
        assert!(pause >= least && pause <= 1000, "{pause}");
        last = pause;
        bench.now = metadata.update_at();
    }
    assert!(metadata.fails_for(bench.now, last));
    learn(&mut metadata, &mut bench, &[1], &[("a", &[(1, 0)])]);
    assert!(!metadata.fails_for(bench.now, 0));
}

#[test]
fn what_is_too_old_is_asked_anew() {
    let mut metadata = metadata();
    let mut bench = Bench::new();
    want(&mut metadata, "a");
    learn(&mut metadata, &mut bench, &[1], &[("a", &[(1, 0)])]);
    assert_eq!(metadata.update_at(), bench.now + 300_000);
}

#[test]
fn errors_of_topics_are_remembered_and_those_that_pass_are_asked_again() {
    let mut metadata = metadata();
    let mut bench = Bench::new();
    want(&mut metadata, "a");
    want(&mut metadata, "b/c");
    let mut answer = told(&[1], &[]);
    answer.topics = vec![
        failed_topic("a", ErrorCode::UnknownTopicOrPartition),
        failed_topic("b/c", ErrorCode::InvalidTopicException),
    ];
    learn_answer(&mut metadata, &mut bench, &answer);
    assert_eq!(
        metadata.topic_error("a"),
        Some(ErrorCode::UnknownTopicOrPartition)
    );
    assert_eq!(
        metadata.topic_error("b/c"),
        Some(ErrorCode::InvalidTopicException)
    );
    assert!(metadata.is_update_wanted(), "a may come");
    answer.topics.remove(0);
    learn_answer(&mut metadata, &mut bench, &answer);
    assert!(!metadata.is_update_wanted(), "b/c never will");
}

#[test]
fn a_partition_without_a_leader_is_known_and_asked_for_again() {
    let mut metadata = metadata();
    let mut bench = Bench::new();
    want(&mut metadata, "a");
    learn(
        &mut metadata,
        &mut bench,
        &[1],
        &[("a", &[(1, 0), (-1, 3), (7, 0)])],
    );
    assert!(metadata.is_update_wanted());
    let topic = metadata.topic("a").unwrap();
    assert_eq!(topic.partition_count(), 3);
    assert_eq!(topic.available().collect::<Vec<_>>(), [0, 2]);
    assert_eq!(metadata.leader(&TopicPartition::new("a", 1)), None);
    assert_eq!(
        metadata.leader(&TopicPartition::new("a", 2)),
        None,
        "broker 7 has no address"
    );
    assert_eq!(metadata.partition(&TopicPartition::new("a", 3)), None);
    assert_eq!(metadata.partition(&TopicPartition::new("a", -1)), None);
}

#[test]
fn a_topic_that_nobody_uses_is_forgotten() {
    let mut metadata = metadata();
    let mut bench = Bench::new();
    metadata.want(&"a".into(), bench.now + 1000, EventId::NONE);
    learn(&mut metadata, &mut bench, &[1], &[("a", &[(1, 0)])]);
    bench.now += 500;
    metadata.want(&"a".into(), bench.now + 1000, EventId::NONE);
    bench.now += 999;
    learn(&mut metadata, &mut bench, &[1], &[("a", &[(1, 0)])]);
    assert!(metadata.wants("a"), "used in between");
    bench.now += 1;
    learn(&mut metadata, &mut bench, &[1], &[("a", &[(1, 0)])]);
    assert!(!metadata.wants("a") && metadata.topic("a").is_none());
    assert_eq!(metadata.last_seen_epoch(&TopicPartition::new("a", 0)), None);
}

#[test]
fn all_topics_can_be_wanted_and_then_only_some() {
    let mut metadata = metadata();
    let mut bench = Bench::new();
    metadata.want_all(EventId::NONE);
    let (body, _) = metadata.request(bench.now, 12);
    assert_eq!(body.topics, None);
    let (body, _) = metadata.request(bench.now, 0);
    assert_eq!(body.topics.map(|t| t.len()), Some(0), "version 0 has no null");
    learn(
        &mut metadata,
        &mut bench,
        &[1],
        &[("a", &[(1, 0)]), ("b", &[(1, 0)])],
    );
    assert_eq!(metadata.topics().count(), 2);
    metadata.want_only(["b".into()], EventId::NONE);
    learn(&mut metadata, &mut bench, &[1], &[("b", &[(1, 0)])]);
    assert_eq!(
        metadata.topics().map(|(name, _)| &**name).collect::<Vec<_>>(),
        ["b"]
    );
}

#[test]
fn an_answer_may_name_the_new_leader() {
    let mut metadata = metadata();
    let mut bench = Bench::new();
    let partition = TopicPartition::new("a", 0);
    want(&mut metadata, "a");
    learn(&mut metadata, &mut bench, &[1], &[("a", &[(1, 5)])]);
    let leader = |leader_id, leader_epoch| {
        (
            partition.clone(),
            LeaderIdAndEpoch {
                leader_id,
                leader_epoch,
            },
        )
    };
    let endpoint = NodeEndpoint {
        node_id: 4,
        host: "four".into(),
        port: 9094,
        rack: None,
    };
    let mut update = |leaders: &[_], endpoints: &[_]| {
        metadata.update_leaders(&mut bench.cx(), leaders, endpoints);
        metadata.leader(&partition)
    };
    assert_eq!(
        update(&[leader(4, 6)], &[]),
        Some((1, Some(5))),
        "its address is not known"
    );
    assert_eq!(update(&[leader(1, 5)], &[]), Some((1, Some(5))));
    assert_eq!(
        update(&[leader(4, 4)], std::slice::from_ref(&endpoint)),
        Some((1, Some(5))),
        "older"
    );
    assert_eq!(update(&[leader(-1, 9)], &[]), Some((1, Some(5))), "nobody");
    assert_eq!(update(&[leader(4, 6)], &[endpoint]), Some((4, Some(6))));
}
