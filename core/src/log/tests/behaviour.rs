//! Appending, rolling, reading, retention.

use std::sync::Arc;

use crate::disk::DiskOp;
use crate::error::ErrorCode;
use crate::log::producer_state::AppendOrigin;
use crate::log::testing::{DAY_MS, Host, batch, built, produced};
use crate::log::{LogConfig, ReadPlan, TimePlan};
use crate::record::{BatchBuilder, Codec, Compression};
use crate::trace::{DeleteReason, Fact, RollReason};

const T0: i64 = 1_700_000_000_000;

fn small() -> LogConfig {
    LogConfig {
        segment_bytes: 1000,
        index_interval_bytes: 150,
        ..LogConfig::default()
    }
}

#[test]
fn nobody_sees_a_batch_before_it_is_written() {
    let mut host = Host::new();
    let mut log = host.create(LogConfig::default());
    let appended = log
        .append_as_leader(&mut host.cx(), &batch(&[T0, T0], 10), 3, AppendOrigin::Client)
        .unwrap();
    assert_eq!(
        (appended.base_offset, appended.last_offset, appended.duplicate),
        (0, 1, false)
    );
    assert_eq!((log.assigned_end(), log.log_end()), (2, 0));
    assert!(matches!(
        log.plan_read(0, i64::MAX, 100, true),
        Ok(ReadPlan::Empty)
    ));
    assert!(host.settle(&mut log));
    assert_eq!(log.log_end(), 2);
    assert!(!host.settle(&mut log), "nothing moved since");
    let header = host.read_all(&log, 0)[0];
    assert_eq!((header.base_offset, header.partition_leader_epoch), (0, 3));
    assert_eq!(log.latest_epoch(), Some(3));
}

#[test]
fn reads_outside_the_log_are_refused() {
    let mut host = Host::new();
    let mut log = host.create(LogConfig::default());
    host.append(&mut log, &batch(&[T0, T0, T0], 10));
    log.move_log_start(&mut host.cx(), 2, 3).unwrap();
    for from in [-1, 1, 4] {
        let refused = log.plan_read(from, 3, 100, true).unwrap_err();
        assert_eq!(refused.code, ErrorCode::OffsetOutOfRange, "from {from}");
    }
    assert!(
        matches!(log.plan_read(3, 3, 100, true), Ok(ReadPlan::Empty)),
        "the end itself is legal"
    );
    assert!(log.move_log_start(&mut host.cx(), 4, 4).is_err());
}

#[test]
fn the_tail_is_read_from_memory_and_the_rest_by_a_job() {
    let mut host = Host::new();
    let mut log = host.create(LogConfig::default());
    for _ in 0..200 {
        host.append(&mut log, &batch(&[T0], 100));
    }
    assert!(matches!(
        log.plan_read(199, 200, 100, true),
        Ok(ReadPlan::Here(_))
    ));
    assert!(matches!(
        log.plan_read(0, 200, 100, true),
        Ok(ReadPlan::Locate(_))
    ));
    for from in 0..200 {
        assert_eq!(host.read_all(&log, from)[0].base_offset, from);
    }
}

#[test]
fn a_read_stops_at_its_limit_and_at_its_size() {
    let mut host = Host::new();
    let mut log = host.create(small());
    for _ in 0..30 {
        host.append(&mut log, &batch(&[T0, T0], 30));
    }
    for limit in 0..=60 {
        let mut from = 0;
        while let Some((range, size)) = plan(&host, &log, from, limit, 300) {
            assert!(range.0 <= from && range.1 <= limit && size > 0);
            from = range.1;
        }
        assert_eq!(from, limit - limit % 2, "all whole batches below {limit}");
    }
    let first_batch = host.fetch(&log, 0, 1).len();
    assert!(
        first_batch > 100,
        "the first batch comes whole, even past the size: {first_batch}"
    );
    assert!(matches!(log.plan_read(0, 60, 0, false), Ok(ReadPlan::Empty)));
}

