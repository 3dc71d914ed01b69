//! Lines of the standard input, read by a thread of their own: a read cannot be given up, and the tool
//! must hear of Ctrl-C while nothing comes.

use std::io::{self, BufRead, IsTerminal, Write};

use tokio::sync::mpsc::{Receiver, Sender, channel};

/// Lines that are read before the first of them is sent.
const AHEAD: usize = 100;

pub struct Lines {
    received: Receiver<io::Result<String>>,
}

impl Lines {
    /// Begins to read. The thread ends with the input, or with the process.
    pub fn start() -> Self {
        let (lines, received) = channel(AHEAD);
        std::thread::spawn(move || {
            // As Kafka's does where somebody types.
            let prompts = io::stdin().is_terminal() && io::stdout().is_terminal();
            read_all(&mut io::stdin().lock(), &lines, prompts);
        });
        Self { received }
    }

    /// The next line, or `None` at the end.
    pub async fn next(&mut self) -> Option<io::Result<String>> {
        self.received.recv().await
    }
}

fn read_all(input: &mut impl BufRead, lines: &Sender<io::Result<String>>, prompts: bool) {
    let mut reader = LineBreaks::default();
    loop {
        if prompts {
            let mut out = io::stdout().lock();
            let _ = write!(out, ">").and_then(|()| out.flush());
        }
        let Some(line) = reader.next_line(input).transpose() else {
            return;
        };
        let is_bad = line.is_err();
        // Nobody waits for lines any more, or none can be read.
        if lines.blocking_send(line).is_err() || is_bad {
            return;
        }
    }
}

/// A line ends with `\n`, `\r`, or both (`BufferedReader.readLine`).
#[derive(Debug, Default)]
struct LineBreaks {
    /// The last line ended with `\r`: an `\n` that follows is of it.
    after_return: bool,
}

impl LineBreaks {
    fn next_line(&mut self, input: &mut impl BufRead) -> io::Result<Option<String>> {
        let mut line = Vec::new();
        let mut is_there = false;
        loop {
            let buffer = input.fill_buf()?;
            if buffer.is_empty() {
                return Ok(is_there.then(|| text(&line)));
            }
            if std::mem::take(&mut self.after_return) && buffer[0] == b'\n' {
                input.consume(1);
                continue;
            }
            is_there = true;
            let end = buffer.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            line.extend(&buffer[..end.unwrap_or(buffer.len())]);
            let Some(end) = end else {
                let taken = buffer.len();
                input.consume(taken);
                continue;
            };
            self.after_return = buffer[end] == b'\r';
            input.consume(end + 1);
            return Ok(Some(text(&line)));
        }
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(input: &[u8], at_once: usize) -> Vec<String> {
        let mut input = io::BufReader::with_capacity(at_once, input);
        let mut reader = LineBreaks::default();
        std::iter::from_fn(|| reader.next_line(&mut input).unwrap()).collect()
    }

    #[test]
    fn a_line_ends_in_any_of_three_ways() {
        for at_once in [1, 2, 3, 100] {
            assert_eq!(
                lines(b"a\nb\r\nc\rd\n\n\r\ne", at_once),
                ["a", "b", "c", "d", "", "", "e"]
            );
            assert_eq!(lines(b"a\r\n", at_once), ["a"]);
            assert_eq!(lines(b"", at_once), [""; 0]);
            assert_eq!(lines(b"\xff", at_once), ["\u{fffd}"]);
        }
    }
}
