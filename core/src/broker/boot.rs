//! From an empty value to a broker that serves: survey -> check -> recover -> open -> ready.
//!
//! 1. A job per log directory reads its small files and lists its partitions.
//! 2. `meta.properties` must be of this broker and cluster; a new cluster's id is made here, once.
//! 3. The coordination files give the topics. For each partition the directory that has it is found,
//!    and a job learns its log; logs are recovered in parallel. A partition that no directory has is
//!    begun anew, unless a directory is offline, which may have it.
//! 4. What belongs to no topic is set aside by name (`-stray`), never deleted; what was being deleted
//!    (`-delete`) is deleted for good after the usual delay.
//! 5. After a stop that was not an orderly one, records may be gone that readers have seen, and their
//!    offsets are given again: each log that was in doubt enters a new leader epoch, so that a reader
//!    can tell the difference (KIP-320).
//! 6. When every repair is on disk, the broker says that it is ready.
//!
//! Invariants
//! - the clean mark is gone before anything else is written: a stop in between is an unclean one
//! - a directory that cannot be read is offline, and the others go on

mod placing;

use std::collections::BTreeMap;
use std::sync::Arc;

use super::admit::TopicRules;
use super::directories::Then;
use super::job::{Job, JobResult, Survey};
use super::jobs::JobFor;
use super::storage::COORDINATION_DIR;
use super::topics::Topic;
use super::{Phase, State};
use crate::config::TopicConfig;
use crate::coordination;
use crate::cx::Cx;
use crate::disk::{DirId, DiskOp, Lane};
use crate::io::{Level, Output};
use crate::log::checkpoint::{CleanShutdown, MetaProperties, MetaVersion};
use crate::log::{self, Log, Recovered};
use crate::metadata::topics::raise_leader_epochs;
use crate::metadata::{Metadata, TopicImage};
use crate::replica::Partition;
use crate::types::{LeaderEpoch, Millis, PartitionIndex, TopicPartition, Uuid};

/// How often a long start says how far it has come.
const SAY_EVERY_MS: Millis = 5_000;

/// What is gathered while the broker boots.
#[derive(Clone, Debug, Default)]
pub(super) struct Booting {
    surveys: BTreeMap<DirId, Survey>,
    /// Jobs not back yet.
    left: usize,
    /// Logs to recover in all.
    logs: usize,
    /// When it is next said how many are done.
    say_at: Millis,
    /// The partitions being recovered: topic and number by directory name.
    recovering: BTreeMap<TopicPartition, Expected>,
    /// Leader epochs that partitions enter, by topic.
    raised: BTreeMap<Arc<str>, Vec<(PartitionIndex, LeaderEpoch)>>,
    /// Directories whose last operation at boot is not done yet.
    unsettled: usize,
}

/// What the coordination tree says of a partition whose log is being recovered.
#[derive(Clone, Debug)]
struct Expected {
    topic_id: Uuid,
    epoch: LeaderEpoch,
    clean: bool,
}

/// What the `meta.properties` said: directories without one, and the cluster of the others.
#[derive(Clone, Debug, Default)]
struct Unmarked {
    dirs: Vec<DirId>,
    cluster_id: Option<String>,
}

impl State {
    pub(super) fn survey(&mut self, cx: &mut Cx) {
        let dirs: Vec<DirId> = self.directories.online().collect();
        self.phase = Phase::Booting(Booting {
            left: dirs.len(),
            ..Booting::default()
        });
        for &dir in &dirs {
            self.start_job(Job::Survey { dir }, JobFor::Boot { dir });
        }
        if dirs.is_empty() {
            self.surveyed(cx);
        }
    }

