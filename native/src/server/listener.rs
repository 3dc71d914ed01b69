//! Listening sockets and the loop that accepts.
//!
//! The socket is bound before anything else starts, so that a busy port is said at once; clients
//! that connect meanwhile wait in the kernel until the broker is ready.

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use highwater_core::io::ListenerId;
use rustix::net::{AddressFamily, SocketFlags, SocketType, sockopt};
use thiserror::Error;

use super::connection::serve;
use crate::driver::Driver;

/// Clients that may wait to be accepted.
const BACKLOG: i32 = 1024;
/// With no descriptor left nothing can be accepted; trying again at once would only burn a core.
const PAUSE: Duration = Duration::from_millis(100);

/// Why an address cannot be listened on.
#[derive(Debug, Error)]
pub enum BindError {
    #[error("{0} is taken by another program: stop it, or choose another port")]
    InUse(String),
    #[error("cannot listen on {address}: {error}")]
    Other { address: String, error: io::Error },
}

/// A listening socket that accepts nobody yet.
#[derive(Debug)]
pub struct Bound {
    pub socket: TcpListener,
    /// The real address, also when port 0 was asked for.
    pub address: SocketAddr,
}

/// Binds `host:port`; an empty host means all interfaces.
pub fn bind(host: &str, port: u16) -> Result<Bound, BindError> {
    let shown = format!("{}:{port}", if host.is_empty() { "0.0.0.0" } else { host });
    let other = |error| BindError::Other {
        address: shown.clone(),
        error,
    };
    let host = if host.is_empty() { "0.0.0.0" } else { host };
    let addresses = (host, port).to_socket_addrs().map_err(other)?;
    let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
    for address in addresses {
        match listen(address) {
            Ok(socket) => {
                let address = socket.local_addr().map_err(other)?;
                return Ok(Bound { socket, address });
            }
            Err(error) => last = error,
        }
    }
    Err(match last.kind() {
        io::ErrorKind::AddrInUse => BindError::InUse(shown),
        _ => other(last),
    })
}

fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let family = match address {
        SocketAddr::V4(_) => AddressFamily::INET,
        SocketAddr::V6(_) => AddressFamily::INET6,
    };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(family, SocketType::STREAM, flags, None)?;
    // A restarted broker may have its port back while old connections still linger in the kernel.
    sockopt::set_socket_reuseaddr(&socket, true)?;
    rustix::net::bind(&socket, &address)?;
    rustix::net::listen(&socket, BACKLOG)?;
    Ok(socket.into())
}

/// The threads that connections are served on.
pub struct Workers {
    threads: Vec<(tokio::runtime::Handle, Arc<AtomicUsize>)>,
}

impl Workers {
    pub fn new(threads: impl IntoIterator<Item = tokio::runtime::Handle>) -> Self {
        Self {
            threads: threads
                .into_iter()
                .map(|handle| (handle, Arc::default()))
                .collect(),
        }
    }

    /// The threads, for whatever else works with sockets.
    pub fn handles(&self) -> Vec<tokio::runtime::Handle> {
        self.threads.iter().map(|(handle, _)| handle.clone()).collect()
    }

    /// Serves a connection on the thread that has the fewest.
    fn serve(&self, socket: TcpStream, peer: SocketAddr, listener: ListenerId, driver: &Arc<Driver>) {
        let connections = &driver.connections;
        let connection = match connections.add(socket, peer, listener, driver.clock.now()) {
            Ok(connection) => connection,
            Err(reason) => {
                tracing::warn!("closed a new connection from {peer}: {reason}");
                return;
            }
        };
        let Some((thread, load)) = self
            .threads
            .iter()
            .min_by_key(|(_, load)| load.load(Ordering::Relaxed))
        else {
            return;
        };
        let (driver, load) = (Arc::clone(driver), Arc::clone(load));
        load.fetch_add(1, Ordering::Relaxed);
        thread.spawn(async move {
            serve(connection, driver).await;
            load.fetch_sub(1, Ordering::Relaxed);
        });
    }
}

/// Accepts for ever.
pub async fn accept(socket: TcpListener, listener: ListenerId, workers: Arc<Workers>, driver: Arc<Driver>) {
    let socket = match tokio::net::TcpListener::from_std(socket) {
        Ok(socket) => socket,
        Err(error) => return tracing::error!("cannot watch a listening socket: {error}"),
    };
    loop {
        let accepted = match socket.accept().await {
            Ok((stream, peer)) => stream.into_std().map(|stream| (stream, peer)),
            Err(error) => Err(error),
        };
        match accepted {
            Ok((stream, peer)) => {
                // Answers are written whole; waiting for more to send would only cost time.
                if let Err(error) = stream.set_nodelay(true) {
                    tracing::debug!("cannot set TCP_NODELAY for {peer}: {error}");
                }
                workers.serve(stream, peer, listener, &driver);
            }
            Err(error) => {
                tracing::warn!("cannot accept a connection: {error}");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}
