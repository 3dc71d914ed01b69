//! Versions, order, time-outs and pauses, each request answered once.

use super::*;
use crate::client::ClientLane;
use crate::client::testing::{Bench, Heard, client_config, metadata, versions, versions_but};
use crate::protocol::messages::{
    InitProducerIdRequest, InitProducerIdResponse, MetadataRequest, MetadataResponse,
};
use crate::protocol::produce::ProduceRequest;

fn node(id: i32) -> Node {
    Node {
        id,
        host: format!("broker-{id}").into(),
        port: 9092,
        lane: ClientLane::Data,
    }
}

fn network() -> Network<u32> {
    Network::new(&client_config(&[]), 5)
}

/// A network whose node has told its versions.
fn ready(bench: &mut Bench, node: &Node, answer: ApiVersionsResponse) -> Network<u32> {
    let mut network = network();
    assert!(!network.ready(&mut bench.cx(), node));
    let asked = bench.heard_one();
    assert_eq!(asked.api(), ApiKey::ApiVersions);
    assert!(network.handle(&mut bench.cx(), &asked.answer(answer)).is_empty());
    network
}

fn metadata_request() -> RequestBody {
    RequestBody::Metadata(message(|body: &mut MetadataRequest| body.topics = None))
}

fn send(network: &mut Network<u32>, bench: &mut Bench, node: &Node, purpose: u32) -> Heard {
    network
        .send(&mut bench.cx(), node, 12, &metadata_request(), purpose, 0)
        .unwrap();
    bench.heard_one()
}

fn purposes(answers: &[Answer<u32>]) -> Vec<(u32, bool)> {
    answers.iter().map(|a| (a.purpose, a.result.is_ok())).collect()
}

#[test]
fn nothing_is_sent_before_the_node_has_told_its_versions() {
    let mut bench = Bench::new();
    let mut network = network();
    let node = node(1);
    let refused = network.send(&mut bench.cx(), &node, 12, &metadata_request(), 7, 0);
    assert_eq!(refused, Err(NetworkError::NotReady { node: 1 }));
    assert!(!network.ready(&mut bench.cx(), &node));
    let asked = bench.heard_one();
    let RequestBody::ApiVersions(body) = &asked.body else {
        panic!("{asked:?}")
    };
    assert_eq!(&*body.client_software_name, "highwater");
    assert!(!network.ready(&mut bench.cx(), &node), "asked once");
    assert!(bench.heard().is_empty());
    network.handle(&mut bench.cx(), &asked.answer(versions()));
    assert!(network.ready(&mut bench.cx(), &node));
    let heard = send(&mut network, &mut bench, &node, 7);
    let answers = network.handle(&mut bench.cx(), &heard.answer(metadata(&[1], &[])));
    assert_eq!(purposes(&answers), [(7, true)]);
    assert!(
        network
            .handle(&mut bench.cx(), &heard.answer(metadata(&[1], &[])))
            .is_empty(),
        "once"
    );
}

#[test]
fn the_highest_common_version_is_used_and_none_is_an_error() {
    let mut bench = Bench::new();
    let node = node(1);
    let others = [(ApiKey::Metadata, 9), (ApiKey::Produce, 2)];
    let network = ready(&mut bench, &node, versions_but(&others));
    assert_eq!(network.usable_version(&node, ApiKey::Metadata), Ok(9));
    assert_eq!(network.usable_version_up_to(&node, ApiKey::Metadata, 4), Ok(4));
    assert_eq!(network.usable_version(&node, ApiKey::Fetch), Ok(18));
    let line = network
        .usable_version(&node, ApiKey::Produce)
        .unwrap_err()
        .to_string();
    assert_eq!(
        line,
        "The node does not support Produce with version in range [3,13]. The supported range is [0,2]."
    );
    let error = network.usable_version(&node, ApiKey::AlterPartition).unwrap_err();
    assert_eq!(error.code(), ErrorCode::UnsupportedVersion);
}

