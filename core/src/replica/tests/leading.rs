//! The leader's side: when HW moves, who is in sync, what a controller's late word does.

use super::cluster::{Cluster, LAG_MS, set_min_isr};
use crate::error::ErrorCode;
use crate::replica::fetcher::TruncateBy;
use crate::replica::{FollowerFetch, FollowerRead, IsrAnswer, PartitionState};

fn three(min_insync_replicas: u32) -> Cluster {
    let mut cluster = Cluster::new(3, min_insync_replicas, TruncateBy::LeaderEpoch);
    cluster.catch_up();
    cluster
}

#[test]
fn a_record_is_acknowledged_when_the_whole_isr_has_it_and_followers_hear_one_fetch_later() {
    let mut cluster = three(2);
    cluster.produce().unwrap();
    cluster.fetch(1);
    cluster.fetch(1);
    assert_eq!(
        (cluster.high_watermark(0), cluster.acknowledged.len()),
        (0, 0),
        "broker 2 lacks it"
    );
    cluster.fetch(2);
    cluster.fetch(2);
    assert_eq!((cluster.high_watermark(0), cluster.acknowledged.len()), (1, 1));
    assert_eq!((cluster.high_watermark(1), cluster.high_watermark(2)), (0, 1));
    cluster.fetch(1);
    assert_eq!(cluster.high_watermark(1), 1);
}

#[test]
fn a_follower_that_lags_leaves_the_isr_and_returns_when_it_has_reached_the_high_watermark() {
    let mut cluster = three(1);
    cluster.produce().unwrap();
    cluster.fetch(1);
    cluster.fetch(1);
    cluster.shrink();
    assert_eq!(cluster.state.isr, [0, 1, 2], "it has time");
    let due = cluster.nodes[0]
        .partition
        .next_lag_check(&cluster.nodes[0].shared);
    assert_eq!(due, Some(cluster.nodes[0].host.now + LAG_MS + 1));
    cluster.wait(LAG_MS + 1);
    cluster.shrink();
    assert_eq!(
        (&cluster.state.isr[..], cluster.high_watermark(0)),
        (&[0, 1][..], 1)
    );
    assert_eq!(
        cluster.acknowledged.len(),
        1,
        "the change of the ISR lets HW pass"
    );
    cluster.fetch(2);
    assert_eq!(cluster.state.isr, [0, 1], "it has asked from 0");
    cluster.fetch(2);
    assert_eq!(cluster.state.isr, [0, 1, 2]);
    assert_eq!(
        cluster.nodes[0]
            .partition
            .next_lag_check(&cluster.nodes[0].shared),
        None
    );
}

#[test]
fn until_the_controller_agrees_a_leaving_member_counts_and_an_entering_one_does_already() {
    let mut cluster = three(1);
    cluster.produce().unwrap();
    cluster.fetch(1);
    cluster.fetch(1);
    cluster.wait(LAG_MS + 1);
    cluster.controller_is_away = true;
    cluster.shrink();
    assert_eq!(cluster.high_watermark(0), 0);
    let proposal = cluster.nodes[0].partition.pending_proposal().unwrap().clone();
    assert_eq!(proposal.isr, [(0, 100), (1, 101)]);
    cluster.shrink();
    assert_eq!(
        cluster.nodes[0].partition.pending_proposal(),
        Some(&proposal),
        "one at a time"
    );
    cluster.controller_is_away = false;
    cluster.propose(0, &proposal);
    assert_eq!(cluster.high_watermark(0), 1);
    // It comes back while nobody answers: HW waits for it all the same.
    cluster.controller_is_away = true;
    cluster.fetch(2);
    cluster.fetch(2);
    cluster.produce().unwrap();
    cluster.fetch(1);
    cluster.fetch(1);
    assert_eq!(
        (cluster.high_watermark(0), cluster.nodes[0].partition.isr()),
        (1, &[0, 1][..])
    );
}

#[test]
fn below_the_minimum_nothing_is_taken_with_acks_all_and_the_high_watermark_stays() {
    let mut cluster = three(2);
    cluster.kill(1);
    cluster.kill(2);
    cluster.produce().unwrap();
    cluster.wait(LAG_MS + 1);
    cluster.nodes[1].alive = true;
    cluster.nodes[2].alive = true;
    cluster.shrink();
    assert_eq!(cluster.state.isr, [0]);
    assert_eq!(cluster.high_watermark(0), 0, "one in sync of two");
    assert_eq!(cluster.produce(), Err(ErrorCode::NotEnoughReplicas));
    assert_eq!(cluster.log_end(0), 1, "nothing was written");
    cluster.catch_up();
    assert_eq!((cluster.high_watermark(0), cluster.acknowledged.len()), (1, 1));
}

#[test]
fn the_minimum_is_never_more_than_there_are_replicas() {
    let mut cluster = Cluster::new(1, 3, TruncateBy::LeaderEpoch);
    cluster.produce().unwrap();
    assert_eq!((cluster.high_watermark(0), cluster.acknowledged.len()), (1, 1));
}

