//! What the kernel knows of a process: processor time and memory, from `/proc`.

use std::iter::Sum;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use crate::Result;

/// Processor time that a process has used, all its threads together.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cpu {
    pub user_s: f64,
    pub system_s: f64,
}

impl Cpu {
    pub fn total_s(self) -> f64 {
        self.user_s + self.system_s
    }

    pub fn since(self, before: Self) -> Self {
        Self {
            user_s: self.user_s - before.user_s,
            system_s: self.system_s - before.system_s,
        }
    }
}

impl Sum for Cpu {
    fn sum<I: Iterator<Item = Self>>(each: I) -> Self {
        each.fold(Self::default(), |all, one| Self {
            user_s: all.user_s + one.user_s,
            system_s: all.system_s + one.system_s,
        })
    }
}

/// Memory of a process that lies in RAM.
#[derive(Clone, Copy, Debug, Default)]
pub struct Memory {
    /// At present.
    pub resident_kib: f64,
    /// The most it ever was.
    pub peak_kib: f64,
}

impl Sum for Memory {
    fn sum<I: Iterator<Item = Self>>(each: I) -> Self {
        each.fold(Self::default(), |all, one| Self {
            resident_kib: all.resident_kib + one.resident_kib,
            peak_kib: all.peak_kib + one.peak_kib,
        })
    }
}

pub fn cpu_of(pid: u32) -> Result<Cpu> {
    let path = format!("/proc/{pid}/stat");
    let text = std::fs::read_to_string(&path).map_err(|e| format!("{path}: {e}"))?;
    cpu_in(&text, ITSELF).ok_or_else(|| format!("{path}: unexpected form: {text}"))
}

/// Of all programs that this one has started and seen end.
pub fn cpu_of_ended_children() -> Result<Cpu> {
    let path = "/proc/self/stat";
    let text = std::fs::read_to_string(path).map_err(|e| format!("{path}: {e}"))?;
    cpu_in(&text, CHILDREN).ok_or_else(|| format!("{path}: unexpected form: {text}"))
}

/// Fields of `/proc/PID/stat` that lie between the process's name and user time: of the process itself, and of its
/// children that were waited for.
const ITSELF: usize = 11;
const CHILDREN: usize = 13;

/// The name of the process, in parentheses, may hold anything.
fn cpu_in(stat: &str, before: usize) -> Option<Cpu> {
    let after_name = &stat[stat.rfind(')')? + 1..];
    let mut fields = after_name.split_whitespace().skip(before).map(str::parse::<f64>);
    let ticks_a_second = rustix::param::clock_ticks_per_second() as f64;
    Some(Cpu {
        user_s: fields.next()?.ok()? / ticks_a_second,
        system_s: fields.next()?.ok()? / ticks_a_second,
    })
}

pub fn memory_of(pid: u32) -> Result<Memory> {
    let path = format!("/proc/{pid}/status");
    let text = std::fs::read_to_string(&path).map_err(|e| format!("{path}: {e}"))?;
    let kib = |name| field_kib(&text, name).ok_or_else(|| format!("{path}: no {name}"));
    Ok(Memory {
        resident_kib: kib("VmRSS:")?,
        peak_kib: kib("VmHWM:")?,
    })
}

fn field_kib(status: &str, name: &str) -> Option<f64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Processor time of the calling thread.
pub fn thread_cpu() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.cast_unsigned(), time.tv_nsec as u32)
}

/// Processes that wanted to run during the last minute, on average.
pub fn load_average() -> f64 {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ')
        .next()
        .and_then(|word| word.parse().ok())
        .unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processor_time_is_read_past_a_name_with_spaces() {
        let stat = "7 (a ) b) S 1 7 7 0 -1 4194560 9 0 0 0 250 50 90 30 20 0 8 0 1 1 1";
        for (before, ratio) in [(ITSELF, 5.0), (CHILDREN, 3.0)] {
            let cpu = cpu_in(stat, before).expect("the form of /proc/PID/stat");
            assert!((cpu.user_s / cpu.system_s - ratio).abs() < 1e-9);
        }
    }

    #[test]
    fn memory_is_read_by_name() {
        let status = "Name:\tx\nVmHWM:\t   20480 kB\nVmRSS:\t   10240 kB\n";
        assert_eq!(field_kib(status, "VmRSS:"), Some(10_240.0));
        assert_eq!(field_kib(status, "VmSwap:"), None);
    }
}
