//! A broker under measurement: Highwater's release binary or Apache Kafka, a process of its own with
//! a fresh directory.
//!
//! Invariants
//! - the process never outlives the value, nor does its directory
//! - a value that was returned has answered a request

use std::fs::File;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::meter::{self, Cpu, Memory};
use crate::{Result, at, kafka, said};

/// No broker takes so long to start, unless something is broken.
const LONGEST: Duration = Duration::from_secs(60);
/// ApiVersions v0, correlation 1, no client id, behind its length.
const API_VERSIONS: [u8; 14] = [0, 0, 0, 10, 0, 18, 0, 0, 0, 0, 0, 1, 0xff, 0xff];

/// What is measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum System {
    Highwater { binary: PathBuf },
    Kafka { jars: PathBuf },
}

impl System {
    pub fn name(&self) -> &'static str {
        match self {
            Self::Highwater { .. } => "Highwater",
            Self::Kafka { .. } => "Kafka",
        }
    }
}

pub struct Broker {
    name: &'static str,
    child: Child,
    port: u16,
    directory: PathBuf,
    /// From the start of the process to its first answer.
    pub first_answer: Duration,
}

impl Broker {
    /// Starts it in an empty directory of this name under `out`, with the settings it comes with.
    pub fn start(system: &System, out: &Path, directory: &str) -> Result<Self> {
        let name = system.name();
        let directory = out.join(format!("{}-{directory}", name.to_lowercase()));
        if directory.exists() {
            at(&directory, std::fs::remove_dir_all(&directory))?;
        }
        at(&directory, std::fs::create_dir_all(&directory))?;
        let port = free_port()?;
        let mut command = match system {
            System::Highwater { binary } => highwater(binary, &directory, port)?,
            System::Kafka { jars } => kafka::broker(jars, &directory, port, free_port()?)?,
        };
        let log = out.join(format!("{}.log", name.to_lowercase()));
        let log = at(&log, File::options().create(true).append(true).open(&log))?;
        let again = log.try_clone().map_err(said)?;
        command.stdin(Stdio::null()).stdout(log).stderr(again);
        let began = Instant::now();
        let child = command.spawn().map_err(|e| format!("cannot start {name}: {e}"))?;
        let mut broker = Self {
            name,
            child,
            port,
            directory,
            first_answer: Duration::ZERO,
        };
        broker.wait_for_answer(began)?;
        broker.first_answer = began.elapsed();
        Ok(broker)
    }

    /// `host:port` for clients.
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    pub fn cpu(&self) -> Result<Cpu> {
        meter::cpu_of(self.child.id())
    }

    pub fn memory(&self) -> Result<Memory> {
        meter::memory_of(self.child.id())
    }

    /// A connection that has had its first answer.
    pub fn connect(&self) -> std::io::Result<TcpStream> {
        let mut stream = TcpStream::connect(SocketAddrV4::new(Ipv4Addr::LOCALHOST, self.port))?;
        stream.set_read_timeout(Some(Duration::from_secs(10)))?;
        stream.write_all(&API_VERSIONS)?;
        let mut length = [0; 4];
        stream.read_exact(&mut length)?;
        let mut answer = vec![0; (u32::from_be_bytes(length) as usize).min(1 << 16)];
        stream.read_exact(&mut answer)?;
        Ok(stream)
    }

    fn wait_for_answer(&mut self, began: Instant) -> Result<()> {
        while self.connect().is_err() {
            let ended = self.child.try_wait().map_err(said)?;
            if ended.is_some() || began.elapsed() > LONGEST {
                let log = format!("{}.log", self.name.to_lowercase());
                return Err(format!("{} did not start; see target/bench/{log}", self.name));
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

fn highwater(binary: &Path, directory: &Path, port: u16) -> Result<Command> {
    let properties = format!(
        "broker.id=1\nlisteners=PLAINTEXT://127.0.0.1:{port}\nlog.dirs={}\n",
        directory.join("data").display()
    );
    let file = directory.join("server.properties");
    at(&file, std::fs::write(&file, properties))?;
    let mut command = Command::new(binary);
    command.arg("server").arg(&file);
    Ok(command)
}

fn free_port() -> Result<u16> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).map_err(|e| format!("no free port: {e}"))?;
    Ok(listener.local_addr().map_err(said)?.port())
}