#[test]
fn a_lowered_minimum_lets_the_high_watermark_pass() {
    let mut cluster = three(3);
    cluster.produce().unwrap();
    cluster.fetch(1);
    cluster.fetch(1);
    cluster.wait(LAG_MS + 1);
    cluster.shrink();
    let node = cluster.leading();
    assert_eq!(node.partition.high_watermark(), 0);
    set_min_isr(node, 2);
    node.partition
        .surroundings_changed(&mut node.host.cx(), &node.shared);
    assert_eq!(node.partition.high_watermark(), 1);
}

#[test]
fn an_older_life_of_a_broker_and_one_that_shuts_down_stay_out_of_the_isr() {
    let mut cluster = three(1);
    cluster.state.isr = vec![0, 1];
    cluster.elect(0);
    let fetch = |broker_epoch| FollowerFetch {
        replica: 2,
        broker_epoch,
        offset: 0,
        log_start: 0,
        current_leader_epoch: 1,
        last_fetched_epoch: -1,
    };
    let node = &mut cluster.nodes[0];
    let mut cx = node.host.cx();
    let stale = node
        .partition
        .follower_fetches(&mut cx, &node.shared, &fetch(101));
    assert_eq!(stale.unwrap_err().code, ErrorCode::NotLeaderOrFollower);
    node.shared.live.get_mut(&2).unwrap().shutting_down = true;
    let enters = |read| match read {
        Ok(FollowerRead::Reads(moved)) => moved.proposal.is_some(),
        other => panic!("{other:?}"),
    };
    assert!(!enters(node.partition.follower_fetches(
        &mut cx,
        &node.shared,
        &fetch(102)
    )));
    node.shared.live.get_mut(&2).unwrap().shutting_down = false;
    assert!(enters(node.partition.follower_fetches(
        &mut cx,
        &node.shared,
        &fetch(102)
    )));
}

#[test]
fn fetches_of_strangers_and_of_other_epochs_are_refused() {
    let mut cluster = three(1);
    let node = &mut cluster.nodes[0];
    let mut cx = node.host.cx();
    for (replica, epoch, code) in [
        (1, 1, ErrorCode::UnknownLeaderEpoch),
        (9, 0, ErrorCode::UnknownLeaderEpoch),
        (9, -1, ErrorCode::NotLeaderOrFollower),
    ] {
        let fetch = FollowerFetch {
            replica,
            broker_epoch: -1,
            offset: 0,
            log_start: 0,
            current_leader_epoch: epoch,
            last_fetched_epoch: -1,
        };
        let refused = node.partition.follower_fetches(&mut cx, &node.shared, &fetch);
        assert_eq!(refused.unwrap_err().code, code, "broker {replica}, epoch {epoch}");
    }
}

#[test]
fn who_loses_the_leadership_leaves_nobody_waiting_and_a_late_word_is_refused() {
    let mut cluster = three(1);
    cluster.produce().unwrap();
    let old = cluster.state.clone();
    cluster.kill(1);
    cluster.kill(2);
    let node = &mut cluster.nodes[0];
    let mut cx = node.host.cx();
    let newer = PartitionState {
        leader: 1,
        leader_epoch: 1,
        partition_epoch: 1,
        ..old.clone()
    };
    let transition = node.partition.make_follower(&mut cx, &newer).unwrap();
    assert!(transition.new_epoch && transition.new_role);
    let refused = transition.moved.refused;
    assert_eq!(
        refused.iter().map(|(_, code)| *code).collect::<Vec<_>>(),
        [ErrorCode::NotLeaderOrFollower]
    );
    let again = node.partition.make_follower(&mut cx, &newer).unwrap();
    assert!(!again.new_epoch && !again.new_role);
    let changed = PartitionState {
        partition_epoch: 2,
        ..newer.clone()
    };
    for same_leader in [&changed, &newer] {
        node.partition.make_follower(&mut cx, same_leader).unwrap();
        assert_eq!(
            node.partition.partition_epoch, 2,
            "the newest state of one leader epoch counts"
        );
    }
    let late = node.partition.make_leader(&mut cx, &node.shared, &old);
    assert_eq!(late.unwrap_err().code, ErrorCode::StaleControllerEpoch);
    assert_eq!(
        node.partition.check_append(&mut cx, false).unwrap_err().code,
        ErrorCode::NotLeaderOrFollower
    );
}

#[test]
fn a_new_leader_tells_no_latest_offset_until_its_epoch_is_reached() {
    let mut cluster = three(1);
    cluster.produce().unwrap();
    cluster.fetch(1);
    cluster.fetch(2);
    cluster.elect(1);
    let refused = cluster.nodes[1].partition.check_offset_available().unwrap_err();
    assert_eq!(refused.code, ErrorCode::OffsetNotAvailable);
    cluster.catch_up();
    assert_eq!(cluster.nodes[1].partition.check_offset_available(), Ok(()));
    assert_eq!(cluster.high_watermark(1), 1);
}