#[test]
fn an_old_node_is_asked_again_in_the_version_that_it_knows() {
    let mut bench = Bench::new();
    let mut network = network();
    let node = node(1);
    network.ready(&mut bench.cx(), &node);
    let first = bench.heard_one();
    let mut refusal = versions_but(&[(ApiKey::ApiVersions, 2)]);
    refusal.error_code = ErrorCode::UnsupportedVersion.code();
    // Refusals have the form of version 0, whatever was asked.
    let frame = crate::client::testing::frame(first.id as i32, 0, &refusal.into());
    network.handle(&mut bench.cx(), &ClientInput::Response { id: first.id, frame });
    let second = bench.heard_one();
    assert_eq!((second.api(), second.sent.version), (ApiKey::ApiVersions, 2));
    network.handle(
        &mut bench.cx(),
        &second.answer(versions_but(&[(ApiKey::Metadata, 5)])),
    );
    assert!(network.ready(&mut bench.cx(), &node));
    assert_eq!(network.usable_version(&node, ApiKey::Metadata), Ok(5));
}

#[test]
fn a_request_that_is_overdue_takes_its_connection_and_all_on_it_along() {
    let mut bench = Bench::new();
    let node = node(1);
    let mut network = ready(&mut bench, &node, versions());
    let first = send(&mut network, &mut bench, &node, 1);
    bench.now += 20_000;
    send(&mut network, &mut bench, &node, 2);
    assert_eq!(network.next_timeout(), Some(bench.now + 10_000));
    bench.now += 9_999;
    assert!(network.handle(&mut bench.cx(), &ClientInput::Tick).is_empty());
    bench.now += 1;
    let answers = network.handle(&mut bench.cx(), &ClientInput::Tick);
    assert_eq!(purposes(&answers), [(1, false), (2, false)]);
    assert!(
        answers
            .iter()
            .all(|a| a.result == Err(NetworkError::TimedOut { node: 1 }))
    );
    assert_eq!(bench.out, [ClientOutput::Disconnect { node: node.clone() }]);
    assert!(
        network
            .handle(&mut bench.cx(), &first.answer(metadata(&[1], &[])))
            .is_empty(),
        "too late"
    );
    assert_eq!(network.in_flight(&node), 0);
    assert_eq!(network.next_timeout(), None);
}

#[test]
fn a_request_may_be_given_more_time_than_others() {
    let mut bench = Bench::new();
    let node = node(1);
    let mut network = ready(&mut bench, &node, versions());
    network
        .send(&mut bench.cx(), &node, 12, &metadata_request(), 1, 60_000)
        .unwrap();
    assert_eq!(network.next_timeout(), Some(bench.now + 60_000));
}

#[test]
fn a_node_that_fails_is_left_alone_longer_each_time() {
    let mut bench = Bench::new();
    let node = node(1);
    let mut network = network();
    for (least, most) in [
        (40, 60),
        (80, 120),
        (160, 240),
        (320, 480),
        (640, 960),
        (800, 1000),
        (800, 1000),
    ] {
        assert!(!network.ready(&mut bench.cx(), &node));
        let asked = bench.heard_one();
        let fail = asked.fail("connection refused");
        assert!(
            network.handle(&mut bench.cx(), &fail).is_empty(),
            "nobody else waits"
        );
        let again = network.ready_at(bench.now, &node).unwrap();
        assert!(
            (least..=most).contains(&(again - bench.now)),
            "{}",
            again - bench.now
        );
        network.ready(&mut bench.cx(), &node);
        assert!(bench.heard().is_empty(), "not before");
        bench.now = again;
    }
    network.ready(&mut bench.cx(), &node);
    let asked = bench.heard_one();
    network.handle(&mut bench.cx(), &asked.answer(versions()));
    assert_eq!(network.failures(&node), 0, "an answer makes up for all of it");
}

