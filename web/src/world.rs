//! The run at one moment: the log on its disk, what has just happened, the look-up under way.
//!
//! Everything is told by the same actions with the same settings, so a world can be made again from
//! them: keys, values and times are counted, never drawn.

use std::rc::Rc;

use bytes::Bytes;
use highwater_core::error::DiskError;
use highwater_core::log::LogConfig;
use highwater_core::record::BatchBuilder;
use highwater_core::sim::LogOnMemoryDisk;
use highwater_core::sim::host::EPOCH_MS;
use highwater_core::sim::log_on_memory_disk::Restart;
use highwater_core::sim::script::pattern;
use highwater_core::trace::{Event, Fact};
use highwater_core::types::{Millis, TopicPartition};

use crate::actions::{Action, Batches, Settings};
use crate::finding::{Finding, STEPS, Steps};
use crate::strip::{self, BatchState, BatchView, SegmentView};

/// The partition of the scene.
pub const TOPIC: &str = "orders";
/// The clock goes on by so much before each batch, and by so much from record to record.
const BATCH_MS: Millis = 1000;
const RECORD_MS: Millis = 10;
/// All batches that a run may have.
const MOST_BATCHES: usize = 400;

#[derive(Clone, Debug)]
pub struct World {
    host: LogOnMemoryDisk,
    /// Records appended so far: the next one's number.
    produced: u64,
    batches: usize,
    /// How far the producer's clock is ahead.
    ahead_ms: Millis,
    /// Of the last action.
    pub facts: Vec<Rc<Event>>,
    /// Since the start, latest last.
    pub all_facts: Vec<Rc<Event>>,
    pub finding: Option<Finding>,
    /// Of the last start, as long as nothing else has happened.
    pub restart: Option<Restart>,
    /// Batches that the last loss of power took, or that a start cut.
    pub lost: Vec<(i64, BatchView)>,
    /// Why the last action did not happen.
    pub refused: Option<String>,
    segments: Vec<SegmentView>,
}

impl World {
    pub fn new(settings: Settings) -> Result<Self, DiskError> {
        let config = LogConfig {
            segment_bytes: u64::from(settings.segment_bytes),
            index_interval_bytes: settings.index_interval_bytes,
            ..LogConfig::default()
        };
        let mut world = Self {
            host: LogOnMemoryDisk::new(TopicPartition::new(TOPIC, 0), config)?,
            produced: 0,
            batches: 0,
            ahead_ms: 0,
            facts: Vec::new(),
            all_facts: Vec::new(),
            finding: None,
            restart: None,
            lost: Vec::new(),
            refused: None,
            segments: Vec::new(),
        };
        world.segments = strip::segments(&world.host);
        Ok(world)
    }

    /// The world after one action more.
    pub fn after(&self, action: &Action) -> Self {
        let mut next = self.clone();
        next.refused = next.why_not(action).map(str::to_owned);
        if next.refused.is_none()
            && let Err(error) = next.act(action)
        {
            next.refused = Some(error.to_string());
        }
        next.facts = next.host.facts().into_iter().map(Rc::new).collect();
        next.all_facts.extend(next.facts.iter().cloned());
        next.segments = strip::segments(&next.host);
        next
    }

    pub fn host(&self) -> &LogOnMemoryDisk {
        &self.host
    }

    pub fn is_up(&self) -> bool {
        self.host.log().is_some()
    }

    /// The log's files, without what was lost.
    pub fn segments(&self) -> &[SegmentView] {
        &self.segments
    }

    /// The log's files and, behind what is left of each, what was lost; a torn batch is shown as what is
    /// left of it.
    pub fn segments_with_lost(&self) -> Vec<SegmentView> {
        let mut segments = self.segments.clone();
        for (base, lost) in &self.lost {
            let is_torn = |segment: &SegmentView| {
                let torn = segment.torn.as_ref();
                segment.base == *base && torn.is_some_and(|torn| torn.position == lost.position)
            };
            if segments.iter().any(is_torn) {
                continue;
            }
            match segments.iter_mut().find(|segment| segment.base == *base) {
                Some(segment) => segment.batches.push(lost.clone()),
                None => segments.push(SegmentView {
                    base: *base,
                    active: false,
                    log_bytes: 0,
                    batches: vec![lost.clone()],
                    torn: None,
                    entries: Vec::new(),
                    times: Vec::new(),
                }),
            }
        }
        segments
    }

    /// The last fact that `pick` takes.
    pub fn last_fact<T>(&self, mut pick: impl FnMut(&Fact) -> Option<T>) -> Option<T> {
        self.all_facts.iter().rev().find_map(|event| pick(&event.fact))
    }

