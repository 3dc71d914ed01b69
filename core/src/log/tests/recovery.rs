//! Starting again over files that are not what was meant.

use bytes::Bytes;

use crate::log::testing::{Host, PATH, batch, produced};
use crate::log::{Job, JobResult, Log, LogConfig, Outcome, ReadPlan, Recover, TimePlan};
use crate::trace::Fact;

const T0: i64 = 1_700_000_000_000;

fn small() -> LogConfig {
    LogConfig {
        segment_bytes: 1000,
        index_interval_bytes: 100,
        ..LogConfig::default()
    }
}

/// Three segments of two-record batches, closed in order.
pub(super) fn three_segments() -> (Host, Log) {
    let mut host = Host::new();
    let mut log = host.create(small());
    for at in 0..20 {
        host.append(&mut log, &batch(&[T0 + at, T0 + at], 20));
    }
    assert_eq!(log.closed_segments().len(), 2);
    log.close(&mut host.cx());
    host.settle(&mut log);
    (host, log)
}

fn put(host: &mut Host, name: &str, bytes: impl Into<Bytes>) {
    host.disk.put_file(0, &format!("{PATH}/{name}"), bytes).unwrap();
}

fn name(base: i64, suffix: &str) -> String {
    format!("{base:020}.{suffix}")
}

/// All files of the partition, by name.
fn files(host: &Host) -> Vec<(String, Bytes)> {
    host.names()
        .into_iter()
        .map(|name| (name.clone(), host.file(&name)))
        .collect()
}

#[test]
fn a_read_waits_until_the_files_are_open() {
    let (mut host, log) = three_segments();
    let recovered = host.recover(true, log.recovery_point(), &small());
    let mut again = Log::open(&mut host.cx(), recovered, std::sync::Arc::new(small()));
    assert_eq!(again.log_end(), 40);
    let plan = |log: &Log| log.plan_read(0, 40, u32::MAX, true).unwrap();
    assert!(matches!(plan(&again), ReadPlan::Empty));
    // Nothing is written by it, so the log end does not move.
    assert!(!host.settle(&mut again));
    assert!(!matches!(plan(&again), ReadPlan::Empty));
}

#[test]
fn a_clean_start_changes_nothing() {
    let (mut host, log) = three_segments();
    let before = files(&host);
    let recovered = host.recover(true, log.recovery_point(), &small());
    assert_eq!((recovered.repairs.len(), recovered.cut_bytes), (0, 0));
    let again = host.start(true, log.recovery_point(), &small());
    assert_eq!(
        (again.log_start(), again.log_end(), again.recovery_point()),
        (0, 40, 40)
    );
    assert_eq!(again.active_segment().offsets, log.active_segment().offsets);
    assert_eq!(again.active_segment().greatest, log.active_segment().greatest);
    assert_eq!(again.topic_id(), log.topic_id());
    assert_eq!(files(&host), before);
}

#[test]
fn indexes_are_rebuilt_whatever_is_wrong_with_them() {
    let (host, log) = three_segments();
    let closed = log.closed_segments()[1].base;
    let active = log.active_segment().base;
    for clean in [true, false] {
        for base in [closed, active] {
            for suffix in ["index", "timeindex"] {
                let right = host.file(&name(base, suffix));
                let padded = [&right[..], &[0; 240]].concat();
                let short = right[..right.len() - if suffix == "index" { 8 } else { 12 }].to_vec();
                let odd = [&right[..], &[1]].concat();
                let mut wrong = right.to_vec();
                let last = wrong.len() - 1;
                wrong[last] ^= 0x55;
                for (how, bytes) in [
                    ("padded", padded),
                    ("short", short),
                    ("odd", odd),
                    ("wrong", wrong),
                ] {
                    // A time index entry's offset may be any at or after the true one: only its time is checked.
                    if suffix == "timeindex" && how == "wrong" {
                        continue;
                    }
                    let mut host = host_with(&host);
                    put(&mut host, &name(base, suffix), bytes);
                    check_start(
                        host,
                        clean,
                        &format!("{how} {suffix} of {base}, clean {clean}"),
                        &log,
                    );
                }
                let mut host = host_with(&host);
                let path = format!("{PATH}/{}", name(base, suffix)).into();
                host.disk.apply(0, &crate::disk::DiskOp::Unlink { path }).unwrap();
                check_start(
                    host,
                    clean,
                    &format!("missing {suffix} of {base}, clean {clean}"),
                    &log,
                );
            }
        }
    }
}

fn host_with(host: &Host) -> Host {
    let mut copy = Host::new();
    copy.disk = host.disk.clone();
    copy
}

