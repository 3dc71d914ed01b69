//! `highwater dump-log`: what is in the files of a partition, with the options and in the lines of
//! Kafka's `kafka-dump-log.sh`.

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::os::unix::fs::FileExt;
use std::path::absolute;

use bytes::Bytes;
use highwater_core::disk::{DirId, ReadAt};
use highwater_core::error::DiskError;
use highwater_core::log::dump::{Decoder, Dump, DumpOptions, Line, Problems};

use super::Failure;
use crate::decompress::NATIVE;
use crate::output;

/// The options of `kafka-dump-log.sh`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The files to dump, with commas between them: .log, .index, .timeindex, .snapshot, .txnindex.
    #[arg(
        long,
        required = true,
        value_delimiter = ',',
        value_name = "file1, file2, ..."
    )]
    files: Vec<String>,
    /// Print keys and values too. Implies --deep-iteration.
    #[arg(long)]
    print_data_log: bool,
    /// Print every record and not only every batch.
    #[arg(long)]
    deep_iteration: bool,
    /// With --print-data-log: print nothing but keys and values.
    #[arg(long)]
    skip_record_metadata: bool,
    /// Check an index against its log, without printing its entries.
    #[arg(long)]
    verify_index_only: bool,
    /// Only check what a broker checks of an index when it starts.
    #[arg(long)]
    index_sanity_check: bool,
    /// Size of the largest batch that an index entry may point at, in bytes.
    #[arg(long, default_value_t = 5 << 20, value_name = "size", value_parser = size())]
    max_message_size: u32,
    /// Read so many bytes of a .log and no more.
    #[arg(long, default_value_t = i32::MAX as u32, value_name = "size", value_parser = size())]
    max_bytes: u32,
    /// Read the records as those of __consumer_offsets. Implies --print-data-log.
    #[arg(long, conflicts_with = "transaction_log_decoder")]
    offsets_decoder: bool,
    /// Read the records as those of __transaction_state. Implies --print-data-log.
    #[arg(long)]
    transaction_log_decoder: bool,
}

/// Kafka's sizes are Java's `int`.
fn size() -> clap::builder::RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(0..=i64::from(i32::MAX))
}

/// Dumps the files in the order in which they are named. Fails at the first that cannot be read.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    dump(arguments, BufWriter::new(output::stdout()), output::stderr())
}

fn dump(arguments: &Arguments, mut out: impl Write, mut errors: impl Write) -> Result<(), Failure> {
    let mut written = Ok(());
    let files = Files::default();
    let mut dump = Dump {
        options: options(arguments),
        disk: &files,
        dir: 0,
        lines: &mut |line| {
            if written.is_ok() {
                written = match line {
                    Line::Output(text) => writeln!(out, "{text}"),
                    // In the order in which things were found, as on a terminal.
                    Line::Error(text) => out.flush().and_then(|()| writeln!(errors, "{text}")),
                };
            }
        },
        problems: Problems::default(),
    };
    let mut ended = Ok(());
    for path in &arguments.files {
        let whole = absolute(path)?;
        ended = dump.file(path, &whole.to_string_lossy());
        if ended.is_err() {
            break;
        }
    }
    if ended.is_ok() {
        dump.finish();
    }
    written.and_then(|()| out.flush())?;
    Ok(ended?)
}

fn options(arguments: &Arguments) -> DumpOptions {
    let decoder = if arguments.offsets_decoder {
        Decoder::Offsets
    } else if arguments.transaction_log_decoder {
        Decoder::TransactionLog
    } else {
        Decoder::Text
    };
    DumpOptions {
        deep_iteration: arguments.deep_iteration,
        print_data_log: arguments.print_data_log || decoder != Decoder::Text,
        skip_record_metadata: arguments.skip_record_metadata,
        verify_index_only: arguments.verify_index_only,
        index_sanity_check: arguments.index_sanity_check,
        max_message_bytes: arguments.max_message_size,
        max_bytes: arguments.max_bytes,
        decoder,
        decompress: &NATIVE,
        ..DumpOptions::default()
    }
}