    /// Why the action cannot happen now.
    pub fn why_not(&self, action: &Action) -> Option<&'static str> {
        match (action, self.is_up()) {
            (Action::Start, true) => Some("It runs already."),
            (Action::Start, false) => None,
            (_, false) => Some("The broker is down: start it first."),
            (Action::Append(more), true) if self.batches + more.count as usize > MOST_BATCHES => {
                Some("The strip is full: undo something, or begin again.")
            }
            (Action::Reveal, true) => match &self.finding {
                Some(finding) if finding.shown < STEPS => None,
                Some(_) => Some("All steps are shown."),
                None => Some("Nothing is looked up."),
            },
            _ => None,
        }
    }

    fn act(&mut self, action: &Action) -> Result<(), DiskError> {
        if !matches!(action, Action::Reveal) {
            self.finding = None;
        }
        if !matches!(action, Action::Start) {
            self.restart = None;
            self.lost.clear();
        }
        match action {
            Action::Append(batches) => self.append(*batches),
            Action::Roll => self.host.roll()?,
            Action::Flush => self.host.flush()?,
            Action::Tear => self.losing(LogOnMemoryDisk::lose_power_tearing)?,
            Action::LosePower => self.losing(|host| {
                host.lose_power();
                Ok(())
            })?,
            Action::Kill => self.host.kill(),
            Action::Stop => self.host.stop()?,
            Action::Start => self.restart = Some(self.host.start()?),
            Action::FindOffset(target) => match self.host.explain_lookup(*target)? {
                Some(lookup) => self.find(Steps::Offset(lookup)),
                None => self.refused = Some(format!("The log has no offset {target}.")),
            },
            Action::FindTime(since_ms) => match self.host.explain_time_lookup(EPOCH_MS + since_ms)? {
                Some(lookup) => self.find(Steps::Time(lookup)),
                None => {
                    let why = "No record is so late: the answer is offset -1, and no error.";
                    self.refused = Some(why.to_owned());
                }
            },
            Action::Reveal => {
                if let Some(finding) = &mut self.finding {
                    finding.shown = (finding.shown + 1).min(STEPS);
                }
            }
            Action::Wait(ms) => self.host.now += ms,
            Action::Ahead(ms) => self.ahead_ms = *ms,
            Action::KeepMs(ms) => self.host.keep(Some(*ms), None)?,
            Action::KeepBytes(bytes) => self.host.keep(None, Some(*bytes as u64))?,
        }
        Ok(())
    }

    fn find(&mut self, steps: Steps) {
        self.finding = Some(Finding { steps, shown: 0 });
    }

    fn append(&mut self, batches: Batches) {
        for _ in 0..batches.count {
            self.host.now += BATCH_MS;
            let bytes = self.batch(batches);
            match self.host.append(bytes) {
                Ok(_) => self.batches += 1,
                Err(refused) => {
                    let why = refused.message.unwrap_or_else(|| refused.code.to_string());
                    self.refused = Some(format!("{}: {why}", refused.code));
                    return;
                }
            }
        }
    }

    /// The next batch: keys and values count the records.
    fn batch(&mut self, batches: Batches) -> Bytes {
        let mut builder = BatchBuilder::new(batches.codec);
        for at in 0..i64::from(batches.records) {
            let key = format!("k{}", self.produced);
            let value = format!("order {}, ", self.produced);
            let value: String = value.chars().cycle().take(batches.value_bytes as usize).collect();
            let timestamp = self.host.now + self.ahead_ms + at * RECORD_MS;
            builder.append(timestamp, Some(key.as_bytes()), Some(value.as_bytes()), &[]);
            self.produced += 1;
        }
        builder.build()
    }

    fn losing(
        &mut self,
        lose: impl FnOnce(&mut LogOnMemoryDisk) -> Result<(), DiskError>,
    ) -> Result<(), DiskError> {
        let before = std::mem::take(&mut self.segments);
        lose(&mut self.host)?;
        let after = strip::segments(&self.host);
        let is_left = |base: i64, batch: &BatchView| {
            after.iter().any(|segment| {
                segment.base == base && segment.batches.iter().any(|left| left.position == batch.position)
            })
        };
        for segment in &before {
            for batch in segment
                .batches
                .iter()
                .filter(|batch| !is_left(segment.base, batch))
            {
                let state = BatchState::Lost;
                self.lost.push((
                    segment.base,
                    BatchView {
                        state,
                        ..batch.clone()
                    },
                ));
            }
        }
        Ok(())
    }

    /// Whether one of the last action's facts has this name.
    pub fn happened(&self, name: &str) -> bool {
        self.facts
            .iter()
            .any(|event| pattern::name_of(&event.fact) == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use highwater_core::record::Codec;

    fn run(script: &[&str]) -> World {
        let world = World::new(Settings::default()).unwrap();
        script
            .iter()
            .fold(world, |world, action| world.after(&action.parse().unwrap()))
    }

    #[test]
    fn the_strip_shows_what_the_log_says() {
        let world = run(&["append 20 6 20 none", "append 20 6 20 none"]);
        let log = world.host().log().unwrap();
        let segments = world.segments();
        assert_eq!(segments.len(), log.closed_segments().len() + 1);
        let batches: Vec<_> = segments.iter().flat_map(|segment| &segment.batches).collect();
        assert_eq!(batches.len(), 40);
        assert_eq!(batches.last().unwrap().last + 1, log.log_end());
        for pair in batches.windows(2) {
            assert_eq!(pair[0].last + 1, pair[1].base);
        }
        for segment in segments {
            for entry in &segment.entries {
                let batch = &segment.batches[entry.batch.unwrap()];
                assert_eq!((batch.last, batch.position), (entry.offset, entry.position));
            }
        }
    }

    #[test]
    fn a_torn_write_is_shown_and_then_cut() {
        let down = run(&["append 3 6 20 none", "flush", "append 3 6 20 none", "tear"]);
        assert!(!down.is_up() && !down.lost.is_empty());
        assert!(down.segments().last().unwrap().torn.is_some());
        let up = down.after(&Action::Start);
        let restart = up.restart.clone().unwrap();
        assert!(restart.cut_bytes > 0 && !up.lost.is_empty());
        assert_eq!(up.segments().last().unwrap().torn, None);
    }

    #[test]
    fn what_cannot_happen_says_why() {
        let world = run(&["kill", "append 1 1 1 none"]);
        assert!(world.refused.is_some());
        assert!(run(&["find 0"]).refused.is_some());
        assert!(run(&["append 1 1 1 none", "time 99999999"]).refused.is_some());
        let huge = Action::Append(Batches {
            count: 1,
            records: 50,
            value_bytes: 500,
            codec: Codec::None,
        });
        let refused = run(&[]).after(&huge).refused.unwrap();
        assert!(refused.starts_with("RECORD_LIST_TOO_LARGE"), "{refused}");
    }
}
