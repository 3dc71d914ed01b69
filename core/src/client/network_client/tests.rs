//! Finding the cluster, and finding it again.

use super::*;
use crate::client::testing::{Bench, Heard, client_config, metadata, versions};
use crate::trace::EventId;

type Client = NetworkClient<u32>;

fn client(pairs: &[(&str, &str)]) -> Client {
    NetworkClient::new(&client_config(pairs), 5, true)
}

/// One turn of the owner: the input, then what is next asked for.
fn turn(client: &mut Client, bench: &mut Bench, input: &ClientInput) -> Vec<Heard> {
    client.handle(&mut bench.cx(), input);
    client.update_metadata(&mut bench.cx());
    bench.heard()
}

/// Lets time pass until the client wants something, and answers its requests for versions.
fn until(client: &mut Client, bench: &mut Bench, api: ApiKey) -> Heard {
    for _ in 0..100 {
        let mut heard = turn(client, bench, &ClientInput::Tick);
        while let Some(one) = heard.pop() {
            if one.api() == api {
                return one;
            }
            heard.extend(turn(client, bench, &one.answer(versions())));
        }
        let at = client.next_timeout(bench.now).expect("it waits for nothing");
        assert!(at > bench.now, "it would spin");
        bench.now = at;
    }
    panic!("never asked for {api}");
}

#[test]
fn the_cluster_is_found_by_one_bootstrap_address_that_answers() {
    let mut bench = Bench::new();
    let mut client = client(&[]);
    let mut failed = Vec::new();
    // The first address that is tried does not answer; the other one is tried at once.
    let first = until(&mut client, &mut bench, ApiKey::ApiVersions);
    failed.push(first.to.id);
    let began = bench.now;
    let heard = turn(&mut client, &mut bench, &first.fail("connection refused"));
    assert!(
        heard.is_empty(),
        "a lost connection is a failed update, with its pause"
    );
    let second = until(&mut client, &mut bench, ApiKey::ApiVersions);
    assert!(bench.now - began <= 120);
    assert_ne!(second.to.id, first.to.id);
    let heard = turn(&mut client, &mut bench, &second.answer(versions()));
    assert_eq!(heard[0].api(), ApiKey::Metadata);
    client.metadata.want(&"a".into(), Millis::MAX, EventId::NONE);
    let full = bench.now;
    turn(&mut client, &mut bench, &heard[0].answer(metadata(&[1, 2], &[])));
    let next = until(&mut client, &mut bench, ApiKey::Metadata);
    assert!(!next.to.is_bootstrap());
    turn(
        &mut client,
        &mut bench,
        &next.answer(metadata(&[1, 2], &[("a", &[(2, 0)])])),
    );
    assert_eq!(client.node(2, ClientLane::Data).unwrap().port, 9002);
    assert_eq!(client.next_timeout(bench.now), Some(full + 300_000));
}

#[test]
fn when_no_known_broker_answers_the_bootstrap_addresses_are_asked_again() {
    for (strategy, expected) in [("rebootstrap", true), ("none", false)] {
        let mut bench = Bench::new();
        let mut client = client(&[
            ("metadata.recovery.strategy", strategy),
            ("metadata.recovery.rebootstrap.trigger.ms", "5000"),
        ]);
        let asked = until(&mut client, &mut bench, ApiKey::Metadata);
        turn(&mut client, &mut bench, &asked.answer(metadata(&[1, 2], &[])));
        client.metadata.request_update(false, EventId::NONE);
        let mut found = false;
        for _ in 0..40 {
            let asked = until(&mut client, &mut bench, ApiKey::ApiVersions);
            found |= asked.to.is_bootstrap();
            turn(&mut client, &mut bench, &asked.fail("connection refused"));
        }
        assert_eq!(found, expected);
    }
}

#[test]
fn a_lost_connection_makes_what_is_known_doubtful() {
    let mut bench = Bench::new();
    let mut client = client(&[]);
    let asked = until(&mut client, &mut bench, ApiKey::Metadata);
    turn(&mut client, &mut bench, &asked.answer(metadata(&[1], &[])));
    assert!(!client.metadata.is_update_wanted());
    let node = client.node(1, ClientLane::Data).unwrap();
    client.ready(&mut bench.cx(), &node);
    let asked = bench.heard_one();
    turn(&mut client, &mut bench, &asked.answer(versions()));
    let why = "closed by the node".to_owned();
    client.handle(&mut bench.cx(), &ClientInput::Disconnected { node, why });
    assert!(client.metadata.is_update_wanted());
}

#[test]
fn one_request_for_metadata_at_a_time() {
    let mut bench = Bench::new();
    let mut client = client(&[]);
    let asked = until(&mut client, &mut bench, ApiKey::Metadata);
    client.metadata.want(&"a".into(), Millis::MAX, EventId::NONE);
    assert!(turn(&mut client, &mut bench, &ClientInput::Tick).is_empty());
    turn(&mut client, &mut bench, &asked.answer(metadata(&[1], &[])));
    let answered = bench.now;
    let next = until(&mut client, &mut bench, ApiKey::Metadata);
    let RequestBody::Metadata(body) = &next.body else {
        panic!("{next:?}")
    };
    assert_eq!(
        body.topics.as_ref().map(Vec::len),
        Some(1),
        "the topic that came meanwhile"
    );
    assert!(
        (80..=120).contains(&(bench.now - answered)),
        "not at once after an answer"
    );
}

#[test]
fn connections_to_addresses_that_are_no_brokers_are_closed() {
    let mut bench = Bench::new();
    let mut client = client(&[]);
    let asked = until(&mut client, &mut bench, ApiKey::Metadata);
    let bootstrap = asked.to.clone();
    turn(&mut client, &mut bench, &asked.answer(metadata(&[1], &[])));
    assert_eq!(
        bench.out,
        [crate::client::ClientOutput::Disconnect { node: bootstrap }]
    );
}
