//! Any order of appends, rolls, truncations, restarts and look-ups gives what a plain list would.

use proptest::prelude::*;

use crate::log::testing::{Host, batch};
use crate::log::{Log, LogConfig};

const T0: i64 = 1_700_000_000_000;

#[derive(Clone, Debug)]
enum Step {
    Append { times: Vec<i64>, value_bytes: usize },
    Roll,
    Truncate(u32),
    MoveStart(u32),
    Retain(u32),
    Stop { clean: bool },
    Flush,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (prop::collection::vec(0..100i64, 1..4), 0..200usize)
            .prop_map(|(times, value_bytes)| Step::Append { times, value_bytes }),
        1 => Just(Step::Roll),
        2 => any::<u32>().prop_map(Step::Truncate),
        1 => any::<u32>().prop_map(Step::MoveStart),
        1 => any::<u32>().prop_map(Step::Retain),
        1 => any::<bool>().prop_map(|clean| Step::Stop { clean }),
        1 => Just(Step::Flush),
    ]
}

/// A log as a list of batches: first offset and times of the records.
#[derive(Default)]
struct Model {
    batches: Vec<(i64, Vec<i64>)>,
    start: i64,
    end: i64,
}

impl Model {
    fn truncate(&mut self, to: i64) {
        self.batches
            .retain(|(base, times)| base + times.len() as i64 <= to);
        self.end = self.end.min(to);
        self.start = self.start.min(self.end);
    }

    /// First offset of the batch that a read from `from` starts with.
    fn read(&self, from: i64) -> Option<i64> {
        let mut batches = self.batches.iter();
        batches
            .find(|(base, times)| base + times.len() as i64 > from)
            .map(|(base, _)| *base)
    }

    fn by_time(&self, target: i64) -> Option<(i64, i64)> {
        let records = self.batches.iter().flat_map(|(base, times)| {
            times
                .iter()
                .enumerate()
                .map(move |(at, &time)| (base + at as i64, time))
        });
        records
            .into_iter()
            .find(|&(offset, time)| offset >= self.start && time >= target)
    }
}

fn config() -> LogConfig {
    LogConfig {
        segment_bytes: 700,
        index_interval_bytes: 120,
        retention_ms: None,
        ..LogConfig::default()
    }
}

fn apply(host: &mut Host, log: &mut Log, model: &mut Model, step: Step) {
    match step {
        Step::Append { times, value_bytes } => {
            let times: Vec<i64> = times.into_iter().map(|time| T0 + time).collect();
            let base = host.append(log, &batch(&times, value_bytes));
            assert_eq!(base, model.end);
            model.end += times.len() as i64;
            model.batches.push((base, times));
        }
        Step::Roll => log.roll(&mut host.cx()),
        Step::Truncate(draw) => {
            let to = model.start + i64::from(draw) % (model.end - model.start + 1);
            host.truncate(log, to);
            model.truncate(to);
        }
        Step::MoveStart(draw) => {
            let to = model.start + i64::from(draw) % (model.end - model.start + 1);
            log.move_log_start(&mut host.cx(), to, model.end).unwrap();
            model.start = to;
        }
        Step::Retain(draw) => {
            let high_watermark = model.start + i64::from(draw) % (model.end - model.start + 1);
            log.apply_retention(&mut host.cx(), high_watermark);
            let first = log.log_start();
            assert!(first == model.start, "segments below the start only");
        }
        Step::Stop { clean } => restart(host, log, model, clean),
        Step::Flush => _ = log.flush(&mut host.cx()),
    }
    host.settle(log);
}

fn restart(host: &mut Host, log: &mut Log, model: &mut Model, clean: bool) {
    if clean {
        log.close(&mut host.cx());
        host.settle(log);
    }
    let before = log.clone();
    *log = host.start_with(&config(), |job| {
        job.clean = clean;
        job.recovery_point = before.recovery_point();
        job.log_start = before.log_start_to_checkpoint().unwrap_or(0);
    });
    let (old, new) = (before.active_segment(), log.active_segment());
    if old.base == new.base {
        assert_eq!(
            old.offsets, new.offsets,
            "an index built again is the index that was"
        );
        assert_eq!(old.greatest, new.greatest);
        assert_eq!(old.first_timestamp_ms, new.first_timestamp_ms);
    }
    // Offsets at the end that no batch has are not remembered over a restart, as in Kafka.
    let last = model
        .batches
        .last()
        .map(|(base, times)| base + times.len() as i64);
    let first = log
        .closed_segments()
        .first()
        .map_or(log.active_segment().base, |segment| segment.base);
    model.end = last.unwrap_or(first).max(log.active_segment().base);
    model.start = log.log_start();
}

fn check(host: &Host, log: &Log, model: &Model) {
    assert_eq!((log.log_start(), log.log_end()), (model.start, model.end));
    let first = log
        .closed_segments()
        .first()
        .map_or(log.active_segment().base, |segment| segment.base);
    assert!(first <= model.start);
    for from in model.start..=model.end {
        let found = host.first_read(log, from);
        assert_eq!(found, model.read(from), "read from {from}");
    }
    for target in [T0, T0 + 25, T0 + 50, T0 + 99, T0 + 100] {
        let found = host.find_time(log.plan_time_lookup(target));
        assert_eq!(
            found.map(|found| (found.offset, found.timestamp_ms)),
            model.by_time(target)
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn a_log_is_a_list(steps in prop::collection::vec(step(), 1..40)) {
        let mut host = Host::new();
        let mut log = host.create(config());
        let mut model = Model::default();
        for step in steps {
            apply(&mut host, &mut log, &mut model, step);
            check(&host, &log, &model);
        }
    }
}
