//! The standard output and the error output of the commands. There is no other way to either.
//!
//! Who reads may have seen enough and be gone, as `head` is after its lines. What a command says then is
//! dropped, as Java's `PrintStream` drops it in Kafka's own tools, and the command goes on: what it is
//! there to do is done, whoever reads of it. A command that has nothing to do but print writes to
//! [`stdout`], which fails then; the command gives up, and [`is_unread`] knows such a failure for a good
//! end. Output that is lost for any other reason, on a full disk perhaps, is a failure of the command
//! ([`lost`]).

use std::error::Error;
use std::fmt;
use std::io::{self, ErrorKind, Write};
use std::sync::OnceLock;

/// Says a line on the standard output; it takes what `format!` takes.
macro_rules! say {
    () => { $crate::output::line(format_args!("")) };
    ($($text:tt)+) => { $crate::output::line(format_args!($($text)+)) };
}
pub(crate) use say;

/// The same on the error output, for what is wrong or by the way.
macro_rules! complain {
    ($($text:tt)+) => { $crate::output::complaint(format_args!($($text)+)) };
}
pub(crate) use complain;

/// Why the first words that were lost could not be written.
static LOST: OnceLock<io::Error> = OnceLock::new();

/// What [`say`] is made of.
pub(crate) fn line(text: fmt::Arguments<'_>) {
    let _ = writeln!(Said, "{text}");
}

/// What [`complain`] is made of. Where it cannot be written there is nowhere left to say so.
pub(crate) fn complaint(text: fmt::Arguments<'_>) {
    let _ = writeln!(io::stderr(), "{text}");
}

/// The standard output for a command that has more to do than print: it never fails.
#[derive(Debug)]
pub(crate) struct Said;

impl Write for Said {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        keep(stdout().write_all(bytes));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        keep(stdout().flush());
        Ok(())
    }
}

fn keep(written: io::Result<()>) {
    if let Err(error) = written
        && error.kind() != ErrorKind::BrokenPipe
    {
        LOST.get_or_init(|| error);
    }
}

/// Why some of what was said is not on the standard output, if that is not its reader's wish.
pub(crate) fn lost() -> Option<&'static io::Error> {
    LOST.get()
}

/// The standard output for a command that only prints.
pub(crate) fn stdout() -> Output<io::StdoutLock<'static>> {
    Output(io::stdout().lock())
}

/// The error output for such a command.
pub(crate) fn stderr() -> Output<io::StderrLock<'static>> {
    Output(io::stderr().lock())
}

/// Whether a command failed because nobody reads what it prints. A socket that breaks is something else.
pub(crate) fn is_unread(failure: &(dyn Error + 'static)) -> bool {
    let error = failure.downcast_ref::<io::Error>();
    let within = error.and_then(io::Error::get_ref);
    within.is_some_and(|why| why.is::<Unread>())
}

/// Nobody reads the output any more.
#[derive(Debug, thiserror::Error)]
#[error("nobody reads the output")]
struct Unread;

/// An output whose broken pipe is told from that of a socket.
#[derive(Debug)]
pub(crate) struct Output<W>(W);

impl<W: Write> Write for Output<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes).map_err(|error| marked(&error))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush().map_err(|error| marked(&error))
    }
}

fn marked(error: &io::Error) -> io::Error {
    match error.kind() {
        ErrorKind::BrokenPipe => io::Error::new(ErrorKind::BrokenPipe, Unread),
        // It keeps its kind, by which some are tried again.
        kind => io::Error::new(kind, format!("what there is to say cannot be written: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_without_a_reader_is_told_from_any_other() {
        let (reader, writer) = io::pipe().unwrap();
        drop(reader);
        let unread = Output(&writer).write_all(b"a line\n").unwrap_err();
        assert_eq!(unread.kind(), ErrorKind::BrokenPipe);
        assert!(is_unread(&unread));
        let broken = (&writer).write_all(b"a request").unwrap_err();
        assert_eq!(broken.kind(), ErrorKind::BrokenPipe);
        assert!(!is_unread(&broken));
    }
}