/// First and next offset of what a read gives, and its bytes.
fn plan(host: &Host, log: &crate::log::Log, from: i64, limit: i64, max: u32) -> Option<((i64, i64), usize)> {
    let range = match log.plan_read(from, limit, max, true).unwrap() {
        ReadPlan::Empty => return None,
        ReadPlan::Here(range) => range,
        ReadPlan::Locate(job) => match host.run(job) {
            crate::log::JobResult::Located(located) => match located.unwrap().outcome {
                crate::log::Outcome::Found(range) => range,
                crate::log::Outcome::Empty => return None,
                other => panic!("{other:?}"),
            },
            other => panic!("{other:?}"),
        },
    };
    let bytes = host
        .disk
        .read_open(range.file, range.pos, range.len as usize)
        .unwrap();
    let batches: Vec<_> = crate::record::Batches::new(bytes.clone())
        .map_while(Result::ok)
        .collect();
    assert_eq!(batches[0].header.base_offset, range.base_offset);
    assert!(
        batches
            .iter()
            .all(|batch| batch.header.last_offset() < range.below)
    );
    let next = batches.last().unwrap().header.next_offset();
    Some(((range.base_offset, next), bytes.len()))
}

#[test]
fn each_reason_to_roll_does() {
    let rolled = |host: &mut Host| {
        let facts = host.facts();
        facts.into_iter().find_map(|fact| match fact {
            Fact::SegmentRolled { reason, .. } => Some(reason),
            _ => None,
        })
    };
    let mut host = Host::new();
    let mut log = host.create(small());
    host.append(&mut log, &batch(&[T0], 600));
    host.append(&mut log, &batch(&[T0], 600));
    assert_eq!(rolled(&mut host), Some(RollReason::Size));

    host.append(&mut log, &batch(&[T0 + 7 * DAY_MS], 10));
    assert_eq!(rolled(&mut host), None, "not more than segment.ms later");
    host.append(&mut log, &batch(&[T0 + 7 * DAY_MS + 1], 10));
    assert_eq!(rolled(&mut host), Some(RollReason::Time));

    log.set_config(Arc::new(LogConfig {
        segment_index_bytes: 16,
        index_interval_bytes: 10,
        ..LogConfig::default()
    }));
    for _ in 0..3 {
        host.append(&mut log, &batch(&[T0], 10));
    }
    assert_eq!(rolled(&mut host), Some(RollReason::IndexFull));

    log.set_config(Arc::new(LogConfig::default()));
    let mut far = crate::record::Batch::parse(&batch(&[T0], 10).bytes).unwrap();
    far.header = far.header.with_head(log.assigned_end() + i64::from(i32::MAX), 0);
    log.append_as_follower(&mut host.cx(), &[far]).unwrap();
    assert_eq!(rolled(&mut host), Some(RollReason::OffsetOverflow));

    log.roll(&mut host.cx());
    assert_eq!(rolled(&mut host), Some(RollReason::Asked));
    log.roll(&mut host.cx());
    assert_eq!(rolled(&mut host), None, "an empty segment is not rolled");
}

#[test]
fn jitter_brings_a_roll_forward_by_what_was_drawn() {
    let config = LogConfig {
        segment_ms: 1000,
        segment_jitter_ms: 500,
        ..LogConfig::default()
    };
    let mut host = Host::new();
    let mut ages = Vec::new();
    let mut log = host.create(config);
    let mut time = T0;
    for _ in 0..20 {
        let (before, began) = (log.closed_segments().len(), time);
        while log.closed_segments().len() == before {
            host.append(&mut log, &batch(&[time], 10));
            time += 10;
        }
        ages.push(time - began);
    }
    assert!(ages.iter().all(|age| (500..=1020).contains(age)), "{ages:?}");
    assert!(ages.iter().any(|age| *age != ages[0]), "{ages:?}");
}

