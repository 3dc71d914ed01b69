//! How replicas find where their logs part ways: the old way's losses, and that the new ways have none.

use super::cluster::{Cluster, Seen};
use crate::replica::fetcher::TruncateBy;
use crate::types::Offset;

const BY_EPOCH: [TruncateBy; 2] = [TruncateBy::LeaderEpoch, TruncateBy::OffsetForLeaderEpoch];

/// Two replicas with records 0 and 1, both acknowledged; the follower has yet to hear that 1 is safe.
fn follower_behind_in_high_watermark(truncate_by: TruncateBy) -> Cluster {
    let mut cluster = Cluster::new(2, 1, truncate_by);
    cluster.fetch(1);
    cluster.produce().unwrap();
    cluster.fetch(1);
    cluster.fetch(1);
    cluster.produce().unwrap();
    cluster.fetch(1);
    cluster.fetch_and_lose_the_answer(1);
    assert_eq!(cluster.acknowledged.len(), 2);
    assert_eq!((cluster.high_watermark(0), cluster.high_watermark(1)), (2, 1));
    assert_eq!(cluster.log_end(1), 2);
    cluster
}

/// The leadership moves away and comes back; the old leader dies before the follower fetches again.
fn leadership_moves_and_the_leader_dies(truncate_by: TruncateBy) -> Offset {
    let mut cluster = follower_behind_in_high_watermark(truncate_by);
    cluster.elect(1);
    cluster.elect(0);
    cluster.kill(0);
    cluster.state.isr = vec![1];
    cluster.elect(1);
    cluster.log_end(1)
}

#[test]
fn by_high_watermark_an_acknowledged_record_is_lost_by_epoch_it_is_not() {
    assert_eq!(
        leadership_moves_and_the_leader_dies(TruncateBy::HighWatermark),
        1,
        "record 1 is gone"
    );
    for truncate_by in BY_EPOCH {
        assert_eq!(
            leadership_moves_and_the_leader_dies(truncate_by),
            2,
            "{truncate_by:?}"
        );
    }
}

/// Both lose power; one of them also its last record, and it comes back first and leads.
fn power_loss_of_both(truncate_by: TruncateBy) -> [Vec<Seen>; 2] {
    let mut cluster = follower_behind_in_high_watermark(truncate_by);
    cluster.fetch(1);
    cluster.kill(0);
    cluster.lose(1, 1);
    cluster.start(1, 1);
    cluster.state.isr = vec![1];
    cluster.elect(1);
    cluster.produce().unwrap();
    cluster.start(0, 2);
    cluster.elect(1);
    cluster.catch_up();
    [cluster.log_of(0), cluster.log_of(1)]
}

#[test]
fn by_high_watermark_logs_diverge_by_epoch_they_do_not() {
    let [old, new] = power_loss_of_both(TruncateBy::HighWatermark);
    assert_eq!(old.len(), new.len());
    assert_ne!(old, new, "two records at offset 1");
    for truncate_by in BY_EPOCH {
        let [old, new] = power_loss_of_both(truncate_by);
        assert_eq!(old, new, "{truncate_by:?}");
    }
}

/// Leaders change fast, and each writes alone: the follower has an epoch that its leader does not know.
#[test]
fn fast_leader_changes_leave_one_history() {
    for truncate_by in BY_EPOCH {
        let mut cluster = Cluster::new(2, 1, truncate_by);
        cluster.fetch(1);
        cluster.produce().unwrap();
        cluster.catch_up();
        // Epoch 1: broker 1 alone writes two records.
        cluster.kill(0);
        cluster.state.isr = vec![1];
        cluster.elect(1);
        cluster.produce().unwrap();
        cluster.produce().unwrap();
        // Epoch 2: broker 0 alone writes one (an unclean election).
        cluster.kill(1);
        cluster.start(0, 1);
        cluster.state.isr = vec![0];
        cluster.elect(0);
        cluster.produce().unwrap();
        // Epoch 3: broker 1 leads again (unclean too), and broker 0 follows.
        cluster.start(1, 1);
        cluster.state.isr = vec![1];
        cluster.elect(1);
        cluster.produce().unwrap();
        cluster.catch_up();
        let epochs: Vec<_> = cluster.log_of(1).iter().map(|(_, epoch, _)| *epoch).collect();
        assert_eq!(epochs, [0, 1, 1, 3]);
        assert_eq!(cluster.log_of(0), cluster.log_of(1), "{truncate_by:?}");
        assert_eq!(cluster.state.isr, [1, 0], "{truncate_by:?}");
    }
}

#[test]
fn a_follower_out_of_range_cuts_what_the_leader_never_had_and_keeps_the_rest() {
    let mut cluster = Cluster::new(2, 1, TruncateBy::HighWatermark);
    cluster.catch_up();
    for _ in 0..3 {
        cluster.produce().unwrap();
    }
    cluster.catch_up();
    // The follower lost all but the first record, and leads: an unclean election.
    cluster.lose(1, 1);
    cluster.start(1, 1);
    cluster.state.isr = vec![1];
    cluster.elect(1);
    cluster.catch_up();
    assert_eq!((cluster.log_end(0), cluster.log_end(1)), (1, 1));
    assert_eq!(cluster.log_of(0), cluster.log_of(1));
    assert_eq!(cluster.state.isr, [1, 0]);
}

#[test]
fn a_follower_that_missed_what_retention_took_begins_anew() {
    let mut cluster = Cluster::new(2, 1, TruncateBy::LeaderEpoch);
    cluster.catch_up();
    cluster.produce().unwrap();
    cluster.catch_up();
    cluster.kill(1);
    cluster.state.isr = vec![0];
    cluster.elect(0);
    for _ in 0..4 {
        cluster.produce().unwrap();
    }
    let node = cluster.leading();
    let log = node.partition.log_mut().unwrap();
    log.move_log_start(&mut node.host.cx(), 3, 5).unwrap();
    cluster.start(1, 1);
    cluster.elect(0);
    cluster.catch_up();
    let log = cluster.nodes[1].partition.log().unwrap();
    assert_eq!((log.log_start(), log.log_end()), (3, 5));
    assert_eq!(cluster.high_watermark(1), 5);
    assert_eq!(cluster.state.isr, [0, 1]);
}
