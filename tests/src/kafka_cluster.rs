//! Three brokers of Apache Kafka itself, from Maven's jars, to hear what they answer where ours is asked
//! the same. The first is the controller too (KRaft).
//!
//! Invariant: no process outlives the value

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::broker::free_port;
use crate::kafka::kafka_jars;
use crate::requests::metadata;
use crate::wire::WireClient;

const BROKERS: i32 = 3;
const READY_WITHIN: Duration = Duration::from_secs(180);
/// Any: it only has to be the same for all.
const CLUSTER_ID: &str = "aGlnaHdhdGVyLXRlc3RzLQ";

pub struct KafkaCluster {
    directory: TempDir,
    controller_port: u16,
    brokers: Vec<Member>,
}

struct Member {
    port: u16,
    child: Option<Child>,
    paused: bool,
}

impl KafkaCluster {
    /// Starts it with these settings for every broker.
    pub fn start(settings: &[&str]) -> Self {
        let member = |_| Member {
            port: free_port(),
            child: None,
            paused: false,
        };
        let mut cluster = Self {
            directory: tempfile::tempdir().expect("make a temporary directory"),
            controller_port: free_port(),
            brokers: (0..BROKERS).map(member).collect(),
        };
        for id in 1..=BROKERS {
            cluster.format(id, settings);
            cluster.spawn(id);
        }
        for id in 1..=BROKERS {
            cluster.await_all(id, BROKERS as usize);
        }
        cluster
    }

    fn member(&mut self, id: i32) -> &mut Member {
        &mut self.brokers[id as usize - 1]
    }

    pub fn address_of(&self, id: i32) -> String {
        format!("127.0.0.1:{}", self.brokers[id as usize - 1].port)
    }

    pub fn runs(&self, id: i32) -> bool {
        let member = &self.brokers[id as usize - 1];
        member.child.is_some() && !member.paused
    }

    fn properties(&self, id: i32) -> String {
        let file = self.directory.path().join(format!("{id}.properties"));
        file.display().to_string()
    }

    fn format(&self, id: i32, settings: &[&str]) {
        let (port, controller) = (self.brokers[id as usize - 1].port, self.controller_port);
        let data = self.directory.path().join(format!("data-{id}"));
        let (roles, listeners) = match id {
            1 => (
                "broker,controller",
                format!("PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}"),
            ),
            _ => ("broker", format!("PLAINTEXT://127.0.0.1:{port}")),
        };
        let mut text = format!(
            "node.id={id}\nprocess.roles={roles}\nlisteners={listeners}\nlog.dirs={}\n\
             controller.quorum.voters=1@127.0.0.1:{controller}\ncontroller.listener.names=CONTROLLER\n",
            data.display()
        );
        for setting in settings {
            text += setting;
            text += "\n";
        }
        std::fs::write(self.properties(id), text).expect("write the settings");
        let formatted = java(&["kafka.tools.StorageTool", "format", "-t", CLUSTER_ID])
            .args(["-c", &self.properties(id)])
            // What ZooKeeper's way never had.
            .args(["--feature", "eligible.leader.replicas.version=0"])
            .output()
            .expect("run java: `cargo xtask test` says what is missing and how to get it");
        assert!(formatted.status.success(), "{formatted:?}");
    }

    fn spawn(&mut self, id: i32) {
        let output = std::fs::File::create(self.directory.path().join(format!("{id}.output")));
        let output = output.expect("make the output file");
        let child = java(&["kafka.Kafka", &self.properties(id)])
            .stdin(Stdio::null())
            .stdout(output.try_clone().expect("share the output file"))
            .stderr(output)
            .spawn()
            .expect("start java");
        self.member(id).child = Some(child);
    }

    /// Waits until the broker answers and knows of so many.
    fn await_all(&self, id: i32, count: usize) {
        let until = Instant::now() + READY_WITHIN;
        let address = self.address_of(id);
        loop {
            if std::net::TcpStream::connect(&address).is_ok() {
                let told = metadata(&mut WireClient::connect(&address), "no-such-topic", false);
                if told.brokers.len() == count {
                    return;
                }
            }
            let output = || std::fs::read_to_string(self.directory.path().join(format!("{id}.output")));
            assert!(
                Instant::now() < until,
                "broker {id} does not come up\n{}",
                output().unwrap_or_default()
            );
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    fn signal(&mut self, id: i32, signal: &str) {
        let child = self.member(id).child.as_ref().expect("a running broker");
        let sent = Command::new("kill")
            .args([signal, &child.id().to_string()])
            .status();
        assert!(sent.is_ok_and(|status| status.success()), "kill {signal}");
    }

    pub fn stop(&mut self, id: i32) {
        self.signal(id, "-TERM");
        if let Some(mut child) = self.member(id).child.take() {
            child.wait().expect("wait for the broker");
        }
    }

    pub fn kill(&mut self, id: i32) {
        self.member(id).paused = false;
        if let Some(mut child) = self.member(id).child.take() {
            child.kill().expect("send SIGKILL");
            child.wait().expect("wait for the broker");
        }
    }

    pub fn pause(&mut self, id: i32) {
        self.signal(id, "-STOP");
        self.member(id).paused = true;
    }

    pub fn start_again(&mut self, id: i32) {
        self.spawn(id);
        let running = (1..=BROKERS).filter(|id| self.runs(*id)).count();
        self.await_all(id, running);
    }
}

fn java(arguments: &[&str]) -> Command {
    let mut java = Command::new("java");
    java.args(["-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp"]);
    java.arg(kafka_jars().join("*"));
    java.args(arguments);
    java
}

impl Drop for KafkaCluster {
    fn drop(&mut self) {
        for id in 1..=BROKERS {
            self.kill(id);
        }
    }
}
