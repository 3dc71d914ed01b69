//! Giving up the end of the log.

use crate::log::producer_state::AppendOrigin;
use crate::log::testing::{DAY_MS, Host, batch, produced};
use crate::log::{LogConfig, Truncation};

const T0: i64 = 1_700_000_000_000;

fn small() -> LogConfig {
    LogConfig {
        segment_bytes: 500,
        index_interval_bytes: 100,
        ..LogConfig::default()
    }
}

#[test]
fn after_a_truncation_everything_is_as_if_no_more_had_been_appended() {
    for to in 0..=30 {
        let (mut host, mut twin) = (Host::new(), Host::new());
        let (mut log, mut shorter) = (host.create(small()), twin.create(small()));
        for at in 0..15 {
            let next = produced(5, at * 2, 2);
            host.append(&mut log, &next);
            if (at + 1) * 2 <= to {
                twin.append(&mut shorter, &next);
            }
        }
        host.truncate(&mut log, i64::from(to));
        assert_eq!(
            (log.log_end(), log.assigned_end()),
            (i64::from(to), i64::from(to))
        );
        assert_eq!(host.read_all(&log, 0), twin.read_all(&shorter, 0), "to {to}");
        // A snapshot has only the last batch of each producer.
        let last = |log: &crate::log::Log| log.producers().last_entry(5).map(|entry| entry.last_sequence());
        assert_eq!(last(&log), last(&shorter), "to {to}");
        // From here on both get the same, and must end with the same bytes.
        if to % 2 == 0 {
            host.append(&mut log, &batch(&[T0], 50));
            twin.append(&mut shorter, &batch(&[T0], 50));
            log.close(&mut host.cx());
            shorter.close(&mut twin.cx());
            host.settle(&mut log);
            twin.settle(&mut shorter);
            let live = |host: &Host| -> Vec<_> {
                let names = host
                    .names()
                    .into_iter()
                    .filter(|name| !name.ends_with(".deleted"));
                names.map(|name| (host.file(&name), name)).collect()
            };
            assert_eq!(live(&host), live(&twin), "to {to}");
        }
    }
}

#[test]
fn epochs_beyond_the_end_are_forgotten() {
    let mut host = Host::new();
    let mut log = host.create(small());
    for epoch in 0..5 {
        log.append_as_leader(&mut host.cx(), &batch(&[T0], 50), epoch, AppendOrigin::Client)
            .unwrap();
    }
    host.settle(&mut log);
    host.truncate(&mut log, 3);
    assert_eq!(log.epochs().latest_epoch(), Some(2));
    let again = host.start(true, 3, &small());
    assert_eq!(again.epochs(), log.epochs(), "the checkpoint says the same");
}

#[test]
fn the_recovery_point_never_lies_beyond_the_end() {
    let mut host = Host::new();
    let mut log = host.create(small());
    for _ in 0..4 {
        host.append(&mut log, &batch(&[T0], 50));
    }
    log.flush(&mut host.cx());
    host.truncate(&mut log, 2);
    assert_eq!((log.recovery_point(), log.log_end()), (2, 2));
}

#[test]
fn appends_under_way_are_waited_for() {
    let mut host = Host::new();
    let mut log = host.create(small());
    for _ in 0..2 {
        log.append_as_leader(&mut host.cx(), &batch(&[T0], 50), 0, AppendOrigin::Client)
            .unwrap();
    }
    let waits = log.truncate_to(&mut host.cx(), 1, DAY_MS);
    assert!(matches!(waits, Truncation::WaitFor(ticket) if ticket == host.queue.last_ticket(0)));
    host.settle(&mut log);
    assert!(matches!(
        log.truncate_to(&mut host.cx(), 1, DAY_MS),
        Truncation::Rebuild(_)
    ));
    assert!(matches!(
        log.truncate_to(&mut host.cx(), 2, DAY_MS),
        Truncation::Nothing
    ));
}

#[test]
fn a_rebuild_of_a_log_that_changed_meanwhile_is_not_used() {
    let mut host = Host::new();
    let mut log = host.create(small());
    host.append(&mut log, &batch(&[T0], 50));
    host.append(&mut log, &batch(&[T0], 50));
    let Truncation::Rebuild(job) = log.truncate_to(&mut host.cx(), 1, DAY_MS) else {
        panic!("a job is needed");
    };
    let crate::log::JobResult::Rebuilt(rebuilt) = host.run(job) else {
        panic!("the job's own result");
    };
    host.append(&mut log, &batch(&[T0], 50));
    assert!(!log.truncated(&mut host.cx(), *rebuilt.unwrap()));
    assert_eq!(log.log_end(), 3);
}

#[test]
fn a_log_can_begin_anew_anywhere() {
    let mut host = Host::new();
    let mut log = host.create(small());
    for at in 0..20 {
        host.append(&mut log, &produced(5, at, 1));
    }
    log.truncate_fully_and_start_at(&mut host.cx(), 100);
    host.settle(&mut log);
    assert_eq!((log.log_start(), log.log_end(), log.size_bytes()), (100, 100, 0));
    assert!(log.producers().is_empty() && log.latest_epoch().is_none());
    assert_eq!(host.append(&mut log, &batch(&[T0], 10)), 100);
    let again = host.start(false, 0, &small());
    assert_eq!((again.log_start(), again.log_end()), (100, 101));
}