/// Starts, and finds the log as it was; stops, and finds every file as it was.
fn check_start(mut host: Host, clean: bool, what: &str, log: &Log) {
    let recovery_point = if clean { log.log_end() } else { 0 };
    let mut again = host.start(clean, recovery_point, &small());
    assert_eq!(again.log_end(), log.log_end(), "{what}");
    assert_eq!(host.read_all(&again, 0).len(), 20, "{what}");
    again.close(&mut host.cx());
    host.settle(&mut again);
    let second = host.recover(true, again.recovery_point(), &small());
    assert_eq!(second.repairs, [], "{what}: nothing is left to repair");
    for segment in log.closed_segments().iter().map(|segment| segment.base) {
        let index = host.file(&name(segment, "index"));
        assert!(!index.is_empty() && index.len().is_multiple_of(8), "{what}");
    }
}

#[test]
fn a_torn_last_batch_is_cut_wherever_it_was_torn() {
    let mut host = Host::new();
    let mut log = host.create(small());
    for at in 0..3 {
        host.append(&mut log, &produced(7, at * 2, 2));
    }
    let whole = host.file(&name(0, "log"));
    let size = whole.len() / 3;
    for keep in 0..size {
        for zeroed in [false, true] {
            let mut bytes = whole[..2 * size + keep].to_vec();
            if zeroed {
                // The length got to the medium before the bytes.
                bytes.resize(whole.len(), 0);
            }
            if bytes == whole {
                continue;
            }
            let mut host = host_with(&host);
            put(&mut host, &name(0, "log"), bytes);
            let again = host.start(false, 0, &small());
            assert_eq!(
                again.log_end(),
                4,
                "{keep} bytes of the last batch, zeroed {zeroed}"
            );
            assert_eq!(host.file(&name(0, "log")), whole[..2 * size]);
            assert_eq!(again.producers().last_entry(7).unwrap().last_sequence(), 3);
            let second = host.recover(false, 0, &small());
            assert_eq!(
                (second.log_end, second.cut_bytes, second.cut_active),
                (4, 0, false)
            );
        }
    }
}

#[test]
fn any_flipped_byte_above_the_recovery_point_cuts_there() {
    let mut host = Host::new();
    let mut log = host.create(small());
    for at in 0..3 {
        host.append(&mut log, &batch(&[T0 + at], 10));
    }
    let whole = host.file(&name(0, "log"));
    let size = whole.len() / 3;
    for at in 0..size {
        let mut bytes = whole.to_vec();
        bytes[size + at] ^= 0xff;
        let mut host = host_with(&host);
        put(&mut host, &name(0, "log"), bytes);
        let again = host.start(false, 0, &small());
        // The leader epoch lies outside the checksum, and so do offsets as long as they rise.
        let unseen = at < 16 && again.log_end() != 1;
        assert!(
            unseen || again.log_end() == 1,
            "byte {at}: end {}",
            again.log_end()
        );
        assert!(
            !(8..12).contains(&at) || again.log_end() == 1,
            "a wrong length is always seen"
        );
    }
}

#[test]
fn absurd_lengths_neither_loop_nor_allocate() {
    let (host, log) = three_segments();
    let base = log.active_segment().base;
    let whole = host.file(&name(base, "log"));
    for length in [0, -1, i32::MIN, i32::MAX, 48, 49] {
        let mut bytes = whole.to_vec();
        bytes[8..12].copy_from_slice(&i32::to_be_bytes(length));
        let mut host = host_with(&host);
        put(&mut host, &name(base, "log"), bytes);
        let again = host.start(false, 0, &small());
        assert_eq!(again.log_end(), base, "length {length}");
        let fact = host.facts().into_iter().find_map(|fact| match fact {
            Fact::LogRecovered {
                cut_bytes, reason, ..
            } => Some((cut_bytes, reason.is_some())),
            _ => None,
        });
        assert_eq!(fact, Some((whole.len() as u64, true)));
    }
}

#[test]
fn segments_behind_a_bad_one_are_dropped() {
    let (mut host, log) = three_segments();
    let second = log.closed_segments()[1].base;
    let mut bytes = host.file(&name(second, "log")).to_vec();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    put(&mut host, &name(second, "log"), bytes);
    let again = host.start(false, 0, &small());
    assert_eq!(again.closed_segments().len(), 1);
    assert_eq!(again.active_segment().base, second);
    assert!(again.log_end() > second && again.log_end() < log.active_segment().base);
    assert!(!host.names().contains(&name(log.active_segment().base, "log")));
    let recovered = host.recover(false, 0, &small());
    assert_eq!((recovered.log_end, recovered.cut_bytes), (again.log_end(), 0));
}

#[test]
fn segments_below_the_recovery_point_are_not_read_again() {
    let (mut host, log) = three_segments();
    let second = log.closed_segments()[1].base;
    let mut bytes = host.file(&name(0, "log")).to_vec();
    bytes[100] ^= 1;
    put(&mut host, &name(0, "log"), bytes);
    let recovered = host.recover(false, second, &small());
    assert_eq!((recovered.log_end, recovered.cut_bytes), (40, 0));
    let recovered = host.recover(false, second - 1, &small());
    assert!(recovered.cut_bytes > 0);
}

