//! What becomes of batches that fail: retries, splits, time-outs, leaders that move, numbers.

use super::script::*;
use crate::client::ClientInput;
use crate::error::ErrorCode;
use crate::producer::ProducerError;
use crate::protocol::leadership::{LeaderIdAndEpoch, NodeEndpoint};
use crate::protocol::produce::{ProducePartitionResponse, ProduceResponse, RecordError};
use crate::trace::ProducerFact;
use crate::types::TopicPartition;

/// Every record is a batch of its own, sent at once.
const ONE_BY_ONE: &[(&str, &str)] = &[("linger.ms", "0"), ("batch.size", "1")];

#[test]
fn a_passing_failure_is_tried_again_after_a_pause_that_grows() {
    let mut script = Script::warm(&[(1, 0)], ONE_BY_ONE);
    let id = script.send(0, &["a"])[0];
    for (least, most) in [(80, 120), (160, 240), (320, 480)] {
        let heard = script.next();
        script.refuse(&heard, ErrorCode::NotEnoughReplicas);
        let before = script.bench.now;
        while script.open.is_empty() {
            script.advance(1);
        }
        let pause = script.bench.now - before;
        assert!((least..=most).contains(&pause), "{pause}");
    }
    assert_eq!(script.next_values(), ["a"]);
    assert!(script.ended[&id].is_ok() && script.all_memory_is_back());
}

#[test]
fn retries_end() {
    let pairs = [
        ("linger.ms", "0"),
        ("retries", "1"),
        ("enable.idempotence", "false"),
    ];
    let mut script = Script::warm(&[(1, 0)], &pairs);
    let id = script.send(0, &["a"])[0];
    for _ in 0..2 {
        let heard = script.next();
        script.refuse(&heard, ErrorCode::NotEnoughReplicas);
        script.advance(200);
    }
    let error = script.ended[&id].clone().unwrap_err();
    assert_eq!(error, ErrorCode::NotEnoughReplicas.into());
    assert!(script.all_memory_is_back());
}

#[test]
fn without_idempotence_a_retry_may_come_after_what_was_sent_later() {
    let mut pairs = ONE_BY_ONE.to_vec();
    pairs.push(("enable.idempotence", "false"));
    let mut script = Script::warm(&[(1, 0)], &pairs);
    script.send(0, &["a", "b"]);
    let (first, second) = (script.next(), script.next());
    script.refuse(&first, ErrorCode::NotEnoughReplicas);
    script.ok(&second, 5);
    script.advance(200);
    assert_eq!(script.next_values(), ["a"], "a is stored after b");
}

#[test]
fn with_idempotence_five_in_flight_keep_their_order() {
    let mut script = Script::warm(&[(1, 0)], ONE_BY_ONE);
    script.send(0, &["a", "b", "c", "d", "e", "f"]);
    assert_eq!(sequences(&script.open)[&0], [1, 2, 3, 4, 5], "five are under way");
    let open = std::mem::take(&mut script.open);
    script.refuse(&open[0], ErrorCode::NotEnoughReplicas);
    for late in &open[1..] {
        script.refuse(late, ErrorCode::OutOfOrderSequenceNumber);
    }
    let mut order = Vec::new();
    for _ in 0..6 {
        script.advance(1_000);
        let heard = script.next();
        order.extend(batches(&heard).remove(0).values);
        assert!(
            order.len() >= 5 || script.open.is_empty(),
            "one at a time until the last retry"
        );
        script.ok(&heard, order.len() as i64);
    }
    assert_eq!(order, ["a", "b", "c", "d", "e", "f"]);
    assert!(!script.told().iter().any(|told| told.contains("begins epoch")));
}

#[test]
fn a_partition_that_the_answer_passes_over_is_tried_again() {
    let mut script = Script::warm(&[(1, 0), (1, 0)], &[("linger.ms", "5")]);
    script.send(0, &["a"]);
    script.send(1, &["b"]);
    script.advance(5);
    let heard = script.next();
    let mut partial = answer(&heard, |batch| stored(batch, 3));
    partial.topics[0].partitions.remove(1);
    let partial = heard.answer(partial);
    script.tell(&partial);
    assert_eq!(script.ended.len(), 3);
    script.advance(200);
    assert_eq!(batches(&script.next())[0].values, ["b"]);
    let retried = |fact: &&ProducerFact| {
        matches!(
            fact,
            ProducerFact::BatchRetried {
                code: ErrorCode::NetworkException,
                ..
            }
        )
    };
    assert_eq!(script.facts.iter().filter(retried).count(), 1);
}

