//! A real ZooKeeper for a test: Debian's, with a directory and a port of its own, gone with the value.
//!
//! Invariants
//! - a value that was returned takes connections
//! - the process never outlives the value

use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// Where Debian's package puts it; its manifest names what else is needed.
const JAR: &str = "/usr/share/java/zookeeper.jar";
/// A server that has not come up within so long is broken; never reached by one that works.
const READY_WITHIN: Duration = Duration::from_secs(60);

/// One ZooKeeper server.
pub struct TestZooKeeper {
    child: Option<Child>,
    port: u16,
    directory: TempDir,
}

impl TestZooKeeper {
    /// Starts a server that takes session timeouts from 200 ms on.
    pub fn start() -> Self {
        let directory = tempfile::tempdir().expect("make a temporary directory");
        let port = free_port();
        let settings = format!(
            "dataDir={}\nclientPort={port}\nclientPortAddress=127.0.0.1\ntickTime=100\nminSessionTimeout=200\n\
             maxSessionTimeout=60000\nadmin.enableServer=false\nmaxClientCnxns=0\n",
            directory.path().display()
        );
        std::fs::write(directory.path().join("zoo.cfg"), settings).expect("write the settings");
        let mut server = Self {
            child: None,
            port,
            directory,
        };
        server.start_again();
        server
    }

    /// What `zookeeper.connect` says, without a chroot.
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Writes a node's bytes, whatever they are.
    pub fn set(&self, path: &str, bytes: &str) {
        let set = Command::new("java")
            .args(["-Xmx64m", "-cp", JAR, "org.apache.zookeeper.ZooKeeperMain"])
            .args(["-server", &self.address(), "set", path, bytes])
            .output()
            .expect("run java");
        assert!(set.status.success(), "set {path}: {set:?}");
    }

    /// kill -9.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Starts it once more on what it left.
    pub fn start_again(&mut self) {
        self.kill();
        let log = std::fs::File::create(self.directory.path().join("output")).expect("make the output file");
        let child = Command::new("java")
            .args([
                "-Xmx128m",
                "-cp",
                JAR,
                "org.apache.zookeeper.server.ZooKeeperServerMain",
            ])
            .arg(self.directory.path().join("zoo.cfg"))
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("share the output file"))
            .stderr(log)
            .spawn()
            .expect("start java");
        self.child = Some(child);
        self.wait_until_ready();
    }

    /// Stops it in its tracks, or lets it go on: its connections stay, and nobody is answered.
    pub fn pause(&self, paused: bool) {
        let child = self.child.as_ref().expect("a running server");
        let signal = if paused { "-STOP" } else { "-CONT" };
        let sent = Command::new("kill")
            .args([signal, &child.id().to_string()])
            .status();
        assert!(sent.is_ok_and(|status| status.success()), "kill {signal}");
    }

    fn wait_until_ready(&mut self) {
        let until = Instant::now() + READY_WITHIN;
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            let ended = self
                .child
                .as_mut()
                .and_then(|child| child.try_wait().ok())
                .flatten();
            let output = || read_output(self.directory.path());
            assert!(ended.is_none(), "ZooKeeper ended: {ended:?}\n{}", output());
            assert!(Instant::now() < until, "ZooKeeper does not come up\n{}", output());
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for TestZooKeeper {
    fn drop(&mut self) {
        self.kill();
    }
}

fn read_output(directory: &Path) -> String {
    std::fs::read_to_string(directory.join("output")).unwrap_or_default()
}

fn free_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("bind any port");
    listener.local_addr().expect("a bound port").port()
}