#[test]
fn a_batch_larger_than_a_segment_is_refused() {
    let mut host = Host::new();
    let mut log = host.create(small());
    let refused = log
        .append_as_leader(&mut host.cx(), &batch(&[T0], 2000), 0, AppendOrigin::Client)
        .unwrap_err();
    assert_eq!(refused.code, ErrorCode::RecordListTooLarge);
    assert!(host.queue.is_empty() && log.assigned_end() == 0);
}

#[test]
fn a_retry_is_answered_and_not_stored_twice_across_restarts_too() {
    let mut host = Host::new();
    let mut log = host.create(small());
    for sequence in [0, 3, 6] {
        host.append(&mut log, &produced(9, sequence, 3));
    }
    let mut retry = |log: &mut crate::log::Log| {
        log.append_as_leader(&mut host.cx(), &produced(9, 3, 3), 0, AppendOrigin::Client)
    };
    let appended = retry(&mut log).unwrap();
    assert_eq!(
        (appended.base_offset, appended.last_offset, appended.duplicate),
        (3, 5, true)
    );
    let mut log = host.start(false, 0, &small());
    let appended = log
        .append_as_leader(&mut host.cx(), &produced(9, 3, 3), 0, AppendOrigin::Client)
        .unwrap();
    assert_eq!(
        (appended.base_offset, appended.duplicate, log.assigned_end()),
        (3, true, 9)
    );
    let gap = log.append_as_leader(&mut host.cx(), &produced(9, 12, 1), 0, AppendOrigin::Client);
    assert_eq!(gap.unwrap_err().code, ErrorCode::OutOfOrderSequenceNumber);
}

#[test]
fn a_follower_takes_offsets_as_they_are_and_nothing_twice() {
    let mut host = Host::new();
    let mut log = host.create(small());
    let mut first = crate::record::Batch::parse(&batch(&[T0], 10).bytes).unwrap();
    first.header = first.header.with_head(7, 2);
    log.append_as_follower(&mut host.cx(), &[first.clone()]).unwrap();
    host.settle(&mut log);
    assert_eq!((log.log_end(), log.latest_epoch()), (8, Some(2)));
    assert!(log.append_as_follower(&mut host.cx(), &[first.clone()]).is_err());
    first.header = first.header.with_head(8, 1);
    assert!(
        log.append_as_follower(&mut host.cx(), &[first]).is_err(),
        "epochs never fall"
    );
    assert_eq!(
        host.read_all(&log, 0).len(),
        1,
        "the hole before offset 7 is passed over"
    );
}

#[test]
fn times_find_the_first_record_that_reaches_them() {
    let mut host = Host::new();
    let mut log = host.create(small());
    // Times go back and forth; the fourth batch is compressed.
    let times: [&[i64]; 6] = [
        &[T0, T0 + 5],
        &[T0 + 30, T0 + 10],
        &[T0 + 7],
        &[T0 + 20, T0 + 50, T0 + 40],
        &[T0 + 45],
        &[T0 + 90, T0 + 60],
    ];
    for (at, times) in times.iter().enumerate() {
        let codec = if at == 3 { Codec::Gzip } else { Codec::None };
        let builder = BatchBuilder::new(Compression::from(codec));
        host.append(&mut log, &built(builder, times, 200));
    }
    assert!(log.closed_segments().len() >= 2);
    let records: Vec<i64> = times.concat();
    for target in T0 - 5..T0 + 100 {
        let expected = records.iter().position(|&time| time >= target);
        let found = host.find_time(log.plan_time_lookup(target));
        assert_eq!(
            found.map(|found| found.offset),
            expected.map(|at| at as i64),
            "time {target}"
        );
        assert_eq!(
            found.map(|found| found.timestamp_ms),
            expected.map(|at| records[at])
        );
    }
    assert!(matches!(log.plan_time_lookup(T0 + 91), TimePlan::Nothing));
    let greatest = host.find_time(log.plan_greatest_timestamp()).unwrap();
    assert_eq!((greatest.offset, greatest.timestamp_ms), (9, T0 + 90));
    log.move_log_start(&mut host.cx(), 6, 11).unwrap();
    let found = host.find_time(log.plan_time_lookup(T0)).unwrap();
    assert_eq!(found.offset, 6, "records before the log start are gone");
}

