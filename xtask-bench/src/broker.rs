//! What is under measurement: Highwater's release binary or Apache Kafka, one broker or three, as
//! processes of their own with a fresh directory.
//!
//! Invariants
//! - no process outlives the value, nor does its directory
//! - each broker of a value that was returned has answered a request, and three know each other

use std::fs::File;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::meter::{self, Cpu, Memory};
use crate::zookeeper::ZooKeeper;
use crate::{Result, at, kafka, said, topics};

/// No broker takes so long to start, unless something is broken.
const LONGEST: Duration = Duration::from_secs(60);
/// How long a broker may be silent before it counts as dead: Kafka's `broker.session.timeout.ms`.
pub const SESSION_MS: u32 = 9000;
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

/// How many brokers, and whether each is a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    One,
    /// A cluster to try: Highwater's three in one process (`up`), Kafka's in three.
    Three,
    /// Three processes; Highwater's with a ZooKeeper, whose processor time and memory do not count.
    Apart,
}

pub struct Broker {
    name: &'static str,
    processes: Vec<Process>,
    ports: Vec<u16>,
    directory: PathBuf,
    _zookeeper: Option<ZooKeeper>,
    /// From the start of the first process until all had answered.
    pub first_answer: Duration,
}

/// A process, and how it is started again.
struct Process {
    command: Command,
    child: Child,
}

impl Broker {
    /// Starts it in an empty directory of this name under `out`, with the settings it comes with.
    pub fn start(system: &System, shape: Shape, out: &Path, directory: &str) -> Result<Self> {
        let name = system.name();
        let directory = out.join(format!("{}-{directory}", name.to_lowercase()));
        if directory.exists() {
            at(&directory, std::fs::remove_dir_all(&directory))?;
        }
        at(&directory, std::fs::create_dir_all(&directory))?;
        let zookeeper = match (system, shape) {
            (System::Highwater { .. }, Shape::Apart) => Some(ZooKeeper::start(&directory)?),
            _ => None,
        };
        let ports = free_ports(if shape == Shape::One { 1 } else { 3 })?;
        let mut commands = match (system, shape) {
            (System::Highwater { binary }, Shape::Three) => {
                vec![highwater_up(binary, &directory, &ports, free_ports(1)?[0])]
            }
            (System::Highwater { binary }, _) => {
                let connect = zookeeper.as_ref().map(ZooKeeper::address);
                highwater(binary, &directory, &ports, connect.as_deref())?
            }
            (System::Kafka { jars }, _) => kafka::brokers(jars, &directory, &ports)?,
        };
        let log = out.join(format!("{}.log", name.to_lowercase()));
        let log = at(&log, File::options().create(true).append(true).open(&log))?;
        for command in &mut commands {
            let (one, two) = (log.try_clone().map_err(said)?, log.try_clone().map_err(said)?);
            command.stdin(Stdio::null()).stdout(one).stderr(two);
        }
        let began = Instant::now();
        let mut broker = Self {
            name,
            processes: Vec::with_capacity(commands.len()),
            ports,
            directory,
            _zookeeper: zookeeper,
            first_answer: Duration::ZERO,
        };
        for mut command in commands {
            let child = command.spawn().map_err(|e| format!("cannot start {name}: {e}"))?;
            broker.processes.push(Process { command, child });
        }
        broker.wait_for_answers(began)?;
        broker.first_answer = began.elapsed();
        Ok(broker)
    }

    /// `host:port` for clients, of each broker.
    pub fn address(&self) -> String {
        let addresses: Vec<String> = self
            .ports
            .iter()
            .map(|port| format!("127.0.0.1:{port}"))
            .collect();
        addresses.join(",")
    }

    /// Of each partition.
    pub fn replicas(&self) -> i32 {
        self.ports.len() as i32
    }

    /// All processes together.
    pub fn cpu(&self) -> Result<Cpu> {
        let each = self
            .processes
            .iter()
            .map(|process| meter::cpu_of(process.child.id()));
        each.sum()
    }

    /// All processes together.
    pub fn memory(&self) -> Result<Memory> {
        let each = self
            .processes
            .iter()
            .map(|process| meter::memory_of(process.child.id()));
        each.sum()
    }

    /// A connection that has had its first answer.
    pub fn connect(&self) -> std::io::Result<TcpStream> {
        connect(self.ports[0])
    }

