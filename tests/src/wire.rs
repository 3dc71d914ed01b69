//! A client that speaks the core's own protocol, one request at a time, or sends bytes that are no
//! request at all.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

use bytes::Bytes;
use highwater_core::protocol::{
    ApiKey, RequestBody, RequestHeader, ResponseBody, decode_response, encode_request,
};

/// A broker that has neither answered nor closed for so long is broken.
const ANSWER_WITHIN: Duration = Duration::from_secs(30);

/// One connection to a broker.
pub struct WireClient {
    stream: TcpStream,
    correlation_id: i32,
}

impl WireClient {
    /// Connects to `host:port`.
    pub fn connect(address: &str) -> Self {
        let stream = TcpStream::connect(address).unwrap_or_else(|e| panic!("connect to {address}: {e}"));
        stream.set_nodelay(true).expect("turn off Nagle's algorithm");
        stream
            .set_read_timeout(Some(ANSWER_WITHIN))
            .expect("set a time limit");
        Self {
            stream,
            correlation_id: 0,
        }
    }

    /// Our own end of the connection, as the broker names it in its log.
    pub fn own_address(&self) -> SocketAddr {
        self.stream.local_addr().expect("address of a connected socket")
    }

    /// Sends a request and waits for its answer.
    pub fn ask(&mut self, version: i16, body: &RequestBody) -> ResponseBody {
        assert!(self.send(version, body), "send a request");
        let correlation_id = self.correlation_id;
        self.receive(body.api(), version, correlation_id)
            .expect("an answer, and not the end of the connection")
    }

    /// Sends a request and does not wait; `false` when the broker has closed the connection.
    pub fn send(&mut self, version: i16, body: &RequestBody) -> bool {
        self.correlation_id += 1;
        let header = header(body.api(), version, self.correlation_id);
        let request = encode_request(&header, body).expect("a request that can be encoded");
        match self.stream.write_all(&request) {
            Ok(()) => true,
            Err(error) if is_closed(error.kind()) => false,
            Err(error) => panic!("send a request: {error}"),
        }
    }

    /// The number of the last request that was sent; they count from 1.
    pub fn last_sent(&self) -> i32 {
        self.correlation_id
    }

    /// The answer to the request of this number, which must be the next to come; `None` when the
    /// broker closed the connection instead.
    pub fn receive(&mut self, api: ApiKey, version: i16, correlation_id: i32) -> Option<ResponseBody> {
        let frame = self.read_frame()?;
        let response = decode_response(api, version, frame).expect("an answer that can be read");
        assert_eq!(response.correlation_id, correlation_id, "answers come in order");
        Some(response.body)
    }

    /// Sends bytes as they are. An error is no news here: the broker may have closed already.
    pub fn send_raw(&mut self, bytes: &[u8]) {
        let _ = self.stream.write_all(bytes);
    }

    /// Says that nothing more will be sent.
    pub fn end_sending(&mut self) {
        let _ = self.stream.shutdown(Shutdown::Write);
    }

    /// The next frame without its length; `None` when the broker closed the connection instead.
    pub fn read_frame(&mut self) -> Option<Bytes> {
        let mut length = [0; 4];
        let mut read = |buffer: &mut [u8]| match self.stream.read_exact(buffer) {
            Ok(()) => true,
            Err(error) if is_closed(error.kind()) => false,
            Err(error) => panic!("neither an answer nor the end: {error}"),
        };
        if !read(&mut length) {
            return None;
        }
        let mut frame = vec![0; u32::from_be_bytes(length) as usize];
        read(&mut frame).then(|| frame.into())
    }

    /// Waits for each answer so long and no longer.
    pub fn wait_at_most(&mut self, patience: Duration) {
        let set = self.stream.set_read_timeout(Some(patience));
        set.expect("set a time limit");
    }

    /// The next frame without its length, or in a word what came instead.
    pub fn try_read_frame(&mut self) -> Result<Bytes, &'static str> {
        let mut length = [0; 4];
        match self.stream.peek(&mut length) {
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                Err("no answer")
            }
            _ => self.read_frame().ok_or("the connection is closed"),
        }
    }

    /// Waits until the broker closes the connection; what it still sends is dropped.
    pub fn wait_until_closed(&mut self) {
        while self.read_frame().is_some() {}
    }

    /// The stream itself.
    pub fn stream(&self) -> &TcpStream {
        &self.stream
    }
}

fn is_closed(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::UnexpectedEof
            | ErrorKind::ConnectionReset
            | ErrorKind::BrokenPipe
            | ErrorKind::ConnectionAborted
    )
}

/// A request's header as this client writes it.
pub fn header(api: ApiKey, version: i16, correlation_id: i32) -> RequestHeader {
    RequestHeader {
        api,
        version,
        correlation_id,
        client_id: Some("highwater-test".into()),
    }
}
