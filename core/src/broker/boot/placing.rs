//! Which directory holds which log, and what becomes of directories that hold none.
//!
//! A partition found in two log directories stops the start: only an operator can tell which is
//! right. Nothing that is found is ever deleted here, but for what was being deleted already.

use std::sync::Arc;

use super::SAY_EVERY_MS;
use crate::broker::job::Survey;
use crate::broker::jobs::JobFor;
use crate::broker::{Phase, State};
use crate::config::TopicConfig;
use crate::cx::Cx;
use crate::disk::{DirId, DiskOp};
use crate::io::Level;
use crate::log::checkpoint::{
    CleanShutdown, LOG_START_OFFSET_FILE, RECOVERY_POINT_FILE, REPLICATION_OFFSET_FILE, read_offsets,
};
use crate::log::{self, DeletedLog, LogConfig, Recover, Recovered};
use crate::ordered::OrderedMap;
use crate::types::{Offset, TopicPartition};

/// What a directory's own files say of its logs.
struct Known {
    clean: bool,
    recovery_points: OrderedMap<TopicPartition, Offset>,
    log_starts: OrderedMap<TopicPartition, Offset>,
}

impl State {
    /// Starts to learn every log that was found.
    pub(super) fn find_logs(
        &mut self,
        cx: &mut Cx,
        surveys: &OrderedMap<DirId, Survey>,
    ) -> Result<(), String> {
        let mut places: OrderedMap<&str, (TopicPartition, DirId)> = OrderedMap::new();
        for (&dir, survey) in surveys {
            for name in &survey.directories {
                let Some(partition) = partition_of(name) else {
                    self.note_other_directory(cx, dir, name);
                    continue;
                };
                if let Some((_, other)) = places.insert(name, (partition, dir)) {
                    return Err(format!(
                        "{name} lies in two log directories, {} and {}; remove the one that is not wanted",
                        self.path_of(other),
                        self.path_of(dir)
                    ));
                }
            }
        }
        let mut known = OrderedMap::new();
        for (&dir, survey) in surveys {
            known.insert(dir, self.known(dir, survey));
        }
        let producer_expiration_ms = self.config.producer_id_expiration_ms;
        let mut jobs = Vec::new();
        for (path, (partition, dir)) in places {
            let Some(known) = known.get(&dir) else {
                continue;
            };
            let recover = Recover {
                dir,
                path: path.into(),
                clean: known.clean,
                recovery_point: known.recovery_points.get(&partition).copied().unwrap_or(0),
                log_start: known.log_starts.get(&partition).copied().unwrap_or(0),
                index_interval_bytes: self.log_config_of(&partition.topic).index_interval_bytes,
                now_ms: cx.now,
                producer_expiration_ms,
                partition,
            };
            jobs.push((dir, recover));
        }
        self.recover_logs(cx, jobs);
        Ok(())
    }

    /// The settings of a topic's logs, as they are known now.
    pub(in crate::broker) fn log_config_of(&self, topic: &str) -> Arc<LogConfig> {
        let settings = self.cluster.configs.of_topic(topic);
        Arc::new(TopicConfig::resolve(&self.config, &settings).log_config())
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

    /// What the directory's checkpoints say; one that cannot be read is as none, and said. The high
    /// watermarks are kept for when the logs are claimed.
    fn known(&mut self, dir: DirId, survey: &Survey) -> Known {
        let path = self.path_of(dir);
        let mut read = |file: &str| {
            let bytes = survey.files.get(file)?;
            match read_offsets(bytes) {
                Ok(offsets) => Some(offsets.into_iter().collect::<OrderedMap<_, _>>()),
                Err(why) => {
                    self.out
                        .say(Level::Warn, format!("{path}/{file} {why}; it is passed over"));
                    None
                }
            }
        };
        let recovery_points = read(RECOVERY_POINT_FILE);
        let log_starts = read(LOG_START_OFFSET_FILE).unwrap_or_default();
        let high_watermarks = read(REPLICATION_OFFSET_FILE).unwrap_or_default();
        self.cluster.checkpointed.extend(high_watermarks);
        Known {
            clean: survey.files.contains_key(CleanShutdown::FILE) && recovery_points.is_some(),
            recovery_points: recovery_points.unwrap_or_default(),
            log_starts,
        }
    }

    /// A directory that is no partition's.
    fn note_other_directory(&mut self, cx: &mut Cx, dir: DirId, name: &str) {
        let delay = TopicConfig::resolve(&self.config, &Default::default()).file_delete_delay_ms;
        if name.ends_with("-delete") {
            let at = cx.now.saturating_add(delay);
            return self.timers.unlink_later(DeletedLog::found(dir, name.into(), at));
        }
        if !name.ends_with("-stray") {
            self.out.say(
                Level::Warn,
                format!("directory {name} is no partition's; it is left alone"),
            );
        }
    }

    /// Renames the directory of a log that the cluster does not know, so that it is kept and in nobody's way.
    pub(in crate::broker) fn set_log_aside(&mut self, cx: &mut Cx, log: &Recovered) {
        let (dir, name) = (log.dir, log.path.to_string());
        let unique: String = cx.rng.uuid().0.iter().map(|byte| format!("{byte:02x}")).collect();
        let suffix = format!(".{unique}-stray");
        let keep = name.len().min(255 - suffix.len());
        let to = format!("{}{suffix}", name.get(..keep).unwrap_or(&name));
        self.out.say(
            Level::Warn,
            format!("directory {name} belongs to no topic of this cluster; it is kept as {to}"),
        );
        let (from, to) = (name.as_str().into(), to.into());
        cx.disk.push(dir, DiskOp::Rename { from, to });
        if let Some(found) = self.directories.get_mut(dir) {
            found.partitions = found.partitions.saturating_sub(1);
            found.checkpoints_stale = true;
        }
    }
}

/// The partition that a directory is named for, `topic-number`.
fn partition_of(directory: &str) -> Option<TopicPartition> {
    let (topic, number) = directory.rsplit_once('-')?;
    let number: i32 = number.parse().ok().filter(|number| *number >= 0)?;
    (!topic.is_empty()).then(|| TopicPartition::new(topic, number))
}