#[test]
fn an_empty_epoch_is_known_from_its_start() {
    let cluster = Cluster::new(1, 1, TruncateBy::LeaderEpoch);
    assert_eq!(cluster.nodes[0].partition.end_offset_for(0), Ok((0, 0)));
}

#[test]
fn a_follower_whose_fetch_met_a_proposal_under_way_is_taken_in_after_it() {
    let mut cluster = three(1);
    cluster.state.isr = vec![0];
    cluster.elect(0);
    let epoch = cluster.state.leader_epoch;
    let node = &mut cluster.nodes[0];
    let mut cx = node.host.cx();
    let mut fetch = |replica: i32| {
        let fetch = FollowerFetch {
            replica,
            broker_epoch: 100 + i64::from(replica),
            offset: 0,
            log_start: 0,
            current_leader_epoch: epoch,
            last_fetched_epoch: -1,
        };
        match node.partition.follower_fetches(&mut cx, &node.shared, &fetch) {
            Ok(FollowerRead::Reads(moved)) => moved.proposal,
            other => panic!("{other:?}"),
        }
    };
    let first = fetch(1).unwrap();
    assert_eq!(fetch(2), None, "one proposal is under way");
    assert_eq!(first.isr.len(), 2);
    let answer = IsrAnswer {
        isr: first.isr.iter().map(|(id, _)| *id).collect(),
        leader_epoch: epoch,
        partition_epoch: first.partition_epoch + 1,
    };
    let moved = node
        .partition
        .proposal_done(&mut cx, &node.shared, &first, Ok(answer));
    let members: Vec<i32> = moved.proposal.unwrap().isr.iter().map(|(id, _)| *id).collect();
    assert_eq!(members, [0, 1, 2]);
}

/// The controller refuses what broker 2 was proposed by, long after, while another life of `in_a_new_life` is
/// known. Every follower has all there is, so that within its session no fetch would look at the partition.
fn refused_late(in_a_new_life: i32) -> (Cluster, FollowerFetch) {
    let mut cluster = three(2);
    cluster.state.isr = vec![0, 1];
    cluster.elect(0);
    cluster.controller_is_away = true;
    cluster.fetch(1);
    cluster.fetch(2);
    let proposal = cluster.nodes[0].partition.pending_proposal().unwrap().clone();
    cluster.wait(3 * LAG_MS);
    let epoch = cluster.state.leader_epoch;
    let node = &mut cluster.nodes[0];
    let mut cx = node.host.cx();
    let fetch = FollowerFetch {
        replica: in_a_new_life,
        broker_epoch: 200,
        offset: 0,
        log_start: 0,
        current_leader_epoch: epoch,
        last_fetched_epoch: -1,
    };
    let fetched = node.partition.follower_fetches(&mut cx, &node.shared, &fetch);
    fetched.unwrap();
    let refused = Err(ErrorCode::IneligibleReplica);
    let moved = node
        .partition
        .proposal_done(&mut cx, &node.shared, &proposal, refused);
    assert_eq!(moved.proposal, None, "not again and again");
    assert!(moved.visit_followers, "the next fetch is to look");
    let last = FollowerFetch {
        replica: 2,
        broker_epoch: if in_a_new_life == 2 { 200 } else { 102 },
        ..fetch
    };
    (cluster, last)
}

#[test]
fn a_refusal_because_of_one_member_or_of_an_earlier_life_does_not_keep_a_follower_out() {
    for (in_a_new_life, lives) in [(1, [100, 200, 102]), (2, [100, 101, 200])] {
        let (mut cluster, fetch) = refused_late(in_a_new_life);
        let node = cluster.leading();
        for (broker, epoch) in [(1, lives[1]), (2, lives[2])] {
            node.shared.live.entry(broker).or_default().epoch = epoch;
        }
        let read = node
            .partition
            .follower_fetches(&mut node.host.cx(), &node.shared, &fetch);
        let Ok(FollowerRead::Reads(moved)) = read else {
            panic!("{read:?}")
        };
        assert_eq!(
            moved.proposal.unwrap().isr,
            [(0, lives[0]), (1, lives[1]), (2, lives[2])]
        );
    }
}

#[test]
fn who_was_refused_entry_holds_the_high_watermark_no_longer() {
    let mut cluster = three(2);
    // Broker 2 leaves, as in an orderly stop, and still fetches in the epoch without it.
    cluster.state.isr = vec![0, 1];
    cluster.elect(0);
    cluster.controller_is_away = true;
    cluster.fetch(2);
    let proposal = cluster.nodes[0].partition.pending_proposal().unwrap().clone();
    assert_eq!(proposal.isr.len(), 3);
    cluster.kill(2);
    cluster.produce().unwrap();
    cluster.fetch(1);
    cluster.fetch(1);
    let node = cluster.leading();
    node.shared.live.remove(&2);
    node.partition
        .surroundings_changed(&mut node.host.cx(), &node.shared);
    assert_eq!(cluster.high_watermark(0), 0, "broker 2 may be in by now");
    cluster.controller_is_away = false;
    cluster.propose(0, &proposal);
    assert_eq!((cluster.high_watermark(0), cluster.acknowledged.len()), (1, 1));
}
