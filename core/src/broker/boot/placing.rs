//! Which directory holds which partition, and what becomes of directories that hold none.
//!
//! A partition found in two log directories stops the start: only an operator can tell which is
//! right. Nothing that is found is ever deleted here, but for what was being deleted already.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Expected, SAY_EVERY_MS};
use crate::broker::job::Survey;
use crate::broker::jobs::JobFor;
use crate::broker::topics::Topic;
use crate::broker::{Phase, State};
use crate::config::TopicConfig;
use crate::cx::Cx;
use crate::disk::{DirId, DiskOp, RelPath};
use crate::io::Level;
use crate::log::checkpoint::{CleanShutdown, LOG_START_OFFSET_FILE, RECOVERY_POINT_FILE, read_offsets};
use crate::log::names::deleted_directory;
use crate::log::{self, DeletedLog, Recover};
use crate::metadata::TopicImage;
use crate::replica::Partition;
use crate::types::{LeaderEpoch, Millis, Offset, TopicPartition, Uuid};

/// What a directory's own files say of its logs.
struct Known {
    clean: bool,
    recovery_points: BTreeMap<TopicPartition, Offset>,
    log_starts: BTreeMap<TopicPartition, Offset>,
}

impl State {
    /// Finds each partition's directory and starts to recover its log, or begins a new one.
    pub(super) fn place_partitions(
        &mut self,
        cx: &mut Cx,
        surveys: &BTreeMap<DirId, Survey>,
        topics: Vec<Arc<TopicImage>>,
        doomed: &[String],
    ) -> Result<(), String> {
        let mut places: BTreeMap<&str, DirId> = BTreeMap::new();
        let mut others = Vec::new();
        for (&dir, survey) in surveys {
            for name in &survey.directories {
                if !is_partition(name) {
                    others.push((&**name, dir));
                } else if let Some(other) = places.insert(name, dir) {
                    let path = |dir| self.directories.get(dir).map_or("", |found| &*found.path);
                    return Err(format!(
                        "{name} lies in two log directories, {} and {}; remove the one that is not wanted",
                        path(other),
                        path(dir)
                    ));
                }
            }
        }
        let known: BTreeMap<DirId, Known> = surveys
            .iter()
            .map(|(&dir, survey)| (dir, self.known(dir, survey)))
            .collect();
        let some_offline = self.directories.iter().find(|(_, dir)| dir.failed.is_some());
        let offline = some_offline.map(|(dir, _)| dir);
        let expiration_ms = self.config.producer_id_expiration_ms;
        let mut jobs = Vec::new();
        for node in topics {
            let topic = self.put_topic(&node);
            for (index, image) in node.partitions.iter().enumerate() {
                let epoch = image.leader_epoch;
                let partition = TopicPartition::new(node.name.clone(), index as i32);
                let name = partition.to_string();
                if let Some((&dir, known)) = places.remove(&*name).and_then(|dir| known.get_key_value(&dir)) {
                    jobs.push((
                        dir,
                        known.recover(&partition, dir, name.into(), &topic, cx.now, expiration_ms),
                    ));
                    self.expect(partition, node.id, epoch, known.clean);
                    self.add_partition(
                        &node.name,
                        Partition::offline(
                            TopicPartition::new(node.name.clone(), index as i32),
                            node.id,
                            dir,
                        ),
                    );
                    continue;
                }
                match offline {
                    Some(dir) => {
                        self.add_partition(&node.name, Partition::offline(partition, node.id, dir));
                    }
                    None => {
                        // Whatever it held before is gone.
                        self.create_partition(cx, &node.name, index as i32, epoch + 1);
                        self.raise(&node.name, index as i32, epoch + 1);
                    }
                }
            }
        }
        for (name, dir) in places.into_iter().chain(others) {
            if doomed.iter().any(|doomed| doomed == name) {
                let to: RelPath = deleted_directory(name, cx.rng.uuid()).into();
                let from = name.into();
                cx.disk.push(dir, DiskOp::Rename { from, to: to.clone() });
                self.set_aside(cx, dir, &to);
            } else {
                self.set_aside(cx, dir, name);
            }
        }
        self.recover_logs(cx, jobs);
        Ok(())
    }