#[test]
fn a_lost_connection_fails_everything_on_it_once_and_asks_for_versions_again() {
    let mut bench = Bench::new();
    let node = node(1);
    let mut network = ready(&mut bench, &node, versions());
    let first = send(&mut network, &mut bench, &node, 1);
    let second = send(&mut network, &mut bench, &node, 2);
    let answers = network.handle(&mut bench.cx(), &first.fail("reset by peer"));
    assert_eq!(purposes(&answers), [(1, false), (2, false)]);
    assert_eq!(
        answers[0].result.as_ref().unwrap_err().to_string(),
        "Disconnected from node 1: reset by peer"
    );
    assert!(
        network
            .handle(&mut bench.cx(), &second.fail("reset by peer"))
            .is_empty()
    );
    bench.now += 100;
    assert!(!network.ready(&mut bench.cx(), &node));
    assert_eq!(bench.heard_one().api(), ApiKey::ApiVersions);
}

#[test]
fn an_idle_connection_that_ends_is_noticed() {
    let mut bench = Bench::new();
    let node = node(1);
    let mut network = ready(&mut bench, &node, versions());
    let why = "closed by the node".to_owned();
    let gone = ClientInput::Disconnected {
        node: node.clone(),
        why,
    };
    assert!(network.handle(&mut bench.cx(), &gone).is_empty());
    assert!(!network.can_send(bench.now, &node));
}

#[test]
fn an_answer_that_makes_no_sense_ends_the_connection() {
    for broken in [
        Bytes::from_static(&[0, 0]),
        Bytes::from_static(&[0, 0, 0, 99, 0, 0, 0, 0]),
    ] {
        let mut bench = Bench::new();
        let node = node(1);
        let mut network = ready(&mut bench, &node, versions());
        let heard = send(&mut network, &mut bench, &node, 1);
        let input = ClientInput::Response {
            id: heard.id,
            frame: broken,
        };
        let answers = network.handle(&mut bench.cx(), &input);
        assert_eq!(purposes(&answers), [(1, false)]);
        assert_eq!(bench.out, [ClientOutput::Disconnect { node: node.clone() }]);
    }
}

#[test]
fn no_more_than_so_many_are_in_flight() {
    let mut bench = Bench::new();
    let node = node(1);
    let mut network = ready(&mut bench, &node, versions());
    let heard: Vec<Heard> = (0..5).map(|n| send(&mut network, &mut bench, &node, n)).collect();
    assert!(!network.ready(&mut bench.cx(), &node));
    assert_eq!(network.ready_at(bench.now, &node), None, "an answer will tell");
    network.handle(&mut bench.cx(), &heard[0].answer(metadata(&[1], &[])));
    assert!(network.ready(&mut bench.cx(), &node));
}

#[test]
fn a_node_that_throttles_is_left_alone_for_as_long_as_it_says() {
    let mut bench = Bench::new();
    let node = node(1);
    let mut network = ready(&mut bench, &node, versions());
    let heard = send(&mut network, &mut bench, &node, 1);
    let mut answer: MetadataResponse = metadata(&[1], &[]);
    answer.throttle_time_ms = 300;
    network.handle(&mut bench.cx(), &heard.answer(answer));
    assert!(!network.ready(&mut bench.cx(), &node));
    assert_eq!(network.ready_at(bench.now, &node), Some(bench.now + 300));
    bench.now += 300;
    assert!(network.ready(&mut bench.cx(), &node));
}

#[test]
fn a_throttle_of_an_old_version_is_only_for_information() {
    let mut bench = Bench::new();
    let node = node(1);
    let mut network = ready(&mut bench, &node, versions());
    let body = RequestBody::InitProducerId(message(|body: &mut InitProducerIdRequest| {
        body.transaction_timeout_ms = 1;
    }));
    network.send(&mut bench.cx(), &node, 0, &body, 1, 0).unwrap();
    let heard = bench.heard_one();
    let answer = message(|answer: &mut InitProducerIdResponse| answer.throttle_time_ms = 300);
    network.handle(&mut bench.cx(), &heard.answer(answer));
    assert!(network.ready(&mut bench.cx(), &node));
}

