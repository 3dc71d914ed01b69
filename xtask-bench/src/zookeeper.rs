//! Debian's ZooKeeper for three brokers that are processes: they find each other by it.
//!
//! Invariants
//! - a value that was returned takes connections
//! - the process never outlives the value

use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::broker::free_ports;
use crate::{Result, at, said};

/// Where Debian's package puts it; its manifest names what else is needed.
const JAR: &str = "/usr/share/java/zookeeper.jar";
const LONGEST: Duration = Duration::from_secs(60);

pub struct ZooKeeper {
    child: Child,
    port: u16,
}

/// Whether it is installed.
pub fn is_there() -> bool {
    Path::new(JAR).is_file()
}

impl ZooKeeper {
    /// Keeps its files under `directory`. Its tick is short, so that the end of a session is seen soon.
    pub fn start(directory: &Path) -> Result<Self> {
        let port = free_ports(1)?[0];
        let data = directory.join("zookeeper");
        at(&data, std::fs::create_dir_all(&data))?;
        let settings = format!(
            "dataDir={}\nclientPort={port}\nclientPortAddress=127.0.0.1\ntickTime=100\n\
             minSessionTimeout=200\nmaxSessionTimeout=60000\nadmin.enableServer=false\n",
            data.display()
        );
        let file = data.join("zoo.cfg");
        at(&file, std::fs::write(&file, settings))?;
        let child = Command::new("java")
            .args([
                "-Xmx256m",
                "-cp",
                JAR,
                "org.apache.zookeeper.server.ZooKeeperServerMain",
            ])
            .arg(&file)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|e| format!("cannot start ZooKeeper by java: {e}"))?;
        let mut zookeeper = Self { child, port };
        zookeeper.wait_until_ready()?;
        Ok(zookeeper)
    }

    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    fn wait_until_ready(&mut self) -> Result<()> {
        let began = Instant::now();
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            if self.child.try_wait().map_err(said)?.is_some() || began.elapsed() > LONGEST {
                return Err(format!("ZooKeeper ({JAR}) does not start"));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }
}

impl Drop for ZooKeeper {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