#[test]
fn a_new_leader_that_the_answer_names_is_tried_at_once() {
    let mut script = Script::warm(&[(1, 0), (2, 0)], ONE_BY_ONE);
    script.send(0, &["a"]);
    let heard = script.next();
    assert_eq!(heard.to.id, 1);
    let mut moved = answer(&heard, |batch| ProducePartitionResponse {
        current_leader: LeaderIdAndEpoch {
            leader_id: 2,
            leader_epoch: 1,
        },
        ..refused(batch, ErrorCode::NotLeaderOrFollower)
    });
    moved.node_endpoints = vec![NodeEndpoint {
        node_id: 2,
        host: "broker-2".into(),
        port: 9002,
        rack: None,
    }];
    script.leaders[0] = (2, 1);
    let moved = heard.answer(moved);
    script.tell(&moved);
    let again = script.next();
    assert_eq!(again.to.id, 2, "without waiting for metadata or backoff");
    assert_eq!(
        batches(&again)[0].header.base_sequence,
        1,
        "under the same number"
    );
}

#[test]
fn a_broker_that_knows_nothing_of_the_producer_is_given_its_first_batch_alone() {
    let mut script = Script::new(&[(1, 0)], ONE_BY_ONE);
    script.send(0, &["a", "b", "c"]);
    script.advance(100);
    assert_eq!(
        sequences(&script.open)[&0],
        [0],
        "it would take 1 for the first number there is"
    );
    assert_eq!(script.next_values(), ["a"]);
    script.send(0, &["d"]);
    assert_eq!(sequences(&script.open)[&0], [1, 3], "b and c together, and d");
}

#[test]
fn a_batch_that_is_too_large_is_split_and_sent_in_order() {
    for idempotent in ["true", "false"] {
        let pairs = [
            ("linger.ms", "5"),
            ("batch.size", "400"),
            ("enable.idempotence", idempotent),
            ("max.in.flight.requests.per.connection", "1"),
        ];
        let mut script = Script::warm(&[(1, 0)], &pairs);
        let values = ["a", "b", "c", "d"].map(|name| name.repeat(60));
        let all: Vec<&str> = values.iter().map(String::as_str).collect();
        let ids = script.send(0, &all);
        script.send(0, &["e"]);
        script.advance(5);
        // The broker takes one record of these at a time.
        let mut order = Vec::new();
        while script.ended.len() < 6 {
            script.advance(10);
            let heard = script.next();
            let batch = batches(&heard).remove(0);
            if batch.values.len() > 1 {
                script.refuse(&heard, ErrorCode::MessageTooLarge);
                continue;
            }
            if idempotent == "true" {
                assert_eq!(batch.header.base_sequence, 1 + order.len() as i32);
            }
            script.ok(&heard, 1 + order.len() as i64);
            order.extend(batch.values);
        }
        let expected: Vec<&str> = all.iter().copied().chain(["e"]).collect();
        assert_eq!(order, expected);
        let offsets: Vec<i64> = ids
            .iter()
            .map(|id| script.ended[id].as_ref().unwrap().offset)
            .collect();
        assert_eq!(offsets, [1, 2, 3, 4], "each record has its own answer");
        assert!(script.all_memory_is_back());
        assert!(
            script
                .told()
                .iter()
                .any(|told| told.contains("is too large, split into"))
        );
    }
}

#[test]
fn one_record_that_is_too_large_fails_and_the_next_goes_on_in_another_epoch() {
    let mut script = Script::warm(&[(1, 0)], ONE_BY_ONE);
    let ids = script.send(0, &["a", "b"]);
    let (first, second) = (script.next(), script.next());
    script.refuse(&first, ErrorCode::MessageTooLarge);
    assert_eq!(
        script.ended[&ids[0]].as_ref().unwrap_err().code(),
        ErrorCode::MessageTooLarge
    );
    script.refuse(&second, ErrorCode::OutOfOrderSequenceNumber);
    script.advance(200);
    let again = script.next();
    let header = batches(&again)[0].header;
    assert_eq!((header.producer_epoch, header.base_sequence), (1, 0));
    script.ok(&again, 9);
    assert_eq!(script.ended[&ids[1]].as_ref().unwrap().offset, 9);
    assert!(
        script
            .told()
            .contains(&"producer 7 begins epoch 1, t-0 from sequence 0".to_owned())
    );
}

