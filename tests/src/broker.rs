//! A real broker for a test: its own process, port and directory, gone when the value is dropped.
//!
//! ```no_run
//! # use highwater_tests::broker::TestBroker;
//! let broker = TestBroker::start(&["auto.create.topics.enable=false"]);
//! println!("point a client at {}", broker.address());
//! ```
//!
//! Invariants
//! - a value that was returned is ready: the broker said so itself, nothing is polled
//! - the process never outlives the value, and the directory never outlives both

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use tempfile::TempDir;

/// What `highwater` prints on stdout once it takes connections holds this word.
const READY: &str = "listening";
/// A broker that has said nothing for so long is broken; never reached by one that works.
const READY_WITHIN: Duration = Duration::from_secs(60);

/// One `highwater server` process with a data directory of its own.
pub struct TestBroker {
    child: Option<Child>,
    port: u16,
    http_port: Option<u16>,
    directory: Arc<TempDir>,
    overrides: Vec<String>,
    log: Arc<Printed>,
    /// What its earlier lives printed.
    earlier: String,
}

impl TestBroker {
    /// Starts a broker with an empty directory; `overrides` are lines of `server.properties`.
    pub fn start(overrides: &[&str]) -> Self {
        let directory = tempfile::Builder::new()
            .prefix("highwater-test-")
            .tempdir()
            .expect("make a temporary directory");
        let overrides = overrides.iter().map(ToString::to_string).collect();
        Self::start_in(Arc::new(directory), free_port(), None, overrides)
    }

    /// Starts a member of a cluster, with a directory and a broker id of its own.
    pub fn start_member(id: i32, overrides: &[&str]) -> Self {
        let directory = Arc::new(tempfile::tempdir().expect("make a temporary directory"));
        let mut all = vec![format!("broker.id={id}")];
        all.extend(overrides.iter().map(ToString::to_string));
        Self::start_in(directory, free_port(), None, all)
    }

    /// Starts `highwater up` with so many brokers on ports of their own and `directory/data`; the
    /// address is the first one's.
    pub fn start_up(directory: Arc<TempDir>, port: u16, brokers: u16) -> Self {
        let http_port = free_port();
        let mut command = Command::new(binary());
        command.args([
            "up",
            "--brokers",
            &brokers.to_string(),
            "--port",
            &port.to_string(),
        ]);
        command.args(["--http", &format!("127.0.0.1:{http_port}")]);
        command.arg("--data").arg(directory.path().join("data"));
        Self::started(command, directory, port, Some(http_port), Vec::new())
    }

    /// A broker with metrics and health: `highwater server FILE --http HOST:PORT`.
    pub fn start_with_http(overrides: &[&str]) -> Self {
        let directory = Arc::new(tempfile::tempdir().expect("make a temporary directory"));
        let overrides = overrides.iter().map(ToString::to_string).collect();
        Self::start_in(directory, free_port(), Some(free_port()), overrides)
    }

    /// Starts a broker that may let no file grow beyond so many bytes (rounded to 512): writes past
    /// that fail, as on a disk that is full.
    pub fn start_with_file_limit(overrides: &[&str], most_bytes: u64) -> Self {
        let directory = Arc::new(tempfile::tempdir().expect("make a temporary directory"));
        let overrides: Vec<String> = overrides.iter().map(ToString::to_string).collect();
        let port = free_port();
        // Without the trap the system would end the process that writes too much.
        let limited = format!("trap '' XFSZ; ulimit -f {}; exec \"$0\" \"$@\"", most_bytes / 512);
        let mut command = Command::new("sh");
        command.arg("-c").arg(limited).arg(binary());
        command.args(server(directory.path(), port, &overrides));
        Self::started(command, directory, port, None, overrides)
    }

    /// Starts `highwater up --brokers 1`: the broker together with its page.
    pub fn start_with_page() -> Self {
        let directory = Arc::new(tempfile::tempdir().expect("make a temporary directory"));
        Self::start_up(directory, free_port(), 1)
    }

    fn start_in(directory: Arc<TempDir>, port: u16, http_port: Option<u16>, overrides: Vec<String>) -> Self {
        let mut command = Command::new(binary());
        command.args(server(directory.path(), port, &overrides));
        if let Some(http_port) = http_port {
            command.args(["--http", &format!("127.0.0.1:{http_port}")]);
        }
        Self::started(command, directory, port, http_port, overrides)
    }

    fn started(
        command: Command,
        directory: Arc<TempDir>,
        port: u16,
        http_port: Option<u16>,
        overrides: Vec<String>,
    ) -> Self {
        let (child, log) = spawn_until_ready(command);
        Self {
            child: Some(child),
            port,
            http_port,
            directory,
            overrides,
            log,
            earlier: String::new(),
        }
    }