#[test]
fn a_look_up_tells_its_steps() {
    let mut host = Host::new();
    let mut log = host.create(LogConfig {
        segment_bytes: 4000,
        ..small()
    });
    for _ in 0..80 {
        host.append(&mut log, &batch(&[T0, T0], 30));
    }
    for target in [3, 40, 90, 159] {
        let (steps, outcome) = log.explain_lookup(target, &host.disk).unwrap();
        let found = steps.scanned.last().unwrap();
        assert!(found.reaches_target && found.base_offset <= target && target <= found.last_offset);
        assert!(steps.segment <= target);
        assert!(steps.scanned.len() <= 4, "the index leads near: {steps:?}");
        let entries = log.active_segment().offsets.entries().len();
        assert!(
            !steps.halvings.is_empty()
                && steps.halvings.len() <= 64 - (entries.max(60) as u64).leading_zeros() as usize
        );
        assert!(steps.bytes_read > 0);
        assert!(matches!(outcome, crate::log::Outcome::Found(range) if range.pos == found.position));
    }
}

#[test]
fn retention_drops_whole_segments_below_the_high_watermark() {
    let config = LogConfig {
        segment_bytes: 300,
        retention_ms: Some(1000),
        file_delete_delay_ms: 60_000,
        ..LogConfig::default()
    };
    let mut host = Host::new();
    let mut log = host.create(config);
    host.now = T0;
    for at in 0..6 {
        host.append(&mut log, &batch(&[T0 + at], 150));
    }
    assert_eq!(log.closed_segments().len(), 5);
    host.now = T0 + 1002;
    assert!(!log.apply_retention(&mut host.cx(), 1));
    assert_eq!(
        log.log_start(),
        1,
        "only segments that lie wholly below the high watermark"
    );
    host.now = T0 + 10_000;
    log.apply_retention(&mut host.cx(), 6);
    assert_eq!((log.log_start(), log.log_end(), log.size_bytes()), (6, 6, 0));
    host.settle(&mut log);
    assert!(
        host.names()
            .contains(&"00000000000000000003.log.deleted".to_owned())
    );
    assert_eq!(log.poll_timeout(), Some(T0 + 1002 + 60_000));
    host.now = T0 + 10_000 + 60_000;
    log.tick(&mut host.cx());
    host.settle(&mut log);
    assert!(
        !host.names().iter().any(|name| name.ends_with(".deleted")),
        "{:?}",
        host.names()
    );
    assert_eq!(log.poll_timeout(), None);
}

#[test]
fn retention_keeps_the_size_asked_for_and_the_log_start_asked_for() {
    let mut host = Host::new();
    let mut log = host.create(LogConfig {
        segment_bytes: 300,
        retention_ms: None,
        retention_bytes: Some(700),
        ..LogConfig::default()
    });
    for _ in 0..6 {
        host.append(&mut log, &batch(&[T0], 150));
    }
    let one = log.closed_segments()[0].size_bytes;
    log.apply_retention(&mut host.cx(), 6);
    assert!(log.size_bytes() >= 700 && log.size_bytes() < 700 + one);
    let start = log.log_start();
    host.facts();
    log.move_log_start(&mut host.cx(), 5, 6).unwrap();
    assert!(start < 5 && log.log_start_to_checkpoint() == Some(5));
    log.apply_retention(&mut host.cx(), 6);
    let reasons: Vec<_> = host
        .facts()
        .into_iter()
        .filter_map(|fact| match fact {
            Fact::SegmentDeleted { reason, .. } => Some(reason),
            _ => None,
        })
        .collect();
    assert_eq!(reasons, vec![DeleteReason::LogStartOffset; (5 - start) as usize]);
    assert_eq!(
        log.log_start_to_checkpoint(),
        None,
        "the first segment's name says it now"
    );
}

