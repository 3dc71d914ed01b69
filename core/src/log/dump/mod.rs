//! What the files of a partition say, line by line, as Kafka's `DumpLogSegments` prints it.
//!
//! Scripts, bug reports and people know these lines, so they are Kafka's to the letter. Nothing here
//! writes to a terminal: lines are handed to a closure, so the command prints them and the lab shows
//! them. Files are read through [`ReadAt`], a batch at a time, and nothing is believed of them.
//!
//! What Kafka says on standard error comes as [`Line::Error`]; what it finds wrong while comparing
//! index and log is collected in [`Problems`] and said at the end.
//!
//! Reading order: [`reader`] walks the batches of a `.log`; `log_file`, `indexes`, `state_files` say
//! what each kind of file holds; `decoder` opens the records of the coordinators' topics.

mod decoder;
mod indexes;
mod log_file;
mod problems;
mod reader;
mod state_files;

use thiserror::Error;

use crate::disk::{DirId, ReadAt};
use crate::error::DiskError;
use crate::record::compression::{Decompress, PURE_RUST};
use crate::types::Offset;

pub use decoder::Decoder;
pub use problems::Problems;

/// A line without its end, and where Kafka sends it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    Output(String),
    Error(String),
}

/// Kafka's options of the same names.
#[derive(Clone, Debug)]
pub struct DumpOptions {
    /// `--deep-iteration`: records too, not only batches.
    pub deep_iteration: bool,
    /// `--print-data-log`: keys and values too. Implies deep iteration.
    pub print_data_log: bool,
    /// `--skip-record-metadata`: keys and values only.
    pub skip_record_metadata: bool,
    /// `--verify-index-only`: index entries are checked and not printed.
    pub verify_index_only: bool,
    /// `--index-sanity-check`: only what a broker checks when it starts.
    pub index_sanity_check: bool,
    /// `--max-message-size`: how far from an index entry a batch may reach.
    pub max_message_bytes: u32,
    /// `--max-bytes`: how much of a `.log` is read.
    pub max_bytes: u32,
    /// How keys and values are printed. Others than text are of use only with `print_data_log`.
    pub decoder: Decoder,
    /// Unpacks the bodies of batches.
    pub decompress: &'static dyn Decompress,
    /// The most that one body may come to, unpacked.
    pub max_decompressed_bytes: usize,
}

impl Default for DumpOptions {
    fn default() -> Self {
        Self {
            deep_iteration: false,
            print_data_log: false,
            skip_record_metadata: false,
            verify_index_only: false,
            index_sanity_check: false,
            max_message_bytes: 5 << 20,
            max_bytes: i32::MAX as u32,
            decoder: Decoder::Text,
            decompress: &PURE_RUST,
            max_decompressed_bytes: 1 << 30,
        }
    }
}

/// Why a dump ended before its end.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DumpError {
    #[error("{path} cannot be read: {error}")]
    Disk { path: String, error: DiskError },
    #[error("{path} is named after no offset: its name must begin with digits and a dot")]
    Name { path: String },
    #[error("{path}: {why}")]
    Corrupt { path: String, why: String },
}

/// One run over several files.
pub struct Dump<'a> {
    pub options: DumpOptions,
    /// Where the files are; `dir` and a path name one.
    pub disk: &'a dyn ReadAt,
    pub dir: DirId,
    pub lines: &'a mut dyn FnMut(Line),
    pub problems: Problems,
}

impl Dump<'_> {
    /// Says what is in a file, by the ending of its name. `absolute` is its path as the summary of
    /// problems names it.
    pub fn file(&mut self, path: &str, absolute: &str) -> Result<(), DumpError> {
        self.out(format!("Dumping {path}"));
        let name = file_name(path);
        match name.rfind('.').map_or("", |at| &name[at..]) {
            ".log" => self.log_file(path, absolute),
            ".index" => self.offset_index(path, absolute),
            ".timeindex" => self.time_index(path, absolute),
            ".snapshot" => self.snapshot(path),
            ".txnindex" => self.transaction_index(path),
            _ => {
                self.error(format!("Ignoring unknown file {path}"));
                Ok(())
            }
        }
    }

    /// Says what was found wrong in all files.
    pub fn finish(self) {
        let lines = self.lines;
        self.problems.print(&mut |text| lines(Line::Error(text)));
    }

    fn out(&mut self, text: impl Into<String>) {
        (self.lines)(Line::Output(text.into()));
    }

    fn error(&mut self, text: impl Into<String>) {
        (self.lines)(Line::Error(text.into()));
    }

    fn whole_file(&self, path: &str) -> Result<bytes::Bytes, DumpError> {
        let read = |len| self.disk.read_at(self.dir, path, 0, len);
        self.disk
            .len(self.dir, path)
            .and_then(|len| read(len as usize))
            .map_err(|error| disk_error(path, error))
    }
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// The offset that a segment's files are named after.
fn base_offset(path: &str) -> Result<Offset, DumpError> {
    let name = file_name(path);
    name.split('.')
        .next()
        .and_then(|digits| digits.parse().ok())
        .ok_or(DumpError::Name { path: path.into() })
}

/// The file beside `path` of the same segment with another ending.
fn sibling(path: &str, ending: &str) -> String {
    let directory = &path[..path.len() - file_name(path).len()];
    let stem = file_name(path).split('.').next().unwrap_or_default();
    format!("{directory}{stem}{ending}")
}

fn disk_error(path: &str, error: DiskError) -> DumpError {
    let path = path.into();
    DumpError::Disk { path, error }
}

fn corrupt(path: &str, why: impl Into<String>) -> DumpError {
    DumpError::Corrupt {
        path: path.into(),
        why: why.into(),
    }
}

#[cfg(test)]
mod tests;