#[test]
fn records_that_are_refused_say_why_and_the_others_that_they_were_among_them() {
    let mut script = Script::warm(&[(1, 0)], &[("linger.ms", "5")]);
    let ids = script.send(0, &["a", "b", "c"]);
    script.advance(5);
    let heard = script.next();
    script.answer(&heard, |batch| ProducePartitionResponse {
        record_errors: vec![RecordError {
            batch_index: 1,
            message: Some("no such time".into()),
        }],
        ..refused(batch, ErrorCode::InvalidTimestamp)
    });
    let error = |nth: usize| script.ended[&ids[nth]].clone().unwrap_err();
    assert_eq!(error(0), ProducerError::AmongInvalidRecords);
    assert_eq!(error(1).to_string(), "INVALID_TIMESTAMP: no such time");
    assert_eq!(error(2), ProducerError::AmongInvalidRecords);
}

#[test]
fn a_record_that_is_not_acknowledged_in_time_fails_and_its_number_is_not_used_again() {
    let pairs = [
        ("linger.ms", "0"),
        ("request.timeout.ms", "1000"),
        ("delivery.timeout.ms", "1500"),
    ];
    let mut script = Script::warm(&[(1, 0)], &pairs);
    let ids = script.send(0, &["a"]);
    let lost = script.next();
    script.advance(1_000);
    assert_eq!(
        script.closed.len(),
        1,
        "the connection on which no answer came is closed"
    );
    script.advance(499);
    assert!(!script.ended.contains_key(&ids[0]));
    script.advance(1);
    assert_eq!(
        script.ended[&ids[0]].clone().unwrap_err(),
        ProducerError::Expired {
            count: 1,
            partition: TopicPartition::new("t", 0),
            age_ms: 1_500,
        }
    );
    assert!(!script.all_memory_is_back(), "a request has it still");
    script.advance(1_000);
    assert!(script.all_memory_is_back());
    // Nobody knows whether it is stored: the next begins another epoch.
    let ids = script.send(0, &["b"]);
    let heard = loop {
        script.advance(50);
        let heard = script.next();
        let batch = batches(&heard).remove(0);
        if batch.values == ["b"] {
            break heard;
        }
    };
    let header = batches(&heard)[0].header;
    assert_eq!((header.producer_epoch, header.base_sequence), (1, 0));
    script.ok(&heard, 4);
    assert!(script.ended[&ids[0]].is_ok());
    // A late answer to the lost request changes nothing.
    let late = lost.answer(answer(&lost, |batch| stored(batch, 3)));
    script.tell(&late);
    assert!(script.ended[&0].is_ok() && script.ended[&1].is_err());
}

#[test]
fn what_is_acknowledged_after_an_expired_batch_settles_its_number() {
    let pairs = [
        ("linger.ms", "0"),
        ("batch.size", "1"),
        ("request.timeout.ms", "1400"),
        ("delivery.timeout.ms", "1500"),
    ];
    let mut script = Script::warm(&[(1, 0)], &pairs);
    let ids = script.send(0, &["a"]);
    let first = script.next();
    script.advance(300);
    script.send(0, &["b"]);
    let second = script.next();
    script.refuse(&first, ErrorCode::NotEnoughReplicasAfterAppend);
    script.advance(1_195);
    let again = script.next();
    assert_eq!(batches(&again)[0].values, ["a"]);
    script.advance(10);
    assert!(script.ended[&ids[0]].is_err(), "it expired under way");
    script.ok(&second, 4);
    script.send(0, &["c"]);
    let header = batches(&script.next())[0].header;
    assert_eq!(
        (header.producer_epoch, header.base_sequence),
        (0, 3),
        "the same epoch goes on"
    );
}

