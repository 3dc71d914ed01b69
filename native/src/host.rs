//! Puts brokers together and runs them until they are told to stop.
//!
//! ```text
//! bind ports, lock directories -> boot the core -> recover -> accept -> signal -> Shutdown -> Stopped
//! ```

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use highwater_core::broker::{Boot, BootDir, Broker};
use highwater_core::config::{BrokerConfig, Endpoint};
use highwater_core::error::DiskError;
use highwater_core::io::Input;
use highwater_core::trace::Trace;
use highwater_core::types::BrokerId;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use thiserror::Error;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use crate::clock::Clock;
use crate::coordination::{Embedded, EmbeddedError, ZooKeeper, ZooKeeperConfig};
use crate::disk::{Disk, LockError, disk_error};
use crate::driver::{Driver, Stage, Untraced};
use crate::server::{BindError, Bound, Connections, Limits, Workers, accept, bind};

/// Below this many descriptors a broker with some hundred partitions runs short.
const FEW_DESCRIPTORS: u64 = 4096;
/// Descriptors for what is neither an open log file nor a client: jobs, files being replaced, reactors, the page.
const OTHER_DESCRIPTORS: u64 = 128;
/// Threads for jobs: they read, and recovery reads whole logs.
const POOL_THREADS: usize = 8;
/// How long a stop waits for the coordination service to take its leave.
const SESSION_END: Duration = Duration::from_secs(3);
/// How often silent connections are looked for.
const SWEEP_EVERY: Duration = Duration::from_secs(5);

