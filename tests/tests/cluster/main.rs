//! Three brokers, each a process, and a real ZooKeeper: what was acknowledged outlives whatever
//! happens to one of them, and afterwards all replicas hold the same bytes.

mod account;
mod groups;
mod office;
mod phases;
mod reader;
mod run;
mod writer;

use std::process::Child;
use std::time::Duration;

use highwater_core::error::ErrorCode;
use highwater_core::record::{BatchBuilder, Codec};
use highwater_tests::cluster::TestCluster;
use highwater_tests::requests::*;

use phases::Phase;
use run::{Counts, Run};
use writer::Acks;

/// So long after an event a record must come through; never reached by a cluster that works.
const COMES_WITHIN: Duration = Duration::from_secs(120);

/// A process that does not outlive the value.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

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
        assert!(!cluster.await_equal_logs(topic, 0).is_empty());
    }
}

#[test]
fn settings_that_cannot_be_read_hold_nothing_up() {
    let mut cluster = TestCluster::start(3);
    let controller = cluster.await_controller(None);
    for topic in ["bad", "good"] {
        let request = create_replicated_request(topic, 1, 3);
        created(cluster.client(controller).ask(CREATE_TOPICS, &request)).expect("a topic");
        cluster.await_whole(topic, 0);
    }
    cluster.zookeeper.set("/config/topics/bad", "{");
    let other = 1 + controller % 3;
    cluster.kill(other);
    cluster.restart(other);
    // What the controller told it of both topics is carried out.
    for topic in ["good", "bad"] {
        let seen = cluster.await_whole(topic, 0);
        let at = produce(&mut cluster.client(seen.leader), topic, 0, one_record("a record"));
        assert_eq!(at, Ok(0));
        assert!(!cluster.await_equal_logs(topic, 0).is_empty());
    }
    cluster.broker(other).wait_for_line("/config/topics/bad");
}

/// The seed that `HIGHWATER_SEED` names.
fn named_seed() -> Option<u64> {
    std::env::var("HIGHWATER_SEED").ok()?.parse().ok()
}

/// The phases in the order of the seed.
fn run(acks: Acks, phases: &[Phase], seed: u64) -> Counts {
    let order = phases::named().unwrap_or_else(|| phases::in_order_of(seed, phases));
    println!("HIGHWATER_SEED={seed}: {order:?}");
    let mut run = Run::start(acks);
    for phase in order {
        println!("{phase:?}");
        run.play(phase);
    }
    let counts = run.finish();
    for line in counts.to_string().lines() {
        println!("report: {line}");
    }
    counts
}

/// Another order each time.
fn any_seed() -> u64 {
    named_seed().unwrap_or_else(|| u64::from(std::process::id()))
}

/// Orders of the long runs.
fn seeds() -> Vec<u64> {
    named_seed().map_or(vec![2912, 1, 2], |seed| vec![seed])
}

#[test]
fn what_was_acknowledged_is_there_once_and_in_order_after_everything() {
    let counts = run(Acks::All, &phases::ALL, any_seed());
    assert!(counts.cuts > 0, "{counts}");
}

#[test]
fn what_one_broker_acknowledged_is_lost_only_where_another_leader_had_not_fetched_it() {
    let phases = [Phase::LeaderKilledAhead, Phase::FollowerPaused];
    let counts = run(Acks::One, &phases, any_seed());
    assert!(counts.lost() > 0, "{counts}");
}

/// Every phase, and once more in this order or another: the second time it meets what the first left.
#[test]
#[ignore = "takes minutes"]
fn what_was_acknowledged_is_there_whatever_the_order() {
    for seed in seeds() {
        run(Acks::All, &[phases::ALL, phases::ALL].concat(), seed);
    }
}

#[test]
#[ignore = "takes minutes"]
fn what_one_broker_acknowledged_is_lost_only_so_whatever_the_order() {
    for seed in seeds() {
        let counts = run(Acks::One, &phases::ALL, seed);
        assert!(counts.lost() > 0, "{counts}");
    }
}