    /// `host:port` for clients.
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Where the page is; only after [`start_up`](Self::start_up) or
    /// [`start_with_http`](Self::start_with_http).
    pub fn page_address(&self) -> String {
        let port = self.http_port.expect("this broker serves no page");
        format!("http://127.0.0.1:{port}/")
    }

    /// The status line, and the body, of what its page answers.
    pub fn get(&self, path: &str) -> (String, String) {
        let address = self.page_address();
        let host = address.trim_start_matches("http://").trim_end_matches('/');
        let mut stream = TcpStream::connect(host).expect("connect to the page");
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
        )
        .expect("ask");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
        let status = head.lines().next().unwrap_or_default();
        (status.to_owned(), body.to_owned())
    }

    /// The log directory (`log.dirs`).
    pub fn data(&self) -> PathBuf {
        self.directory.path().join("data")
    }

    /// The file that it was started from.
    pub fn properties(&self) -> PathBuf {
        self.directory.path().join("server.properties")
    }

    /// All that the broker has printed since it was last started.
    pub fn log(&self) -> String {
        self.log.text()
    }

    /// All that it has printed in all its lives.
    pub fn whole_log(&self) -> String {
        self.earlier.clone() + &self.log()
    }

    /// Waits until the broker has printed a line that holds `words`, and answers the first such line.
    pub fn wait_for_line(&self, words: &str) -> String {
        self.log
            .wait_for_line(words)
            .unwrap_or_else(|| panic!("the broker never said {words:?}; it printed:\n{}", self.log()))
    }

    /// The broker's process id.
    pub fn pid(&self) -> u32 {
        self.child.as_ref().expect("the broker was stopped").id()
    }

    /// Stops it in its tracks (SIGSTOP), or lets it go on: its connections stay, and nobody is answered.
    pub fn pause(&self, paused: bool) {
        let signal = if paused { "-STOP" } else { "-CONT" };
        let sent = Command::new("kill")
            .args([signal, &self.pid().to_string()])
            .status();
        assert!(sent.is_ok_and(|status| status.success()), "kill {signal}");
    }

    /// Asks it to stop (SIGTERM) and waits until it has; answers how it ended.
    pub fn stop(&mut self) -> ExitStatus {
        let mut child = self.child.take().expect("the broker was stopped before");
        let asked = Command::new("kill").arg(child.id().to_string()).status();
        assert!(asked.is_ok_and(|s| s.success()), "send SIGTERM");
        child.wait().expect("wait for the broker")
    }

    /// Ends it as a power cut would end a process: no handler runs (SIGKILL).
    pub fn kill(&mut self) {
        let mut child = self.child.take().expect("the broker was stopped before");
        child.kill().expect("send SIGKILL");
        child.wait().expect("wait for the broker");
    }

    /// Waits until it has ended by itself; answers how.
    pub fn wait_until_ended(&mut self) -> ExitStatus {
        assert!(
            self.log.wait_until_silent(),
            "the broker goes on:\n{}",
            self.log()
        );
        let mut child = self.child.take().expect("the broker was stopped before");
        child.wait().expect("wait for the broker")
    }

    /// Starts it again after [`stop`](Self::stop) or [`kill`](Self::kill), on the same port and files.
    pub fn restart(&mut self) {
        assert!(self.child.is_none(), "stop the broker first");
        let (directory, overrides) = (self.directory.clone(), self.overrides.clone());
        self.log.wait_until_silent();
        let earlier = self.whole_log();
        *self = Self::start_in(directory, self.port, self.http_port, overrides);
        self.earlier = earlier;
    }
}

impl Drop for TestBroker {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
        if std::thread::panicking() {
            eprintln!("--- the broker's output\n{}", self.whole_log());
        }
    }
}

/// The command that runs a broker whose properties and data are in the directory.
fn server(directory: &Path, port: u16, overrides: &[String]) -> Vec<OsString> {
    let mut properties = format!(
        "broker.id=1\nlisteners=PLAINTEXT://127.0.0.1:{port}\nlog.dirs={}\n",
        directory.join("data").display()
    );
    for line in overrides {
        properties.push_str(line);
        properties.push('\n');
    }
    let file = directory.join("server.properties");
    std::fs::write(&file, properties).expect("write server.properties");
    vec!["server".into(), file.into()]
}