    /// The process of broker `id` (they count from 1) gets the signal; ends when it has ended.
    pub fn end(&mut self, id: i32, signal: Signal) -> Result<()> {
        let process = &mut self.processes[id as usize - 1];
        let pid = Pid::from_child(&process.child);
        kill_process(pid, signal).map_err(|e| format!("cannot end broker {id}: {e}"))?;
        process.child.wait().map_err(said)?;
        Ok(())
    }

    /// Starts broker `id` again on what it left.
    pub fn start_again(&mut self, id: i32) -> Result<()> {
        let process = &mut self.processes[id as usize - 1];
        process.child = process
            .command
            .spawn()
            .map_err(|e| format!("cannot start broker {id}: {e}"))?;
        self.wait_for_answers(Instant::now())
    }

    fn wait_for_answers(&mut self, began: Instant) -> Result<()> {
        for port in self.ports.clone() {
            while connect(port).is_err() {
                self.still_starting(began)?;
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        while self.ports.len() > 1 && topics::brokers(&self.address())? < self.ports.len() {
            self.still_starting(began)?;
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }

    fn still_starting(&mut self, began: Instant) -> Result<()> {
        for process in &mut self.processes {
            let ended = process.child.try_wait().map_err(said)?;
            if ended.is_some() || began.elapsed() > LONGEST {
                let log = format!("{}.log", self.name.to_lowercase());
                return Err(format!("{} did not start; see target/bench/{log}", self.name));
            }
        }
        Ok(())
    }
}

fn connect(port: u16) -> std::io::Result<TcpStream> {
    let mut stream = TcpStream::connect(SocketAddrV4::new(Ipv4Addr::LOCALHOST, port))?;
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    stream.write_all(&API_VERSIONS)?;
    let mut length = [0; 4];
    stream.read_exact(&mut length)?;
    let mut answer = vec![0; (u32::from_be_bytes(length) as usize).min(1 << 16)];
    stream.read_exact(&mut answer)?;
    Ok(stream)
}

impl Drop for Broker {
    fn drop(&mut self) {
        for process in &mut self.processes {
            let _ = process.child.kill();
            let _ = process.child.wait();
        }
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

/// A `server` a port. The session of those that have a ZooKeeper is as long as Kafka's.
fn highwater(binary: &Path, directory: &Path, ports: &[u16], connect: Option<&str>) -> Result<Vec<Command>> {
    let command = |(id, port): (usize, &u16)| {
        let data = directory.join(format!("data-{id}"));
        let mut properties = format!(
            "broker.id={id}\nlisteners=PLAINTEXT://127.0.0.1:{port}\n\
             offsets.topic.replication.factor={}\nlog.dirs={}\n",
            ports.len(),
            data.display()
        );
        if let Some(connect) = connect {
            properties +=
                &format!("zookeeper.connect={connect}\nzookeeper.session.timeout.ms={SESSION_MS}\n");
        }
        let file = directory.join(format!("server-{id}.properties"));
        at(&file, std::fs::write(&file, properties))?;
        let mut command = Command::new(binary);
        command.arg("server").arg(&file);
        Ok(command)
    };
    (1..).zip(ports).map(command).collect()
}

/// One process of as many brokers as there are ports, and its page.
pub fn highwater_up(binary: &Path, directory: &Path, ports: &[u16], page: u16) -> Command {
    let mut command = Command::new(binary);
    command.args(["up", "--brokers", &ports.len().to_string()]);
    command.args([
        "--port",
        &ports[0].to_string(),
        "--http",
        &format!("127.0.0.1:{page}"),
    ]);
    command.arg("--data").arg(directory.join("data"));
    command
}

/// Ports one after the other that nobody has.
pub fn free_ports(count: u16) -> Result<Vec<u16>> {
    for _ in 0..100 {
        let first = TcpListener::bind(("127.0.0.1", 0)).map_err(|e| format!("no free port: {e}"))?;
        let port = first.local_addr().map_err(said)?.port();
        let Some(end) = port.checked_add(count) else {
            continue;
        };
        let rest: std::io::Result<Vec<_>> = (port + 1..end)
            .map(|port| TcpListener::bind(("127.0.0.1", port)))
            .collect();
        if rest.is_ok() {
            return Ok((port..end).collect());
        }
    }
    Err(format!("there are no {count} free ports one after the other"))
}
