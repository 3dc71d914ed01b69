//! What kind of machine this is, and what day; no names.

use std::process::Command;

use serde::Serialize;

#[derive(Serialize)]
pub struct Machine {
    pub date: String,
    pub processor: String,
    pub cores: usize,
    pub memory_gb: u64,
    pub kernel: String,
}

impl Machine {
    pub fn this() -> Self {
        let system = rustix::system::uname();
        let release = system.release().to_string_lossy();
        let memory_kib =
            field("/proc/meminfo", "MemTotal").and_then(|text| text.split(' ').next()?.parse::<u64>().ok());
        Self {
            date: today(),
            processor: field("/proc/cpuinfo", "model name").unwrap_or_else(|| "unknown processor".to_owned()),
            cores: std::thread::available_parallelism().map_or(0, usize::from),
            memory_gb: memory_kib.unwrap_or(0).div_ceil(1 << 20),
            kernel: format!("{} {}", system.sysname().to_string_lossy(), version(&release)),
        }
    }
}

impl std::fmt::Display for Machine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            date,
            processor,
            cores,
            memory_gb,
            kernel,
        } = self;
        write!(f, "{date}, {processor}, {cores} cores, {memory_gb} GB, {kernel}")
    }
}

/// The first two numbers of a release: what follows may name whoever built the kernel.
fn version(release: &str) -> String {
    let numbers: Vec<&str> = release.split('.').take(2).collect();
    numbers.join(".")
}

/// The day as `date` gives it.
fn today() -> String {
    let output = Command::new("date").args(["-u", "+%Y-%m-%d"]).output();
    output.map_or_else(
        |_| "unknown day".to_owned(),
        |output| String::from_utf8_lossy(&output.stdout).trim().to_owned(),
    )
}

/// The text behind `name :` in a file of `/proc`.
fn field(path: &str, name: &str) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    let line = text.lines().find(|line| line.starts_with(name))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_is_named_by_two_numbers() {
        assert_eq!(version("6.18.44-some-builder"), "6.18");
    }
}
