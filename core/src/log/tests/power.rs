//! Loss of power: whatever the medium kept beyond the syncs, what was promised is there.

use crate::disk::DiskQueue;
use crate::log::testing::{Host, batch, produced};
use crate::log::{Log, LogConfig};
use crate::types::Rng;

const T0: i64 = 1_700_000_000_000;

fn config(flush_messages: u64) -> LogConfig {
    LogConfig {
        segment_bytes: 600,
        index_interval_bytes: 100,
        flush_messages,
        ..LogConfig::default()
    }
}

/// Appends a few batches, of which the disk carries out only some of the last operations.
fn run(host: &mut Host, rng: &mut Rng, flush_messages: u64) -> Log {
    let mut log = host.create(config(flush_messages));
    let batches = 1 + rng.below(20) as i32;
    for at in 0..batches {
        let next = if at % 3 == 0 {
            batch(&[T0, T0], 30)
        } else {
            produced(4, at - 1 - at / 3, 1)
        };
        log.append_as_leader(
            &mut host.cx(),
            &next,
            0,
            crate::log::producer_state::AppendOrigin::Client,
        )
        .unwrap();
        let ops = if at + 1 == batches {
            rng.below(8) as usize
        } else {
            usize::MAX
        };
        let done = host.carry_out(ops);
        host.tell(&mut log, done);
    }
    log
}

#[test]
fn what_flush_messages_1_acknowledged_survives() {
    for seed in 0..300 {
        let mut rng = Rng::new(seed);
        let mut host = Host::new();
        let log = run(&mut host, &mut rng, 1);
        let (acknowledged, point) = (log.log_end(), log.recovery_point());
        assert_eq!(
            acknowledged, point,
            "seed {seed}: each acknowledgement waited for its sync"
        );
        let before = host.read_all(&log, 0);
        host.disk.power_loss_keeping(&mut rng);
        // The checkpoint may lag behind.
        let known = if rng.below(2) == 0 { 0 } else { point };
        host.queue = DiskQueue::default();
        let again = host.start(false, known, &config(1));
        assert!(
            again.log_end() >= acknowledged,
            "seed {seed}: {} < {acknowledged}",
            again.log_end()
        );
        let after = host.read_all(&again, 0);
        assert_eq!(after[..before.len()], before[..], "seed {seed}");
        let second = host.recover(false, known, &config(1));
        assert_eq!(
            (second.log_end, second.cut_bytes),
            (again.log_end(), 0),
            "seed {seed}"
        );
    }
}

#[test]
fn without_flushes_only_what_lies_above_the_recovery_point_is_lost() {
    for seed in 0..300 {
        let mut rng = Rng::new(1000 + seed);
        let mut host = Host::new();
        let log = run(&mut host, &mut rng, u64::MAX);
        let point = log.recovery_point();
        let before = host.read_all(&log, 0);
        host.disk.power_loss_keeping(&mut rng);
        let again = host.start(false, point, &config(u64::MAX));
        // A partition that was never flushed may be gone, name and all.
        assert!(
            again.log_end() >= point,
            "seed {seed}: {} < {point}",
            again.log_end()
        );
        let after = host.read_all(&again, 0);
        let common = before.len().min(after.len());
        assert_eq!(after[..common], before[..common], "seed {seed}");
    }
}

#[test]
fn a_killed_process_loses_nothing_that_was_written() {
    for seed in 0..100 {
        let mut rng = Rng::new(2000 + seed);
        let mut host = Host::new();
        let log = run(&mut host, &mut rng, u64::MAX);
        let before = host.read_all(&log, 0);
        let again = host.start(false, 0, &config(u64::MAX));
        assert!(again.log_end() >= log.log_end());
        assert_eq!(
            host.read_all(&again, 0)[..before.len()],
            before[..],
            "seed {seed}"
        );
    }
}