    pub(super) fn boot_job_done(&mut self, cx: &mut Cx, dir: DirId, result: JobResult) {
        match result {
            JobResult::Survey {
                found: Ok(survey), ..
            } => {
                if let Phase::Booting(booting) = &mut self.phase {
                    booting.surveys.insert(dir, survey);
                }
            }
            JobResult::Log(log::JobResult::Recovered(Ok(recovered))) => self.recovered(cx, *recovered),
            JobResult::Survey {
                found: Err(error), ..
            }
            | JobResult::Log(log::JobResult::Recovered(Err(error))) => {
                self.directory_failed(cx, dir, error);
            }
            JobResult::Volumes(_) | JobResult::Log(_) => {}
        }
        let Phase::Booting(booting) = &mut self.phase else {
            return;
        };
        booting.left -= 1;
        let surveying = booting.logs == 0;
        match booting.left {
            0 if surveying => self.surveyed(cx),
            0 => self.all_recovered(cx),
            left if !surveying && cx.now >= booting.say_at => {
                booting.say_at = cx.now.saturating_add(SAY_EVERY_MS);
                let (done, all) = (booting.logs - left, booting.logs);
                self.out
                    .say(Level::Info, format!("recovered {done} of {all} logs"));
            }
            _ => {}
        }
    }

    /// Every directory has been looked at.
    fn surveyed(&mut self, cx: &mut Cx) {
        if let Err(why) = self.take_up(cx) {
            self.phase = Phase::Stopped;
            self.out.push(Output::Stopped { failed: Some(why) });
        }
    }

    fn take_up(&mut self, cx: &mut Cx) -> Result<(), String> {
        let Phase::Booting(booting) = &mut self.phase else {
            return Ok(());
        };
        let surveys = std::mem::take(&mut booting.surveys);
        if !self.directories.is_online(COORDINATION_DIR) {
            return Err(format!(
                "the first log directory, {}, is offline, and the topics are kept there; repair it, then start again",
                self.path_of(COORDINATION_DIR)
            ));
        }
        for &dir in surveys.keys() {
            let path = CleanShutdown::FILE.into();
            cx.disk.push(dir, DiskOp::Unlink { path });
            cx.disk.push(dir, DiskOp::SyncDirectory { path: "".into() });
        }
        let unmarked = self.check_meta_properties(&surveys)?;
        let empty = bytes::Bytes::new();
        let files = surveys.get(&COORDINATION_DIR).map(|survey| &survey.files);
        let file = |name: &str| files.and_then(|files| files.get(name)).unwrap_or(&empty);
        let recovered =
            coordination::recover(file(coordination::SNAPSHOT_PATH), file(coordination::LOG_PATH))
                .map_err(|damaged| damaged.to_string())?;
        let cluster_id = unmarked.cluster_id.as_deref();
        let (metadata, _) =
            Metadata::open(cx, COORDINATION_DIR, recovered, cluster_id).map_err(|bad| bad.to_string())?;
        let kept = metadata.image().cluster_id().clone();
        if let Some(found) = unmarked.cluster_id.filter(|found| **found != *kept) {
            return Err(format!(
                "the log directories are of cluster {found}, the topics in {} of cluster {kept}",
                coordination::LOG_PATH
            ));
        }
        self.mark_directories(cx, &unmarked.dirs, &kept);
        let topics = metadata.image().topics().cloned().collect();
        let deleting: Vec<_> = metadata.image().deleting().cloned().collect();
        self.metadata = Some(metadata);
        self.reload_config();
        let doomed = self.finish_deletions(cx, &deleting);
        self.place_partitions(cx, &surveys, topics, &doomed)
    }

