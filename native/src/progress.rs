//! Says now and then how far a long job has come, for whoever waits for a broker to start.

use std::time::{Duration, Instant};

use highwater_core::broker::Job;
use highwater_core::log::{self, Progress};

/// A job that is done sooner says nothing.
const SAY_EVERY: Duration = Duration::from_secs(5);

/// One job's progress.
pub(crate) struct JobProgress {
    /// The log that is read; `None`: nobody waits for this job.
    of: Option<String>,
    said: Instant,
    every: Duration,
}

impl JobProgress {
    pub fn of(job: &Job) -> Self {
        let of = match job {
            Job::Log(log::Job::Recover(recover)) => Some(recover.partition.to_string()),
            _ => None,
        };
        Self {
            of,
            said: Instant::now(),
            every: SAY_EVERY,
        }
    }

    /// Takes note, and logs a line if it is time.
    pub fn tell(&mut self, come: Progress) {
        if let Some(line) = self.line(come) {
            tracing::info!("{line}");
        }
    }

    fn line(&mut self, come: Progress) -> Option<String> {
        let of = self.of.as_ref()?;
        if self.said.elapsed() < self.every {
            return None;
        }
        self.said = Instant::now();
        let (done, all) = (come.done_bytes >> 20, come.total_bytes >> 20);
        Some(format!("checking {of}: {done} of {all} MiB"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_job_says_how_far_it_is_and_a_short_one_nothing() {
        let come = Progress {
            done_bytes: 300 << 20,
            total_bytes: 1 << 30,
        };
        let mut progress = JobProgress {
            of: Some("t-0".to_owned()),
            said: Instant::now(),
            every: Duration::ZERO,
        };
        let line = progress.line(come);
        assert_eq!(line.as_deref(), Some("checking t-0: 300 of 1024 MiB"));
        progress.every = Duration::MAX;
        assert_eq!(progress.line(come), None);
    }
}