/// Why a broker did not start, or did not end well; one line each.
#[derive(Debug, Error)]
pub enum HostError {
    #[error(transparent)]
    Bind(#[from] BindError),
    #[error(transparent)]
    Directory(#[from] LockError),
    #[error(transparent)]
    Coordination(#[from] EmbeddedError),
    #[error("no log directory of {count} can be used; the first: {first}")]
    NoDirectory { count: usize, first: String },
    #[error("{what}: {error}")]
    System {
        what: &'static str,
        error: std::io::Error,
    },
    #[error("the broker stopped: {0}")]
    Failed(String),
}

/// Where the running brokers can be reached.
#[derive(Debug)]
pub struct Addresses {
    /// Of each broker, its listeners.
    pub brokers: Vec<Vec<Endpoint>>,
    pub page: Option<SocketAddr>,
}

/// What shall run in this process.
#[derive(Debug)]
pub struct Plan<'a> {
    pub brokers: &'a [BrokerConfig],
    /// Where the coordination service of brokers without `zookeeper.connect` keeps its files.
    pub coordination: PathBuf,
    /// Where the page, metrics and health are served.
    pub page: Option<(String, u16)>,
}

/// A broker that is put together.
struct Running {
    id: BrokerId,
    driver: Arc<Driver>,
    sockets: Vec<Bound>,
}

/// Runs brokers until SIGTERM or Ctrl-C (a second one ends the process at once). `ready` is called
/// when all of them accept connections.
pub fn run(plan: &Plan, ready: impl FnOnce(&Addresses)) -> Result<(), HostError> {
    let descriptors = raise_descriptor_limit() / plan.brokers.len().max(1) as u64;
    let bind_all = |config: &BrokerConfig| {
        let endpoints = config.listeners.iter();
        let bound = endpoints.map(|endpoint| bind(&endpoint.host, endpoint.port));
        bound.collect::<Result<Vec<Bound>, BindError>>()
    };
    let sockets = plan.brokers.iter().map(bind_all).collect::<Result<Vec<_>, _>>()?;
    let page = plan
        .page
        .as_ref()
        .map(|(host, port)| bind(host, *port))
        .transpose()?;
    let told = plan.brokers.iter().zip(&sockets);
    let addresses = Addresses {
        brokers: told
            .map(|(config, sockets)| told_addresses(config, sockets))
            .collect(),
        page: page.as_ref().map(|bound| bound.address),
    };
    let main = runtime(POOL_THREADS)?;
    let workers = Arc::new(start_workers()?);
    let mut running = Vec::new();
    let mut embedded = None;
    for ((config, sockets), advertised) in plan.brokers.iter().zip(sockets).zip(&addresses.brokers) {
        let driver = put_together(config, advertised, descriptors, &main)?;
        driver.speak_to_peers(config, workers.handles());
        match &config.zookeeper_connect {
            Some(connect) => {
                let zookeeper = ZooKeeperConfig {
                    connect: connect.clone(),
                    connection_timeout_ms: config.zookeeper_connection_timeout_ms,
                };
                driver.coordinate_with(|tell| ZooKeeper::new(zookeeper, main.handle().clone(), tell));
            }
            None => {
                let service = match embedded.take() {
                    Some(service) => service,
                    None => Embedded::open(&plan.coordination, Embedded::options(), Clock::system())?,
                };
                driver.coordinate_with(|tell| service.attach(tell));
                embedded = Some(service);
            }
        }
        running.push(Running {
            id: config.node_id,
            driver,
            sockets,
        });
    }
    let result = main.block_on(serve(running, page, workers, move || ready(&addresses)));
    drop(embedded);
    // Jobs that still run only read; nobody waits for them.
    main.shutdown_background();
    result
}

fn put_together(
    config: &BrokerConfig,
    advertised: &[Endpoint],
    descriptors: u64,
    main: &tokio::runtime::Runtime,
) -> Result<Arc<Driver>, HostError> {
    let (disk, dirs) = open_directories(config, descriptors)?;
    let clock = Clock::system();
    let boot = Boot {
        config: Arc::new(config.clone()),
        advertised: advertised.to_vec(),
        dirs,
        seed: seed(),
    };
    let broker = Broker::boot(clock.now(), boot, &mut Trace::off());
    Ok(Driver::new(
        Box::new(Untraced::new(broker)),
        disk,
        Connections::new(limits(config, descriptors)),
        clock,
        Some(main.handle().clone()),
    ))
}

async fn serve(
    running: Vec<Running>,
    page: Option<Bound>,
    workers: Arc<Workers>,
    ready: impl FnOnce(),
) -> Result<(), HostError> {
    let failed = |what| move |error| HostError::System { what, error };
    let mut interrupt = signal(SignalKind::interrupt()).map_err(failed("cannot watch for Ctrl-C"))?;
    let mut terminate = signal(SignalKind::terminate()).map_err(failed("cannot watch for SIGTERM"))?;
    if let Some(page) = page {
        let brokers = running.iter();
        let brokers = brokers.map(|broker| (broker.id, Arc::clone(&broker.driver)));
        tokio::spawn(crate::http::serve(page.socket, brokers.collect()));
    }
    let (stop, stopping) = watch::channel(false);
    let left = Arc::new(AtomicUsize::new(running.len()));
    let (all_ready, mut told_ready) = watch::channel(false);
    let mut lives = tokio::task::JoinSet::new();
    for broker in running {
        let ready = {
            let (left, all_ready) = (Arc::clone(&left), all_ready.clone());
            move || {
                if left.fetch_sub(1, Ordering::AcqRel) == 1 {
                    all_ready.send_replace(true);
                }
            }
        };
        lives.spawn(live(broker, Arc::clone(&workers), stopping.clone(), ready));
    }
    let mut ready = Some(ready);
    let mut failed = None;
    loop {
        let signalled = tokio::select! {
            ended = lives.join_next() => {
                match ended {
                    None => return failed.map_or(Ok(()), |why| Err(HostError::Failed(why))),
                    Some(Ok(Ok(()))) => {}
                    Some(Ok(Err(why))) => {
                        failed = Some(why);
                        stop.send_replace(true);
                    }
                    Some(Err(error)) => {
                        failed = Some(error.to_string());
                        stop.send_replace(true);
                    }
                }
                continue;
            }
            _ = told_ready.changed(), if ready.is_some() => {
                if let Some(ready) = ready.take() {
                    ready();
                }
                continue;
            }
            _ = interrupt.recv() => true,
            _ = terminate.recv() => true,
        };
        if signalled && *stop.borrow() {
            tracing::warn!("stopped at once, without a clean mark: the next start recovers the logs");
            std::process::exit(130);
        }
        tracing::info!("stopping; once more to stop at once");
        stop.send_replace(true);
    }
}

/// One broker from its start to its end; the reason, if it ends by itself.
async fn live(
    broker: Running,
    workers: Arc<Workers>,
    mut stopping: watch::Receiver<bool>,
    ready: impl FnOnce(),
) -> Result<(), String> {
    let Running { driver, sockets, .. } = broker;
    let mut stage = driver.stage();
    driver.start();
    let mut ready = Some((ready, sockets));
    let mut acceptors = Vec::new();
    let mut told_to_stop = false;
    let mut sweep = tokio::time::interval(SWEEP_EVERY);
    loop {
        let now = stage.borrow_and_update().clone();
        match now {
            Stage::Starting => {}
            Stage::Ready => {
                if let Some((ready, sockets)) = ready.take() {
                    for (id, bound) in sockets.into_iter().enumerate() {
                        let (workers, driver) = (Arc::clone(&workers), Arc::clone(&driver));
                        acceptors.push(tokio::spawn(accept(bound.socket, id as u16, workers, driver)));
                    }
                    ready();
                }
            }
            Stage::Stopped { failed } => {
                if let Some(coordination) = driver.coordination() {
                    // What the session holds goes at once, if the service can be reached.
                    let _ = tokio::time::timeout(SESSION_END, coordination.settled()).await;
                }
                return failed.map_or(Ok(()), Err);
            }
        }
        tokio::select! {
            _ = stage.changed() => {}
            _ = sweep.tick() => driver.connections.sweep(driver.clock.now()),
            changed = stopping.changed(), if !told_to_stop => {
                told_to_stop = true;
                if changed.is_ok() {
                    driver.submit(Input::Shutdown);
                }
            }
        }
    }
}

/// Raises RLIMIT_NOFILE as far as it may go; answers what it is now.
fn raise_descriptor_limit() -> u64 {
    let limit = getrlimit(Resource::Nofile);
    let wanted = limit.maximum.unwrap_or(1 << 20);
    let raised = Rlimit {
        current: Some(wanted),
        maximum: limit.maximum,
    };
    let now = match setrlimit(Resource::Nofile, raised) {
        Ok(()) => wanted,
        Err(_) => limit.current.unwrap_or(wanted),
    };
    if now < FEW_DESCRIPTORS {
        tracing::warn!(
            "only {now} files and connections may be open at a time; raise the limit (ulimit -Hn) \
             for more than a few hundred partitions"
        );
    }
    now
}

/// What clients are told, with the real port where port 0 was asked for.
fn told_addresses(config: &BrokerConfig, sockets: &[Bound]) -> Vec<Endpoint> {
    let told = config.advertised(&host_name());
    let port_of = |name: &str, port: u16| {
        let bound = config
            .listeners
            .iter()
            .zip(sockets)
            .find(|(endpoint, _)| endpoint.name == name);
        bound
            .filter(|_| port == 0)
            .map_or(port, |(_, bound)| bound.address.port())
    };
    // In the order of `listeners`: a connection is told the address of the listener it came in by.
    let named = |name: &str| {
        told.iter()
            .find(|endpoint| endpoint.name == name)
            .or(told.first())
    };
    let listener = |name: &str| {
        named(name).map(|endpoint| Endpoint {
            name: endpoint.name.clone(),
            host: endpoint.host.clone(),
            port: port_of(&endpoint.name, endpoint.port),
        })
    };
    config
        .listeners
        .iter()
        .filter_map(|endpoint| listener(&endpoint.name))
        .collect()
}

fn host_name() -> String {
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    if name.is_empty() {
        "localhost".to_owned()
    } else {
        name
    }
}

fn descriptors_for_files(descriptors: u64) -> u64 {
    descriptors / 2
}

fn descriptors_for_connections(descriptors: u64) -> usize {
    let left = descriptors - descriptors_for_files(descriptors);
    let left = left.saturating_sub(OTHER_DESCRIPTORS).max(descriptors / 4);
    usize::try_from(left).unwrap_or(usize::MAX)
}

fn open_directories(config: &BrokerConfig, descriptors: u64) -> Result<(Disk, Vec<BootDir>), HostError> {
    let roots: Vec<PathBuf> = config.log_dirs.iter().map(PathBuf::from).collect();
    let most = usize::try_from(descriptors_for_files(descriptors)).unwrap_or(usize::MAX);
    let (disk, states) = Disk::open(&roots, most)?;
    if let Some(Err(first)) = states.first()
        && states.iter().all(Result::is_err)
    {
        let count = states.len();
        return Err(match count {
            1 => HostError::Failed(first.to_string()),
            _ => HostError::NoDirectory {
                count,
                first: first.to_string(),
            },
        });
    }
    let dirs = config.log_dirs.iter().zip(states).map(|(path, state)| BootDir {
        path: absolute(path),
        state: state.map_err(|error| {
            tracing::error!("{error}; the directory is offline");
            match error {
                LockError::Unusable { error, .. } => disk_error(&error),
                LockError::InUse(_) => DiskError::Io(0),
            }
        }),
    });
    let dirs = dirs.collect();
    Ok((disk, dirs))
}

/// As clients and operators are told of it, wherever the broker was started.
fn absolute(path: &str) -> String {
    std::path::absolute(path).map_or_else(|_| path.to_owned(), |path| path.display().to_string())
}

/// What the connections may take, of so many descriptors that the process may have open: never those
/// that files need, since a log directory that cannot open one is lost.
fn limits(config: &BrokerConfig, descriptors: u64) -> Limits {
    let most = |limit: i32| usize::try_from(limit).unwrap_or(usize::MAX);
    let default = Limits::default();
    Limits {
        request_max_bytes: config.socket_request_max_bytes,
        queued_max_bytes: u64::try_from(config.queued_max_request_bytes).unwrap_or(default.queued_max_bytes),
        queued_max_requests: most(config.queued_max_requests),
        max_idle_ms: match config.connections_max_idle_ms {
            never if never < 0 => i64::MAX,
            idle => idle,
        },
        max_connections: most(config.max_connections).min(descriptors_for_connections(descriptors)),
        max_connections_per_ip: most(config.max_connections_per_ip),
    }
}

/// One thread a core, each with a reactor of its own: a request wakes no other thread.
fn start_workers() -> Result<Workers, HostError> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut handles = Vec::new();
    for number in 0..cores {
        let runtime = runtime(1)?;
        handles.push(runtime.handle().clone());
        std::thread::Builder::new()
            .name(format!("network-{number}"))
            .spawn(move || runtime.block_on(std::future::pending::<()>()))
            .map_err(|error| HostError::System {
                what: "cannot start a thread",
                error,
            })?;
    }
    Ok(Workers::new(handles))
}

fn runtime(pool_threads: usize) -> Result<tokio::runtime::Runtime, HostError> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(pool_threads)
        .thread_name("pool")
        .build()
        .map_err(|error| HostError::System {
            what: "cannot start a thread's reactor",
            error,
        })
}

/// A seed that no other start has: from the hash keys that the system draws for each process.
fn seed() -> u64 {
    use std::hash::{BuildHasher, Hasher, RandomState};
    let mut hasher = RandomState::new().build_hasher();
    hasher.write_u32(std::process::id());
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_directory_is_told_by_its_whole_path() {
        let here = std::env::current_dir().unwrap();
        assert_eq!(absolute("data/one"), here.join("data/one").display().to_string());
        assert_eq!(absolute("/data/./one"), "/data/one");
    }

    #[test]
    fn connections_never_take_the_descriptors_that_files_need() {
        for descriptors in [64, 1024, 4096, 1 << 20] {
            let files = descriptors_for_files(descriptors);
            let connections = limits(&BrokerConfig::default(), descriptors).max_connections as u64;
            assert!(connections >= descriptors / 4, "{connections} of {descriptors}");
            assert!(files + connections <= descriptors, "{files} and {connections}");
        }
        let mut few = BrokerConfig::default();
        few.max_connections = 7;
        assert_eq!(limits(&few, 1 << 20).max_connections, 7);
    }
}