#[test]
fn flush_messages_holds_the_end_back_until_the_sync() {
    let mut host = Host::new();
    let mut log = host.create(LogConfig {
        flush_messages: 1,
        ..LogConfig::default()
    });
    log.append_as_leader(&mut host.cx(), &batch(&[T0], 10), 0, AppendOrigin::Client)
        .unwrap();
    let ops = host.queue.take();
    let sync = ops
        .iter()
        .position(|queued| matches!(queued.op, DiskOp::Sync { .. }));
    let before_sync = ops[sync.unwrap() - 1].ticket;
    assert!(!log.disk_done(&mut host.cx(), before_sync));
    let last = ops.last().unwrap().ticket;
    assert!(log.disk_done(&mut host.cx(), last));
    assert_eq!((log.log_end(), log.recovery_point()), (1, 1));
}

#[test]
fn flush_ms_is_due_so_long_after_the_first_unsynced_record() {
    let mut host = Host::new();
    let mut log = host.create(LogConfig {
        flush_ms: Some(500),
        ..LogConfig::default()
    });
    assert_eq!(log.poll_timeout(), None);
    host.append(&mut log, &batch(&[T0], 10));
    let due = host.now + 500;
    host.now += 100;
    host.append(&mut log, &batch(&[T0], 10));
    assert_eq!(log.poll_timeout(), Some(due));
    host.now = due;
    log.tick(&mut host.cx());
    host.settle(&mut log);
    assert_eq!((log.recovery_point(), log.poll_timeout()), (2, None));
}

#[test]
fn a_deleted_log_gives_its_name_free_at_once() {
    let mut host = Host::new();
    let mut log = host.create(small());
    host.append(&mut log, &batch(&[T0], 10));
    let deleted = log.delete(&mut host.cx());
    assert_eq!(deleted.unlink_at_ms, host.now + 60_000);
    let mut again = host.create(small());
    assert_eq!(host.append(&mut again, &batch(&[T0], 10)), 0);
    deleted.unlink(&mut host.cx());
    host.settle(&mut again);
    assert!(
        host.disk
            .files()
            .iter()
            .all(|(_, path, _)| path.starts_with("t-0/"))
    );
}

#[test]
fn an_idle_log_costs_little_memory() {
    assert!(
        size_of::<crate::log::Log>() <= 700,
        "{} bytes",
        size_of::<crate::log::Log>()
    );
    let mut host = Host::new();
    let mut log = host.create(small());
    host.append(&mut log, &batch(&[T0], 10));
    assert_eq!(
        log.active_segment().tail.capacity(),
        4,
        "what is remembered grows with what there is"
    );
}

#[test]
fn index_files_come_with_their_first_entries() {
    let mut host = Host::new();
    let mut log = host.create(small());
    let indexes = |host: &Host| host.names().iter().filter(|name| name.ends_with("index")).count();
    host.append(&mut log, &batch(&[T0], 200));
    assert_eq!(indexes(&host), 0, "an absent one reads as an empty one");
    log.close(&mut host.cx());
    host.settle(&mut log);
    assert!(indexes(&host) > 0);
}

/// How many times the queue forces something to the medium.
fn syncs(host: &mut Host) -> usize {
    let forces = |op: &DiskOp| matches!(op, DiskOp::Sync { .. } | DiskOp::SyncDirectory { .. });
    let queued = host.queue.take();
    queued.iter().filter(|queued| forces(&queued.op)).count()
}

#[test]
fn a_log_that_was_never_written_to_closes_without_waiting_for_the_medium() {
    let mut host = Host::new();
    let mut log = host.create(LogConfig::default());
    log.close(&mut host.cx());
    assert_eq!(syncs(&mut host), 0);

    let mut log = host.create(LogConfig::default());
    host.append(&mut log, &batch(&[1], 10));
    let _ = log.truncate_to(&mut host.cx(), 0, DAY_MS);
    host.settle(&mut log);
    log.close(&mut host.cx());
    assert!(syncs(&mut host) > 0, "the cut has to reach the medium");
}
