//! The simulator: the binary plays worlds and says how fast it was.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::loads::Values;
use crate::{Result, at, said};

/// Figures of the table, and what the binary calls them.
const NAMES: [(&str, &str); 4] = [
    ("simulator.events", "events_per_s"),
    ("simulator.checked", "checked_events_per_s"),
    ("simulator.copy", "copy_ms"),
    ("simulator.worst_copy", "worst_copy_ms"),
];

pub fn measure(binary: &Path) -> Result<Values> {
    let output = Command::new(binary).args(["sim", "--speed", "--json"]).output();
    let output = at(binary, output)?;
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{} sim --speed: {}", binary.display(), why.trim_end()));
    }
    let told: Value = serde_json::from_slice(&output.stdout).map_err(said)?;
    let value = |(id, name): (&'static str, &str)| {
        let value = told[name].as_f64();
        let value = value.ok_or_else(|| format!("{} sim --speed says no {name}", binary.display()))?;
        // Rates are shown in thousands.
        Ok((id, if name.ends_with("_s") { value / 1e3 } else { value }))
    };
    NAMES.into_iter().map(value).collect()
}
