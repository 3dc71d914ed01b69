//! Where records without a key go when brokers are not equally fast, and what fits into a request.

use super::script::*;
use crate::ordered::OrderedSet;
use crate::producer::ProducerRecord;
use crate::types::PartitionIndex;

/// Node 1 leads two partitions and answers at once, node 2 leads two and never answers: the share of
/// records that goes to node 2, in percent, of 400 after the first 200.
fn share_of_the_slow_node(pairs: &[(&str, &str)]) -> usize {
    let mut all = vec![("linger.ms", "0"), ("batch.size", "200")];
    all.extend(pairs);
    let mut script = Script::warm(&[(1, 0), (1, 0), (2, 0), (2, 0)], &all);
    let value = "x".repeat(60);
    for nth in 0..600 {
        let record = ProducerRecord::new("t", value.as_str());
        script.turn(|producer, cx| producer.send(cx, record));
        script.advance(2);
        let (fast, slow) = std::mem::take(&mut script.open)
            .into_iter()
            .partition(|heard| heard.to.id == 1);
        script.open = slow;
        let fast: Vec<_> = fast;
        fast.iter().for_each(|heard| script.ok(heard, 0));
        if nth == 200 {
            script.facts.clear();
        }
    }
    let chosen = script.chosen();
    let of = |index: PartitionIndex| chosen.get(&index).copied().unwrap_or_default();
    (of(2) + of(3)) * 100 / chosen.values().sum::<usize>()
}

#[test]
fn a_slow_broker_gets_fewer_records_if_the_producer_adapts() {
    let adapts = share_of_the_slow_node(&[]);
    assert!(adapts < 20, "{adapts} %");
    let does_not = share_of_the_slow_node(&[("partitioner.adaptive.partitioning.enable", "false")]);
    assert!((35..65).contains(&does_not), "{does_not} %");
}

#[test]
fn a_broker_that_takes_nothing_for_too_long_gets_none() {
    assert_eq!(
        share_of_the_slow_node(&[("partitioner.availability.timeout.ms", "100")]),
        0
    );
}

#[test]
fn a_request_holds_as_much_as_it_may_and_the_next_goes_on_where_it_stopped() {
    let leaders = [(1, 0); 5];
    let pairs = [
        ("linger.ms", "1000"),
        ("max.request.size", "1500"),
        ("max.in.flight.requests.per.connection", "1"),
    ];
    let mut script = Script::warm(&leaders, &pairs);
    let value = "x".repeat(600);
    (0..5).for_each(|index| drop(script.send(index, &[&value])));
    script.turn(|producer, cx| producer.flush(cx));
    let mut seen = Vec::new();
    while seen.len() < 5 {
        let heard = script.next();
        let places: Vec<PartitionIndex> = batches(&heard).iter().map(|batch| batch.index).collect();
        assert!((1..=2).contains(&places.len()), "two fit");
        seen.extend(places);
        script.ok(&heard, 1);
    }
    assert_eq!(
        seen.iter().collect::<OrderedSet<_>>().len(),
        5,
        "nobody starves: {seen:?}"
    );
}
