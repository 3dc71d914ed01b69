//! From an empty value to a broker that serves: survey -> join -> recover -> register -> ready.
//!
//! 1. A job per log directory reads its small files and lists its partitions.
//! 2. `meta.properties` must be of this broker and of one cluster.
//! 3. A session with the coordination service is opened; it knows the cluster's id, or is told it now,
//!    and all settings ([`cluster`](super::cluster)).
//! 4. Every log that was found is learned by a job, all in parallel, and is held until the controller
//!    names it.
//! 5. When every repair is on disk, the broker registers. Once it has a controller, and, if that is
//!    itself, has heard it, it says that it is ready.
//!
//! Invariants
//! - the clean mark is gone before anything else is written: a stop in between is an unclean one
//! - a directory that cannot be read is offline, and the others go on

mod placing;

use super::cluster::{HeldLog, Stage};
use super::directories::Then;
use super::job::{Job, JobResult, Survey};
use super::jobs::JobFor;
use super::{Phase, State};
use crate::cx::Cx;
use crate::disk::{DirId, DiskOp, Lane};
use crate::io::{Level, Output};
use crate::log::checkpoint::{CleanShutdown, MetaProperties, MetaVersion};
use crate::log::{self, Recovered};
use crate::ordered::OrderedMap;
use crate::types::Millis;

/// How often a long start says how far it has come.
const SAY_EVERY_MS: Millis = 5_000;

/// What is gathered while the broker boots.
#[derive(Clone, Debug, Default)]
pub(super) struct Booting {
    surveys: OrderedMap<DirId, Survey>,
    /// Jobs not back yet.
    left: usize,
    /// Logs to recover in all.
    logs: usize,
    /// When it is next said how many are done.
    say_at: Millis,
    /// The cluster that the directories are of, if any says so.
    cluster_id: Option<String>,
    /// Directories without a `meta.properties`.
    unmarked: Vec<DirId>,
    /// Directories whose last operation at boot is not done yet.
    unsettled: usize,
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
            JobResult::Log(log::JobResult::Recovered(Ok(recovered))) => self.recovered(*recovered),
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

    /// Every directory has been looked at: check whose they are, then join the cluster.
    fn surveyed(&mut self, cx: &mut Cx) {
        let Phase::Booting(booting) = &mut self.phase else {
            return;
        };
        let surveys = std::mem::take(&mut booting.surveys);
        for &dir in surveys.keys() {
            let path = CleanShutdown::FILE.into();
            cx.disk.push(dir, DiskOp::Unlink { path });
            cx.disk.push(dir, DiskOp::SyncDirectory { path: "".into() });
        }
        let checked = self.check_meta_properties(&surveys);
        if let Phase::Booting(booting) = &mut self.phase {
            booting.surveys = surveys;
        }
        match checked {
            Ok(()) => self.open_session(cx),
            Err(why) => self.fail_start(why),
        }
    }

    /// All directories must be of one broker of one cluster.
    fn check_meta_properties(&mut self, surveys: &OrderedMap<DirId, Survey>) -> Result<(), String> {
        let (mut unmarked, mut cluster_id) = (Vec::new(), None);
        for (&dir, survey) in surveys {
            let path = self.path_of(dir);
            let Some(bytes) = survey.files.get(MetaProperties::FILE) else {
                unmarked.push(dir);
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
            match (&cluster_id, meta.cluster_id) {
                (Some(known), Some(found)) if *known != found => {
                    return Err(format!(
                        "{place} is of cluster {found}, another directory of cluster {known}; log.dirs mixes clusters"
                    ));
                }
                (None, found) => cluster_id = found,
                _ => {}
            }
            if let Some(found) = self.directories.get_mut(dir) {
                found.id = meta.directory_id.unwrap_or_default();
            }
        }
        if let Phase::Booting(booting) = &mut self.phase {
            (booting.unmarked, booting.cluster_id) = (unmarked, cluster_id);
        }
        Ok(())
    }

    /// The cluster that the disks say this broker is of.
    pub(super) fn disks_cluster_id(&self) -> Option<String> {
        match &self.phase {
            Phase::Booting(booting) => booting.cluster_id.clone(),
            _ => None,
        }
    }

    /// The coordination service has said which cluster this is.
    pub(super) fn cluster_known(&mut self, cx: &mut Cx, cluster_id: &str) {
        std::sync::Arc::make_mut(&mut self.image).set_cluster_id(cluster_id);
        let Phase::Booting(booting) = &mut self.phase else {
            return self.enter_stage(cx, Stage::Configs);
        };
        if let Some(found) = booting.cluster_id.as_ref().filter(|found| *found != cluster_id) {
            let why = format!(
                "the log directories are of cluster {found}, the coordination service is of cluster {cluster_id}; \
                 one of log.dirs and zookeeper.connect is another cluster's"
            );
            return self.fail_start(why);
        }
        let unmarked = std::mem::take(&mut booting.unmarked);
        self.mark_directories(cx, &unmarked, cluster_id);
        self.enter_stage(cx, Stage::Configs);
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

    /// All settings are known.
    pub(super) fn configs_known(&mut self, cx: &mut Cx) {
        self.reload_config();
        let Phase::Booting(booting) = &mut self.phase else {
            return self.enter_stage(cx, Stage::Registration);
        };
        let surveys = std::mem::take(&mut booting.surveys);
        self.enter_stage(cx, Stage::Recovery);
        if let Err(why) = self.find_logs(cx, &surveys) {
            self.fail_start(why);
        }
    }

    pub(super) fn path_of(&self, dir: DirId) -> String {
        self.directories
            .get(dir)
            .map(|found| found.path.clone())
            .unwrap_or_default()
    }

    /// One log is learned: it is held until the controller names it.
    fn recovered(&mut self, recovered: Recovered) {
        let name = recovered.partition.clone();
        if !self.directories.is_online(recovered.dir) {
            return;
        }
        if let Some(why) = &recovered.cut_why {
            self.out.say(
                Level::Warn,
                format!("{name}: {} bytes cut off the end: {why}", recovered.cut_bytes),
            );
        }
        if let Some(dir) = self.directories.get_mut(recovered.dir) {
            dir.partitions += 1;
        }
        let high_watermark = self.cluster.checkpointed.remove(&name).unwrap_or(0);
        let held = HeldLog {
            recovered,
            high_watermark,
        };
        self.cluster.held.insert(name, held);
    }

    /// Nothing is left to read. On to the registration when what was queued is on disk.
    fn all_recovered(&mut self, cx: &mut Cx) {
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

    /// One directory has done all that boot asked of it.
    pub(super) fn directory_ready(&mut self, cx: &mut Cx) {
        let Phase::Booting(booting) = &mut self.phase else {
            return;
        };
        booting.unsettled = booting.unsettled.saturating_sub(1);
        if booting.unsettled == 0 && booting.left == 0 && self.cluster.stage() == Stage::Recovery {
            self.enter_stage(cx, Stage::Registration);
        }
    }

    /// The broker is registered, and knows its controller or has heard itself as one.
    pub(super) fn ready(&mut self, cx: &mut Cx) {
        if !matches!(self.phase, Phase::Booting(_)) {
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
                self.image.cluster_id(),
                self.topics.len()
            ),
        );
        self.publish_admission();
        self.out.push(Output::Ready);
    }
}
