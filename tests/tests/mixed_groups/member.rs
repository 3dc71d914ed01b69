//! Members of a group: which clients there are, and one as a process.
//!
//! Invariant: no process outlives the value

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use highwater_tests::repository;

use crate::diary::{Diary, Line};

/// The clients that have a program for a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Client {
    Highwater,
    Java,
    Librdkafka,
    FranzGo,
    KafkaPython,
}

impl Client {
    pub fn name(self) -> &'static str {
        match self {
            Self::Highwater => "highwater",
            Self::Java => "java",
            Self::Librdkafka => "librdkafka",
            Self::FranzGo => "franz-go",
            Self::KafkaPython => "kafka-python",
        }
    }

    /// Whether `cargo xtask test --skip NAME` left it out.
    pub fn is_skipped(self) -> bool {
        let called = match self {
            Self::Highwater => return false,
            Self::Java => "java",
            Self::FranzGo => "go",
            Self::Librdkafka | Self::KafkaPython => "python",
        };
        let skipped = std::env::var("HIGHWATER_SKIP").unwrap_or_default();
        skipped.split(',').any(|name| name == called)
    }

    fn command(self) -> Command {
        let built = repository().join("target/clients");
        let python = |program: &str| {
            let mut command = Command::new(built.join("python/bin/python"));
            command.arg(repository().join("tests/clients/python").join(program));
            command
        };
        match self {
            Self::Highwater => {
                let mut command = Command::new(std::env::current_exe().expect("path of the running test"));
                command.arg(crate::own::COMMAND);
                command
            }
            Self::Java => {
                let java = built.join("java");
                let mut command = Command::new("java");
                command.args(["-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]);
                command.args(["-Dlog4j2.level=WARN", "-cp"]);
                command.arg(format!("{0}/classes:{0}/lib/*", java.display()));
                command.arg("Member");
                command
            }
            Self::Librdkafka => python("member_confluent_kafka.py"),
            Self::KafkaPython => python("member_kafka_python.py"),
            Self::FranzGo => {
                let mut command = Command::new(built.join("go/probe"));
                command.arg("member");
                command
            }
        }
    }
}

/// What a member is to join, and how.
#[derive(Clone, Debug)]
pub struct Membership {
    pub bootstrap: String,
    pub topic: String,
    pub group: String,
    pub assignor: &'static str,
    /// When members commit: `often`, or `late`, which is when partitions go.
    pub commits: &'static str,
}

/// A member that reads until it is asked to leave.
pub struct Member {
    pub client: Client,
    /// `client.id` too.
    pub name: String,
    child: Child,
    /// It stays as long as this is held.
    stdin: Option<ChildStdin>,
    may_end: Arc<AtomicBool>,
    diary: Arc<Diary>,
}

impl Member {
    /// Starts it; `number` tells it from others of its client. Who is not heard of for `session_ms` is out.
    pub fn start(
        client: Client,
        number: usize,
        of: &Membership,
        session_ms: u32,
        diary: &Arc<Diary>,
    ) -> Self {
        let name = format!("{}-{number}", client.name());
        let mut command = client.command();
        command.args([&of.bootstrap, &of.topic, &of.group, of.assignor, &name]);
        let mut child = command
            .args([&session_ms.to_string(), of.commits])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|e| panic!("run {command:?}: {e}; `cargo xtask test` builds it"));
        let may_end = Arc::new(AtomicBool::new(false));
        let stdin = child.stdin.take();
        let stdout = child.stdout.take().expect("stdout is piped");
        let stderr = child.stderr.take().expect("stderr is piped");
        listen(
            stderr,
            &name,
            diary,
            |line| Some(Line::Trouble(line.to_owned())),
            |_| (),
        );
        let ends = may_end.clone();
        listen(stdout, &name, diary, Line::parse, move |(who, diary)| {
            if !ends.load(Ordering::SeqCst) {
                diary.fail(format!("{who} has ended, and nobody had asked it to"));
            }
            diary.write(who, Line::End);
        });
        Self {
            client,
            name,
            child,
            stdin,
            may_end,
            diary: diary.clone(),
        }
    }

    /// Lets it leave the group and end, and waits until it has.
    pub fn leave(mut self) {
        self.may_end.store(true, Ordering::SeqCst);
        drop(self.stdin.take());
        self.diary.await_end(&self.name);
        let status = self.child.wait().expect("wait for the member");
        assert!(status.success(), "{} ended with {status}", self.name);
    }

    /// kill -9.
    pub fn kill(mut self) {
        self.may_end.store(true, Ordering::SeqCst);
        self.child.kill().expect("send SIGKILL");
        // What it had said before is heard.
        self.diary.await_end(&self.name);
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        self.may_end.store(true, Ordering::SeqCst);
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn listen(
    pipe: impl Read + Send + 'static,
    who: &str,
    diary: &Arc<Diary>,
    read: impl Fn(&str) -> Option<Line> + Send + 'static,
    end: impl FnOnce((&str, &Diary)) + Send + 'static,
) {
    let (who, diary) = (who.to_owned(), diary.clone());
    std::thread::spawn(move || {
        for text in BufReader::new(pipe).lines().map_while(Result::ok) {
            match read(&text) {
                Some(line) => diary.write(&who, line),
                None => diary.fail(format!("{who} said {text:?}")),
            }
        }
        end((&who, &diary));
    });
}
