//! Three brokers, each a process, and a real ZooKeeper: what was acknowledged outlives whatever
//! happens to one of them, and afterwards all replicas hold the same bytes.

mod numbered;
mod phases;

use highwater_core::error::ErrorCode;
use highwater_core::record::{BatchBuilder, Codec};
use highwater_tests::cluster::TestCluster;
use highwater_tests::requests::*;

use numbered::{Reader, Writer};
use phases::{Phase, Run};

fn one_record(value: &str) -> bytes::Bytes {
    let mut batch = BatchBuilder::new(Codec::None);
    batch.append(1, None, Some(value.as_bytes()), &[]);
    batch.build()
}

#[test]
fn a_topic_made_from_any_broker_is_one_log_on_three() {
    let cluster = TestCluster::start(3);
    let controller = cluster.await_controller(None);
    let other = cluster
        .running()
        .into_iter()
        .find(|id| *id != controller)
        .expect("another");
    let request = create_replicated_request("asked", 1, 3);
    let refused = created(cluster.client(other).ask(CREATE_TOPICS, &request));
    assert_eq!(refused, Err(ErrorCode::NotController));
    created(cluster.client(controller).ask(CREATE_TOPICS, &request)).expect("a topic");

    // Made on demand, by a broker that is not the controller.
    metadata(&mut cluster.client(other), "on-demand", true);
    for topic in ["asked", "on-demand"] {
        let seen = cluster.await_whole(topic, 0);
        for number in 0..20 {
            let record = one_record(&format!("record {number}"));
            let at = produce(&mut cluster.client(seen.leader), topic, 0, record);
            assert_eq!(at, Ok(number));
        }
        for follower in cluster.running().into_iter().filter(|id| *id != seen.leader) {
            let told = produce(&mut cluster.client(follower), topic, 0, one_record("astray"));
            assert_eq!(told, Err(ErrorCode::NotLeaderOrFollower));
        }
        assert_eq!(read_log(&mut cluster.client(seen.leader), topic, 0, 0).len(), 20);
        assert!(cluster.await_equal_logs(topic, 0) > 0);
    }
}

/// One phase on a cluster of its own, with writers and readers all along.
fn alone(phase: Phase) {
    let mut run = Run::start();
    run.play(phase);
    run.finish();
}

#[test]
fn another_leads_when_the_leader_is_killed() {
    alone(Phase::LeaderKilled);
}

#[test]
fn a_paused_follower_leaves_the_isr_and_comes_back() {
    alone(Phase::FollowerPaused);
}

#[test]
fn another_controls_when_the_controller_is_killed() {
    alone(Phase::ControllerKilled);
}

#[test]
fn a_deposed_controller_that_comes_back_can_write_nothing() {
    alone(Phase::ControllerPaused);
}

#[test]
fn a_broker_that_bounces_is_seen() {
    alone(Phase::Bounced);
}

#[test]
fn zookeeper_may_die_and_come_back() {
    alone(Phase::ZooKeeperKilled);
}

#[test]
#[ignore = "open: with some orders of phases (HIGHWATER_SEED=2912) a reader sees nothing new for a minute; why is not known yet"]
fn what_was_acknowledged_is_there_once_and_in_order_after_everything() {
    let seed = std::env::var("HIGHWATER_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or_else(|| u64::from(std::process::id()));
    println!("HIGHWATER_SEED={seed}");
    let mut run = Run::start();
    for phase in phases::order(seed) {
        println!("{phase:?}");
        run.play(phase);
    }
    println!("{}", run.finish());
}