    /// All directories must be of one broker of one cluster; a new one is made so.
    fn check_meta_properties(&mut self, surveys: &BTreeMap<DirId, Survey>) -> Result<Unmarked, String> {
        let mut unmarked = Unmarked::default();
        for (&dir, survey) in surveys {
            let path = self.path_of(dir);
            let Some(bytes) = survey.files.get(MetaProperties::FILE) else {
                unmarked.dirs.push(dir);
                continue;
            };
            let place = format!("{path}/{}", MetaProperties::FILE);
            let meta = MetaProperties::read(bytes).map_err(|why| format!("{place} {why}"))?;
            let node_id = self.config.node_id;
            if let Some(other) = meta.broker_id.filter(|&id| id != node_id) {
                return Err(format!(
                    "{place} is of broker {other}, this is broker {node_id}; set broker.id={other}, or another log.dirs"
                ));
            }
            match (&unmarked.cluster_id, meta.cluster_id) {
                (Some(known), Some(found)) if *known != found => {
                    return Err(format!(
                        "{place} is of cluster {found}, another directory of cluster {known}; log.dirs mixes clusters"
                    ));
                }
                (None, found) => unmarked.cluster_id = found,
                _ => {}
            }
            if let Some(found) = self.directories.get_mut(dir) {
                found.id = meta.directory_id.unwrap_or_default();
            }
        }
        Ok(unmarked)
    }

    /// Marks new directories as this broker's.
    fn mark_directories(&mut self, cx: &mut Cx, dirs: &[DirId], cluster_id: &str) {
        for &dir in dirs {
            let id = cx.rng.uuid();
            let meta = MetaProperties {
                version: MetaVersion::V0,
                broker_id: Some(self.config.node_id),
                cluster_id: Some(cluster_id.to_owned()),
                directory_id: Some(id),
            };
            let path = MetaProperties::FILE.into();
            let bytes = meta.write();
            cx.disk.push(dir, DiskOp::Replace { path, bytes });
            if let Some(found) = self.directories.get_mut(dir) {
                found.id = id;
            }
        }
    }

    pub(super) fn path_of(&self, dir: DirId) -> String {
        self.directories
            .get(dir)
            .map(|found| found.path.clone())
            .unwrap_or_default()
    }

    /// One log is learned: take it over, or set it aside when it is of another topic of that name.
    fn recovered(&mut self, cx: &mut Cx, mut recovered: Recovered) {
        let Phase::Booting(booting) = &mut self.phase else {
            return;
        };
        let name = recovered.partition.clone();
        let Some(expected) = booting.recovering.remove(&name) else {
            return;
        };
        if !self.directories.is_online(recovered.dir) {
            return;
        }
        if recovered.topic_id.is_some_and(|id| id != expected.topic_id) {
            self.stray(cx, recovered.dir, &recovered.path.clone());
            self.replace_partition(cx, &name, &expected, None);
            return;
        }
        recovered.name_topic(expected.topic_id);
        if let Some(why) = &recovered.cut_why {
            self.out.say(
                Level::Warn,
                format!("{name}: {} bytes cut off the end: {why}", recovered.cut_bytes),
            );
        }
        self.replace_partition(cx, &name, &expected, Some(recovered));
    }

    fn replace_partition(
        &mut self,
        cx: &mut Cx,
        name: &TopicPartition,
        expected: &Expected,
        recovered: Option<Recovered>,
    ) {
        let Some(topic) = self.topics.by_name(&name.topic) else {
            return;
        };
        let config = topic.log_config.clone();
        let (id, topic_id) = (topic.partitions.get(name.partition as usize).copied(), topic.id);
        let Some(id) = id else {
            return;
        };
        let begun_anew = recovered.is_none();
        let dir = recovered.as_ref().map(|found| found.dir);
        let dir = dir.or_else(|| self.topics.partition(id).map(Partition::dir));
        let log = match (recovered, dir) {
            (Some(recovered), _) => Log::open(cx, recovered, config),
            (None, Some(dir)) => Log::create(cx, name.clone(), dir, topic_id, config),
            (None, None) => return,
        };
        if let Some(partition) = self.topics.partition_mut(id) {
            let last = expected.epoch.max(log.latest_epoch().unwrap_or(0));
            let epoch = last + LeaderEpoch::from(!expected.clean || begun_anew);
            *partition = Partition::alone(cx, &self.replication, log, epoch);
            if epoch != expected.epoch {
                self.raise(&name.topic, name.partition, epoch);
            }
        }
        self.reschedule(id);
    }