#[test]
fn leftovers_of_deletion_and_compaction_are_sorted_out() {
    let (mut host, log) = three_segments();
    let second = log.closed_segments()[1].base;
    let third = log.active_segment().base;
    put(&mut host, "00000000000000000000.log.deleted", &b"old"[..]);
    put(&mut host, "00000000000000000000.timeindex.deleted", &b"old"[..]);
    put(&mut host, &format!("{third:020}.log.cleaned"), &b"half"[..]);
    // Not reached by that compaction's end, so it is whole, and takes the place of its sources.
    let swapped = host.file(&name(second, "log"));
    for suffix in ["log", "index", "timeindex"] {
        let bytes = host.file(&name(second, suffix));
        put(&mut host, &format!("{second:020}.{suffix}.swap"), bytes);
    }
    put(
        &mut host,
        &name(second, "log"),
        &b"a source of the compaction"[..],
    );
    put(&mut host, &format!("{third:020}.log.swap"), &b"half"[..]);
    put(&mut host, "00000000000000000777.index", &b"orphan!!"[..]);
    let again = host.start(true, 40, &small());
    assert_eq!(again.log_end(), 40);
    assert_eq!(host.file(&name(second, "log")), swapped);
    assert_eq!(host.read_all(&again, 0).len(), 20);
    let left: Vec<_> = host
        .names()
        .into_iter()
        .filter(|name| {
            [".deleted", ".cleaned", ".swap", "777.index"]
                .iter()
                .any(|end| name.ends_with(end))
        })
        .collect();
    assert_eq!(left, Vec::<String>::new());
}

#[test]
fn a_log_start_beyond_all_records_begins_the_log_anew() {
    let (host, _) = three_segments();
    let recovered = host.recover_from(Recover {
        log_start: 1000,
        ..host.recover_job(&small())
    });
    assert_eq!(
        (recovered.log_start, recovered.log_end, recovered.active.base),
        (1000, 1000, 1000)
    );
    assert!(recovered.closed.is_empty() && recovered.repairs.len() >= 9);
}

#[test]
fn an_empty_directory_is_an_empty_log() {
    let mut host = Host::new();
    let mut log = host.start(false, 0, &small());
    assert_eq!((log.log_start(), log.log_end()), (0, 0));
    assert_eq!(host.append(&mut log, &batch(&[T0], 10)), 0);
}

#[test]
fn progress_reaches_its_total() {
    let (host, _) = three_segments();
    let mut last = None;
    let job = host.recover_job(&small());
    job.run(&host.disk, &mut |progress| last = Some(progress))
        .unwrap();
    let last = last.unwrap();
    assert!(last.total_bytes > 2000 && last.done_bytes == last.total_bytes);
}

#[test]
fn a_look_up_finds_its_batch_through_a_wrong_index() {
    let (mut host, log) = three_segments();
    let right = host.file(&name(0, "index"));
    assert!(right.len() >= 24, "some entries to spoil");
    let mut seen_wrong = 0;
    for at in 0..right.len() {
        let mut bytes = right.to_vec();
        bytes[at] ^= 0x11;
        put(&mut host, &name(0, "index"), bytes);
        for from in 0..log.closed_segments()[1].base {
            let Ok(ReadPlan::Locate(job @ Job::Locate(_))) = log.plan_read(from, 40, 1000, true) else {
                panic!("a closed segment needs a job");
            };
            let JobResult::Located(Ok(located)) = host.run(job) else {
                panic!("the job's own result");
            };
            seen_wrong += usize::from(located.wrong_index.is_some());
            assert!(
                matches!(located.outcome, Outcome::Found(range) if range.base_offset == from - from % 2),
                "byte {at}, offset {from}: {located:?}"
            );
        }
    }
    assert!(seen_wrong > 0, "an entry that lies is seen to lie");
}

#[test]
fn a_look_up_by_time_finds_its_record_through_a_wrong_index() {
    let (mut host, log) = three_segments();
    let locate = |host: &Host, target: i64| {
        let TimePlan::Locate(job) = log.plan_time_lookup(target) else {
            panic!("records reach the time");
        };
        match host.run(job) {
            JobResult::LocatedTime(Ok(located)) => located,
            other => panic!("{other:?}"),
        }
    };
    let right = host.file(&name(0, "timeindex"));
    assert!(right.len() >= 24, "some entries to spoil");
    let last = log.closed_segments()[0].greatest.timestamp_ms;
    let targets: Vec<i64> = (T0..=last).step_by(((last - T0) / 40).max(1) as usize).collect();
    let expected: Vec<_> = targets
        .iter()
        .map(|target| locate(&host, *target).found)
        .collect();
    let mut seen_wrong = 0;
    for at in 0..right.len() {
        let mut bytes = right.to_vec();
        bytes[at] ^= 0x11;
        put(&mut host, &name(0, "timeindex"), bytes);
        for (target, expected) in targets.iter().zip(&expected) {
            let located = locate(&host, *target);
            seen_wrong += usize::from(located.wrong_index.is_some());
            assert_eq!(located.found, *expected, "byte {at}, time {target}");
        }
    }
    assert!(seen_wrong > 0, "an entry that lies is seen to lie");
}