/// Files by any path, the last one kept open.
#[derive(Default)]
struct Files {
    open: RefCell<Option<(String, File)>>,
}

impl Files {
    fn with<T>(&self, path: &str, act: impl FnOnce(&File) -> io::Result<T>) -> Result<T, DiskError> {
        let mut open = self.open.borrow_mut();
        if open.as_ref().is_none_or(|(name, _)| name != path) {
            *open = Some((path.to_owned(), File::open(path).map_err(|e| disk_error(&e))?));
        }
        match &*open {
            Some((_, file)) => act(file).map_err(|e| disk_error(&e)),
            None => Err(DiskError::NotFound),
        }
    }
}

impl ReadAt for Files {
    fn read_at(&self, _: DirId, path: &str, at: u64, len: usize) -> Result<Bytes, DiskError> {
        self.with(path, |file| {
            let there = file.metadata()?.len().saturating_sub(at);
            let mut bytes = vec![0; (len as u64).min(there) as usize];
            let mut filled = 0;
            while filled < bytes.len() {
                match file.read_at(&mut bytes[filled..], at + filled as u64)? {
                    0 => break,
                    count => filled += count,
                }
            }
            bytes.truncate(filled);
            Ok(bytes.into())
        })
    }

    fn len(&self, _: DirId, path: &str) -> Result<u64, DiskError> {
        self.with(path, |file| Ok(file.metadata()?.len()))
    }

    fn list(&self, _: DirId, _: &str) -> Result<Vec<String>, DiskError> {
        Ok(Vec::new())
    }
}

fn disk_error(error: &io::Error) -> DiskError {
    match (error.kind(), error.raw_os_error()) {
        (ErrorKind::NotFound, _) => DiskError::NotFound,
        (_, number) => DiskError::Io(number.unwrap_or(0)),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        arguments: Arguments,
    }

    const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/fixtures");

    fn run_with(options: &[&str]) -> (String, String, Result<(), String>) {
        let command = Command::parse_from(["dump-log"].iter().chain(options));
        let (mut out, mut errors) = (Vec::new(), Vec::new());
        let ended = dump(&command.arguments, &mut out, &mut errors).map_err(|e| e.to_string());
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (text(out), text(errors), ended)
    }

    #[test]
    fn files_are_dumped_one_after_the_other() {
        let log = format!("{FIXTURES}/fx-txn-0/00000000000000000004.log");
        let index = format!("{FIXTURES}/fx-txn-0/00000000000000000004.index");
        let files = format!("{log},{index}");
        let (out, errors, ended) = run_with(&["--files", &files, "--deep-iteration"]);
        assert_eq!(ended, Ok(()));
        assert!(out.starts_with(&format!("Dumping {log}\nLog starting offset: 4\n")));
        assert!(out.contains(&format!("Dumping {index}\noffset: 7 position: 175\n")));
        assert!(out.contains(" endTxnMarker: COMMIT coordinatorEpoch: 0\n"));
        assert!(!out.contains("payload"));
        let path = absolute(&log).unwrap();
        let expected = format!(
            "Non-consecutive offsets in {}\n  -1 is followed by 4\n",
            path.display()
        );
        assert_eq!(errors, expected);
    }

    #[test]
    fn decoders_print_the_data() {
        let log = format!("{FIXTURES}/__transaction_state-0/00000000000000000000.log");
        let (out, _, ended) = run_with(&["--files", &log, "--transaction-log-decoder"]);
        assert_eq!(ended, Ok(()));
        assert!(out.contains(r#"key: {"type":"0","data":{"transactionalId":"fx-tx-2"}} payload: "#));
    }

    #[test]
    fn a_missing_file_is_one_clear_line() {
        let (out, _, ended) = run_with(&["--files", "no/such/00000.log"]);
        assert_eq!(out, "Dumping no/such/00000.log\nLog starting offset: 0\n");
        assert_eq!(
            ended,
            Err("no/such/00000.log cannot be read: no such file".into())
        );
    }
}