#[test]
fn a_request_that_is_not_answered_is_done_when_it_is_written() {
    let mut bench = Bench::new();
    let node = node(1);
    let mut network = ready(&mut bench, &node, versions());
    let body = RequestBody::Produce(ProduceRequest::default());
    network.send(&mut bench.cx(), &node, 12, &body, 9, 0).unwrap();
    let heard = bench.heard_one();
    assert!(!heard.answered);
    let written = ClientInput::Response {
        id: heard.id,
        frame: Bytes::new(),
    };
    assert_eq!(purposes(&network.handle(&mut bench.cx(), &written)), [(9, true)]);
}

#[test]
fn the_least_loaded_node_is_a_ready_one_with_few_requests() {
    let mut bench = Bench::new();
    let nodes: Vec<Node> = (1..=3).map(node).collect();
    let mut network = ready(&mut bench, &nodes[0], versions());
    network.ready(&mut bench.cx(), &nodes[1]);
    let asked = bench.heard_one();
    for _ in 0..20 {
        assert_eq!(
            network.least_loaded(&mut bench.cx(), &nodes).0,
            Some(nodes[0].clone()),
            "ready"
        );
    }
    network.handle(&mut bench.cx(), &asked.answer(versions()));
    send(&mut network, &mut bench, &nodes[0], 1);
    for _ in 0..20 {
        assert_eq!(
            network.least_loaded(&mut bench.cx(), &nodes).0,
            Some(nodes[1].clone()),
            "idle"
        );
    }
    let fresh = Network::<u32>::new(&client_config(&[]), 5);
    let drawn: Vec<_> = (0..50)
        .filter_map(|_| fresh.least_loaded(&mut bench.cx(), &nodes).0)
        .map(|n| n.id)
        .collect();
    assert!((1..=3).all(|id| drawn.contains(&id)), "any will do: {drawn:?}");
    assert_eq!(fresh.least_loaded(&mut bench.cx(), &[]), (None, false));
}

/// Whatever a host does in whatever order, every request that was accepted ends once.
#[test]
fn every_request_ends_once() {
    for seed in 0..200 {
        let mut bench = Bench::seeded(seed);
        let mut draw = crate::types::Rng::new(seed);
        let nodes: Vec<Node> = (1..=3).map(node).collect();
        let mut network = Network::<u32>::new(&client_config(&[("request.timeout.ms", "50")]), 3);
        let (mut next, mut ended) = (0, Vec::new());
        let mut open: Vec<Heard> = Vec::new();
        for _ in 0..300 {
            bench.now += draw.below(20) as Millis;
            let node = &nodes[draw.below(3) as usize];
            if network.ready(&mut bench.cx(), node) && draw.below(2) == 0 {
                network
                    .send(&mut bench.cx(), node, 12, &metadata_request(), next, 0)
                    .unwrap();
                next += 1;
            }
            open.extend(bench.heard());
            bench.out.clear();
            let input = match draw.below(6) {
                0 => ClientInput::Tick,
                1 => ClientInput::Disconnected {
                    node: node.clone(),
                    why: "gone".to_owned(),
                },
                _ if open.is_empty() => ClientInput::Tick,
                which => {
                    // An answered request stays among the open ones now and then: a host that says things twice.
                    let at = draw.below(open.len() as u64) as usize;
                    let heard = open[at].clone();
                    if draw.below(5) > 0 {
                        open.remove(at);
                    }
                    match (which, heard.api()) {
                        (2, _) => heard.fail("broken"),
                        (_, ApiKey::ApiVersions) => heard.answer(versions()),
                        _ => heard.answer(metadata(&[1], &[])),
                    }
                }
            };
            ended.extend(
                network
                    .handle(&mut bench.cx(), &input)
                    .into_iter()
                    .map(|a| a.purpose),
            );
        }
        bench.now += 100;
        ended.extend(
            network
                .handle(&mut bench.cx(), &ClientInput::Tick)
                .into_iter()
                .map(|a| a.purpose),
        );
        ended.sort_unstable();
        assert_eq!(ended, (0..next).collect::<Vec<_>>(), "seed {seed}");
        assert_eq!(network.in_flight_requests(), 0);
    }
}