/// Runs the binary with these arguments until it ends by itself; how it ended, and what it printed.
pub fn run_to_end(arguments: &[OsString]) -> (ExitStatus, String) {
    let mut command = Command::new(binary());
    let (mut child, log) = spawn(command.args(arguments), |_| ());
    if !log.wait_until_silent() {
        let _ = child.kill();
    }
    (child.wait().expect("wait for the process"), log.text())
}

/// What the broker has printed, and a bell that rings for each line and at the end.
#[derive(Default)]
struct Printed {
    text: Mutex<String>,
    /// Of stdout and stderr, those that have ended.
    ended: AtomicUsize,
    grown: Condvar,
}

/// A line that a broker owes comes within this time; never reached by one that works.
const LINE_WITHIN: Duration = Duration::from_secs(60);

impl Printed {
    fn push(&self, line: &str) {
        if let Ok(mut text) = self.text.lock() {
            text.push_str(line);
            text.push('\n');
        }
        self.grown.notify_all();
    }

    fn text(&self) -> String {
        self.text.lock().map(|text| text.clone()).unwrap_or_default()
    }

    fn end(&self) {
        self.ended.fetch_add(1, Ordering::SeqCst);
        // Nobody who has looked and not begun to wait may miss the bell.
        drop(self.text.lock());
        self.grown.notify_all();
    }

    /// Waits until both stdout and stderr have ended; false when they do not.
    fn wait_until_silent(&self) -> bool {
        let Ok(text) = self.text.lock() else { return false };
        let goes_on = |_: &mut String| self.ended.load(Ordering::SeqCst) < 2;
        let waited = self.grown.wait_timeout_while(text, LINE_WITHIN, goes_on);
        waited.is_ok_and(|(_, waited)| !waited.timed_out())
    }

    fn wait_for_line(&self, words: &str) -> Option<String> {
        let find = |text: &str| text.lines().find(|line| line.contains(words)).map(str::to_owned);
        let text = self.text.lock().ok()?;
        let waited = self
            .grown
            .wait_timeout_while(text, LINE_WITHIN, |text| find(text).is_none());
        waited.ok().and_then(|(text, _)| find(&text))
    }
}

/// The `highwater` binary of the same profile as the running test.
pub fn binary() -> PathBuf {
    let this = std::env::current_exe().expect("path of the running test");
    let path = this
        .ancestors()
        .nth(2)
        .unwrap_or(Path::new("."))
        .join("highwater");
    assert!(
        path.exists(),
        "{} is not built: run `cargo build --profile ci -p highwater`, or `cargo xtask test`",
        path.display()
    );
    path
}

/// A port that was free a moment ago on the loopback interface.
pub fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("bind a free port");
    listener.local_addr().expect("address of a bound socket").port()
}

/// The first of so many ports in a row that were free a moment ago.
pub fn free_ports(count: u16) -> u16 {
    loop {
        let first = free_port();
        let is_free = |port| TcpListener::bind(("127.0.0.1", port)).is_ok();
        if first < u16::MAX - count && (first..first + count).all(is_free) {
            return first;
        }
    }
}

/// Starts the command and waits for its ready line.
fn spawn_until_ready(mut command: Command) -> (Child, Arc<Printed>) {
    let (ready, is_ready) = channel();
    let (mut child, log) = spawn(&mut command, move |line| {
        if line.contains(READY) {
            let _ = ready.send(());
        }
    });
    let why = match is_ready.recv_timeout(READY_WITHIN) {
        Ok(()) => return (child, log),
        Err(RecvTimeoutError::Timeout) => "said not that it is ready",
        Err(RecvTimeoutError::Disconnected) => "ended before it was ready",
    };
    let _ = child.kill();
    let status = child.wait();
    panic!("the broker {why} ({status:?}); it printed:\n{}", log.text());
}

/// Starts the command; what it prints is kept and never blocks it, and `seen` gets each line of stdout.
fn spawn(command: &mut Command, seen: impl FnMut(&str) + Send + 'static) -> (Child, Arc<Printed>) {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|e| panic!("start {command:?}: {e}"));
    let log = Arc::new(Printed::default());
    let stdout = child.stdout.take().expect("stdout is piped");
    let stderr = child.stderr.take().expect("stderr is piped");
    collect_lines(stdout, log.clone(), seen);
    collect_lines(stderr, log.clone(), |_| ());
    (child, log)
}

fn collect_lines(
    pipe: impl Read + Send + 'static,
    log: Arc<Printed>,
    mut seen: impl FnMut(&str) + Send + 'static,
) {
    std::thread::spawn(move || {
        for line in BufReader::new(pipe).lines().map_while(Result::ok) {
            log.push(&line);
            seen(&line);
        }
        log.end();
    });
}
