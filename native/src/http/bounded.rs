//! A listener that serves a bounded number of connections, of which none may hold its place in silence.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::serve::Listener;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, Sleep, sleep};

/// Connections served at a time.
const MOST_CONNECTIONS: usize = 64;
/// A connection on which no byte has moved for so long is closed.
const MOST_SILENCE: Duration = Duration::from_secs(60);

pub struct Bounded {
    listener: TcpListener,
    places: Arc<Semaphore>,
    patience: Duration,
}

impl Bounded {
    pub fn new(listener: TcpListener) -> Self {
        Self::with(listener, MOST_CONNECTIONS, MOST_SILENCE)
    }

    fn with(listener: TcpListener, most: usize, patience: Duration) -> Self {
        Self {
            listener,
            places: Arc::new(Semaphore::new(most)),
            patience,
        }
    }
}

impl Listener for Bounded {
    type Io = Guest;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Guest, SocketAddr) {
        loop {
            // The semaphore is never closed.
            let Ok(place) = Arc::clone(&self.places).acquire_owned().await else {
                continue;
            };
            let (stream, peer) = Listener::accept(&mut self.listener).await;
            let guest = Guest {
                stream,
                silence: Box::pin(sleep(self.patience)),
                patience: self.patience,
                _place: place,
            };
            return (guest, peer);
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// A connection in its place.
pub struct Guest {
    stream: TcpStream,
    /// Ends when nothing has moved for too long.
    silence: Pin<Box<Sleep>>,
    patience: Duration,
    _place: OwnedSemaphorePermit,
}

impl Guest {
    /// What the stream's step comes to, with an end to waiting.
    fn patient<T>(&mut self, cx: &mut Context<'_>, step: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if step.is_ready() {
            self.silence.as_mut().reset(Instant::now() + self.patience);
            return step;
        }
        let over = self.silence.as_mut().poll(cx);
        over.map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for Guest {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let step = Pin::new(&mut self.stream).poll_read(cx, buffer);
        self.patient(cx, step)
    }
}

impl AsyncWrite for Guest {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let step = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.patient(cx, step)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let step = Pin::new(&mut self.stream).poll_flush(cx);
        self.patient(cx, step)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let step = Pin::new(&mut self.stream).poll_shutdown(cx);
        self.patient(cx, step)
    }
}

#[cfg(test)]
mod tests {
    use axum::Router;
    use axum::routing::get;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    #[tokio::test]
    async fn silent_connections_give_their_places_to_others() {
        let socket = TcpListener::bind("127.0.0.1:0").await.expect("bind");
        let address = socket.local_addr().expect("address");
        let router = Router::new().route("/", get(|| async { "here" }));
        let patience = Duration::from_millis(20);
        let bounded = Bounded::with(socket, 2, patience);
        let began = Instant::now();
        tokio::spawn(async move { axum::serve(bounded, router).await });
        let mut silent = Vec::new();
        for _ in 0..2 {
            silent.push(TcpStream::connect(address).await.expect("connect"));
        }
        let mut client = TcpStream::connect(address).await.expect("connect");
        let request = b"GET / HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n";
        client.write_all(request).await.expect("ask");
        let mut answer = String::new();
        client.read_to_string(&mut answer).await.expect("an answer");
        assert!(answer.ends_with("here"), "{answer}");
        assert!(began.elapsed() >= patience, "it had to wait for a place");
        let mut rest = Vec::new();
        assert_eq!(silent[0].read_to_end(&mut rest).await.expect("the end"), 0);
    }
}