#[test]
fn with_one_request_in_flight_nothing_overtakes_across_a_change_of_leader() {
    let pairs = [
        ("linger.ms", "0"),
        ("batch.size", "1"),
        ("enable.idempotence", "false"),
        ("max.in.flight.requests.per.connection", "1"),
    ];
    let mut script = Script::warm(&[(1, 0), (2, 0)], &pairs);
    script.send(0, &["a"]);
    let to_former = script.next();
    script.leaders[0] = (2, 1);
    script.send(1, &["x"]);
    let other = script.next();
    script.refuse(&other, ErrorCode::NotLeaderOrFollower);
    script.send(0, &["b"]);
    script.advance(1_000);
    assert!(
        script.open.iter().flat_map(batches).all(|batch| batch.index == 1),
        "t-0 is muted"
    );
    script.ok(&to_former, 1);
    script.advance(1_000);
    let values: Vec<String> = script
        .open
        .iter()
        .flat_map(batches)
        .flat_map(|batch| batch.values)
        .collect();
    assert!(values.contains(&"b".to_owned()), "{values:?}");
}

#[test]
fn a_node_that_asks_for_it_is_left_alone() {
    let mut script = Script::warm(&[(1, 0)], ONE_BY_ONE);
    script.send(0, &["a"]);
    let heard = script.next();
    let throttled = ProduceResponse {
        throttle_time_ms: 700,
        ..answer(&heard, |batch| stored(batch, 1))
    };
    let throttled = heard.answer(throttled);
    script.tell(&throttled);
    script.send(0, &["b"]);
    script.advance(699);
    assert!(script.open.is_empty());
    script.advance(1);
    assert_eq!(script.next_values(), ["b"]);
}

#[test]
fn a_lost_connection_sends_everything_again_in_order() {
    let mut script = Script::warm(&[(1, 0)], ONE_BY_ONE);
    script.send(0, &["a", "b", "c"]);
    let open = std::mem::take(&mut script.open);
    let lost = ClientInput::Disconnected {
        node: open[0].to.clone(),
        why: "reset".to_owned(),
    };
    script.tell(&lost);
    let mut order = Vec::new();
    for _ in 0..3 {
        script.advance(1_000);
        order.extend(script.next_values());
    }
    assert_eq!(order, ["a", "b", "c"]);
}

#[test]
fn when_the_last_epoch_is_used_up_another_id_is_asked_for() {
    let mut script = Script::new(&[(1, 0)], ONE_BY_ONE);
    script.first_epoch = i16::MAX;
    script.send(0, &["first"]);
    script.advance(1_000);
    assert_eq!(script.next_values(), ["first"]);
    let ids = script.send(0, &["a", "b", "c"]);
    let open = std::mem::take(&mut script.open);
    script.first_epoch = 0;
    script.refuse(&open[0], ErrorCode::InvalidRecord);
    script.refuse(&open[1], ErrorCode::OutOfOrderSequenceNumber);
    script.refuse(&open[2], ErrorCode::OutOfOrderSequenceNumber);
    let mut seen = Vec::new();
    for _ in 0..2 {
        script.advance(1_000);
        let heard = script.next();
        let batch = batches(&heard).remove(0);
        seen.push((
            batch.header.producer_id,
            batch.header.producer_epoch,
            batch.header.base_sequence,
        ));
        script.ok(&heard, 0);
    }
    assert_eq!(seen, [(PRODUCER_ID + 1, 0, 0), (PRODUCER_ID + 1, 0, 1)]);
    assert!(script.ended[&ids[1]].is_ok() && script.ended[&ids[2]].is_ok());
}

#[test]
fn what_no_retry_can_mend_ends_everything() {
    let mut script = Script::warm(&[(1, 0), (2, 0)], ONE_BY_ONE);
    script.send(0, &["a"]);
    script.send(1, &["b"]);
    let heard = script.next();
    script.refuse(&heard, ErrorCode::ClusterAuthorizationFailed);
    assert_eq!(script.ended.len(), 4);
    let id = script.send(0, &["c"])[0];
    let error = script.ended[&id].clone().unwrap_err();
    assert_eq!(error.code(), ErrorCode::ClusterAuthorizationFailed);
    assert!(script.all_memory_is_back());
}