    fn expect(&mut self, partition: TopicPartition, topic_id: Uuid, epoch: LeaderEpoch, clean: bool) {
        if let Phase::Booting(booting) = &mut self.phase {
            booting.recovering.insert(
                partition,
                Expected {
                    topic_id,
                    epoch,
                    clean,
                },
            );
        }
    }

    fn recover_logs(&mut self, cx: &mut Cx, jobs: Vec<(DirId, Recover)>) {
        if let Phase::Booting(booting) = &mut self.phase {
            booting.left = jobs.len();
            booting.logs = jobs.len();
            booting.say_at = cx.now.saturating_add(SAY_EVERY_MS);
        }
        let unclean = jobs.iter().filter(|(_, job)| !job.clean).count();
        if unclean > 0 {
            self.out.say(
                Level::Info,
                format!("the last stop was not an orderly one: {unclean} logs are checked"),
            );
        }
        if jobs.is_empty() {
            return self.all_recovered(cx);
        }
        for (dir, job) in jobs {
            self.start_log_job(log::Job::Recover(Box::new(job)), JobFor::Boot { dir });
        }
    }

    /// What the directory's checkpoints say; one that cannot be read is as none, and said.
    fn known(&mut self, dir: DirId, survey: &Survey) -> Known {
        let path = self.path_of(dir);
        let mut read = |file: &str| {
            let bytes = survey.files.get(file)?;
            match read_offsets(bytes) {
                Ok(offsets) => Some(offsets.into_iter().collect::<BTreeMap<_, _>>()),
                Err(why) => {
                    self.out
                        .say(Level::Warn, format!("{path}/{file} {why}; it is passed over"));
                    None
                }
            }
        };
        let recovery_points = read(RECOVERY_POINT_FILE);
        Known {
            clean: survey.files.contains_key(CleanShutdown::FILE) && recovery_points.is_some(),
            recovery_points: recovery_points.unwrap_or_default(),
            log_starts: read(LOG_START_OFFSET_FILE).unwrap_or_default(),
        }
    }

    /// A directory that belongs to no topic.
    fn set_aside(&mut self, cx: &mut Cx, dir: DirId, name: &str) {
        let delay = TopicConfig::resolve(&self.config, &Default::default()).file_delete_delay_ms;
        if name.ends_with("-delete") {
            let at = cx.now.saturating_add(delay);
            return self.timers.unlink_later(DeletedLog::found(dir, name.into(), at));
        }
        if !is_partition(name) {
            return self.out.say(
                Level::Warn,
                format!("directory {name} is no partition's; it is left alone"),
            );
        }
        self.stray(cx, dir, name);
    }

    /// Renames a partition's directory that no topic knows, so that it is kept and in nobody's way.
    pub(super) fn stray(&mut self, cx: &mut Cx, dir: DirId, name: &str) {
        let unique: String = cx.rng.uuid().0.iter().map(|byte| format!("{byte:02x}")).collect();
        let suffix = format!(".{unique}-stray");
        let keep = name.len().min(255 - suffix.len());
        let to = format!("{}{suffix}", name.get(..keep).unwrap_or(name));
        self.out.say(
            Level::Warn,
            format!("directory {name} belongs to no topic of this cluster; it is kept as {to}"),
        );
        let (from, to) = (name.into(), to.into());
        cx.disk.push(dir, DiskOp::Rename { from, to });
    }
}

/// Whether a directory is named as a partition's is, `topic-number`.
fn is_partition(directory: &str) -> bool {
    let parts = directory.rsplit_once('-');
    parts.is_some_and(|(topic, number)| !topic.is_empty() && number.parse::<u32>().is_ok())
}

impl Known {
    fn recover(
        &self,
        partition: &TopicPartition,
        dir: DirId,
        path: RelPath,
        topic: &Topic,
        now_ms: Millis,
        producer_expiration_ms: Millis,
    ) -> Recover {
        Recover {
            partition: partition.clone(),
            dir,
            path,
            clean: self.clean,
            recovery_point: self.recovery_points.get(partition).copied().unwrap_or(0),
            log_start: self.log_starts.get(partition).copied().unwrap_or(0),
            index_interval_bytes: topic.log_config.index_interval_bytes,
            now_ms,
            producer_expiration_ms,
        }
    }
}