    /// Nothing is left to read. Ready when what was queued is on disk.
    fn all_recovered(&mut self, cx: &mut Cx) {
        self.raise_leader_epochs(cx);
        let dirs: Vec<DirId> = self.directories.online().collect();
        if let Phase::Booting(booting) = &mut self.phase {
            booting.unsettled = dirs.len();
        }
        for dir in dirs {
            // What was queued before may be done already: this one is not, so its end is told.
            let ticket = cx.disk.push(dir, DiskOp::SyncDirectory { path: "".into() });
            self.directories.after(dir, Lane::Strict, ticket, Then::Directory);
        }
    }

    /// Notes that the partition enters a new leader epoch.
    fn raise(&mut self, topic: &Arc<str>, index: PartitionIndex, epoch: LeaderEpoch) {
        if let Phase::Booting(booting) = &mut self.phase {
            let topic = booting.raised.entry(topic.clone()).or_default();
            topic.push((index, epoch));
        }
    }

    fn raise_leader_epochs(&mut self, cx: &mut Cx) {
        let (Phase::Booting(booting), Some(metadata)) = (&mut self.phase, &mut self.metadata) else {
            return;
        };
        for (topic, epochs) in std::mem::take(&mut booting.raised) {
            let Some(topic) = metadata.image().topic(&topic).cloned() else {
                continue;
            };
            if let Err(error) = metadata.submit(cx, &raise_leader_epochs(&topic, &epochs)) {
                self.out
                    .say(Level::Error, format!("a leader epoch cannot be raised: {error}"));
            }
        }
    }

    /// One directory has done all that boot asked of it.
    pub(super) fn directory_ready(&mut self, cx: &mut Cx) {
        let Phase::Booting(booting) = &mut self.phase else {
            return;
        };
        booting.unsettled = booting.unsettled.saturating_sub(1);
        if booting.unsettled > 0 || booting.left > 0 {
            return;
        }
        self.phase = Phase::Running;
        self.start_timers(cx.now);
        self.admission_changed = true;
        self.out.say(
            Level::Info,
            format!(
                "broker {} of cluster {} serves {} topics",
                self.config.node_id,
                self.cluster_id(),
                self.topics.len()
            ),
        );
        self.publish_admission();
        self.out.push(Output::Ready);
    }

    /// Takes a topic into the broker's own list, without partitions, or takes over its configuration.
    pub(super) fn put_topic(&mut self, node: &TopicImage) -> Topic {
        let config = TopicConfig::resolve(&self.config, &node.configs);
        let partitions = self
            .topics
            .by_name(&node.name)
            .map(|topic| topic.partitions.clone());
        let topic = Topic {
            name: node.name.clone(),
            id: node.id,
            partitions: partitions.unwrap_or_default(),
            log_config: Arc::new(config.log_config()),
            rules: Arc::new(TopicRules {
                name: node.name.clone(),
                id: node.id,
                validation: config.validation_rules(),
            }),
        };
        self.topics.put(topic.clone());
        self.admission_changed = true;
        topic
    }

    fn add_partition(&mut self, topic: &str, partition: Partition) {
        if let Some(dir) = self.directories.get_mut(partition.dir()) {
            dir.partitions += 1;
        }
        let id = self.topics.add_partition(partition);
        self.topics.append_partition(topic, id);
    }

    /// Begins a new partition in the emptiest directory.
    pub(super) fn create_partition(&mut self, cx: &mut Cx, topic: &str, index: i32, epoch: LeaderEpoch) {
        let Some(found) = self.topics.by_name(topic) else {
            return;
        };
        let name = TopicPartition::new(found.name.clone(), index);
        let (id, config) = (found.id, found.log_config.clone());
        let partition = match self.directories.emptiest() {
            Some(dir) => {
                let log = Log::create(cx, name, dir, id, config);
                Partition::alone(cx, &self.replication, log, epoch)
            }
            None => Partition::offline(name, id, COORDINATION_DIR),
        };
        self.add_partition(topic, partition);
    }
}
