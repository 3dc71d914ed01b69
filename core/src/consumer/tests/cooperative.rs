//! Cooperative rebalances (KIP-429): nobody stops for what he keeps.

use super::cluster::*;
use crate::consumer::Rebalance;

const COOPERATIVE: (&str, &str) = ("partition.assignment.strategy", "cooperative-sticky");

/// Two members of two partitions each; their ids.
fn two_members(strategy: (&str, &str)) -> (Cluster, u32, u32) {
    let mut cluster = Cluster::new();
    cluster.create("t", 4, &[]);
    let first = cluster.join(&[strategy], &["t"]);
    cluster.advance(5_000);
    let second = cluster.join(&[strategy], &["t"]);
    cluster.advance(15_000);
    let sizes: Vec<usize> = cluster.owners().values().map(|owned| owned.len()).collect();
    assert_eq!(sizes, [2, 2]);
    (cluster, first, second)
}

#[test]
fn only_what_changes_hands_is_given_up() {
    let (mut cluster, first, second) = two_members(COOPERATIVE);
    let told = cluster.member_mut(first).rebalances();
    let revoked: Vec<_> = told
        .iter()
        .filter_map(|what| match what {
            Rebalance::Revoked(partitions) => Some(partitions.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(
        revoked,
        [cluster.member(second).consumer.assignment()],
        "{told:?}"
    );
    assert!(!told.iter().any(|what| matches!(what, Rebalance::Lost(_))));
}

/// What the first of two members reads while a rebalance waits for the other.
fn read_during_a_rebalance(strategy: (&str, &str)) -> usize {
    let (mut cluster, first, second) = two_members(strategy);
    // The other one works on what it was given, and does not come to join.
    cluster.member_mut(second).polls = false;
    for index in 0..4 {
        cluster.produce("t", index, &["x"]);
    }
    cluster.advance(1_000);
    cluster.call(second, |consumer, cx| assert!(!consumer.poll(cx).is_empty()));
    cluster.join(&[strategy], &["t"]);
    cluster.advance(5_000);
    let before = cluster.member(first).records.len();
    for index in 0..4 {
        cluster.produce("t", index, &["y"]);
    }
    cluster.advance(5_000);
    cluster.member(first).records.len() - before
}

#[test]
fn a_member_reads_on_while_the_others_are_waited_for() {
    assert_eq!(read_during_a_rebalance(COOPERATIVE), 2);
    let eager = ("partition.assignment.strategy", "range");
    assert_eq!(read_during_a_rebalance(eager), 0, "it has given up everything");
}

#[test]
fn a_member_that_leaves_costs_the_others_nothing() {
    let (mut cluster, first, second) = two_members(COOPERATIVE);
    cluster.member_mut(second).rebalances();
    let gone = cluster.owners()[&first].clone();
    cluster.close(first);
    cluster.advance(10_000);
    assert_eq!(
        cluster.member_mut(second).rebalances().first(),
        Some(&Rebalance::Assigned(gone))
    );
    assert_eq!(cluster.owners()[&second].len(), 4);
}
