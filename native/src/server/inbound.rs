//! From the socket to frames, with one copy: the kernel's.
//!
//! Small frames are received together into a scratch buffer of the thread and cut out of it. A
//! large frame is received straight into a buffer of its own; while large frames come, the length
//! is read by itself first, so that not even a frame's beginning has to be moved.
//!
//! Invariants
//! - between two calls a connection that has sent no part of a frame holds no memory
//! - memory follows the bytes that have arrived, not the length that was claimed

use std::cell::RefCell;
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

use bytes::{BufMut, Bytes, BytesMut};
use highwater_core::protocol::frame::{BadFrame, LENGTH_BYTES};
use rustix::net::RecvFlags;

use super::buffers::{Buffers, FrameBuffer, LARGE_BYTES};

/// Room for small frames, one such buffer a thread.
const SCRATCH_BYTES: usize = 64 << 10;

thread_local! {
    static SCRATCH: RefCell<BytesMut> = RefCell::default();
}

/// How many bytes follow a frame's length, of at most so many:
/// [`request_length`](highwater_core::protocol::frame::request_length) or
/// [`answer_length`](highwater_core::protocol::frame::answer_length).
pub type LengthOf = fn([u8; LENGTH_BYTES], i32) -> Result<usize, BadFrame>;

/// The receiving side of one connection.
#[derive(Debug)]
pub struct Inbound {
    buffers: Arc<Buffers>,
    most: i32,
    length_of: LengthOf,
    /// Bytes that arrived and are not taken yet: part of a small frame, or frames that must wait.
    left: BytesMut,
    large: Option<LargeFrame>,
    /// The last frame was large: read the next length by itself.
    expects_large: bool,
}

#[derive(Debug)]
struct LargeFrame {
    buffer: FrameBuffer,
    length: usize,
}

/// What a look at the socket gave.
#[derive(Debug, PartialEq, Eq)]
pub enum Received {
    /// This many bytes; the kernel may have more.
    Some(usize),
    /// This many bytes, and the kernel had no more.
    All(usize),
    /// The client will send no more.
    End,
}

impl Inbound {
    /// `most` is the largest frame that is taken, for requests `socket.request.max.bytes`.
    pub fn new(buffers: Arc<Buffers>, most: i32, length_of: LengthOf) -> Self {
        Self {
            buffers,
            most,
            length_of,
            left: BytesMut::new(),
            large: None,
            expects_large: false,
        }
    }

    /// The next whole frame, without its length; `None` if more bytes are needed.
    pub fn next_frame(&mut self) -> Result<Option<Bytes>, BadFrame> {
        if let Some(large) = self.large.take_if(|large| large.buffer.len() == large.length) {
            return Ok(Some(large.buffer.freeze()));
        }
        if self.large.is_some() {
            return Ok(None);
        }
        let Some(&prefix) = self.left.first_chunk::<LENGTH_BYTES>() else {
            return Ok(None);
        };
        let length = (self.length_of)(prefix, self.most)?;
        if self.left.len() >= LENGTH_BYTES + length {
            self.expects_large = length >= LARGE_BYTES;
            let frame = self.left.split_to(LENGTH_BYTES + length);
            return Ok(Some(frame.freeze().slice(LENGTH_BYTES..)));
        }
        if length >= LARGE_BYTES {
            self.begin_large(length);
        }
        Ok(None)
    }

    fn begin_large(&mut self, length: usize) {
        let mut buffer = self.buffers.take(length);
        let mut begun = &self.left[LENGTH_BYTES..];
        while !begun.is_empty() {
            let room = buffer.make_room(length).min(begun.len());
            buffer.bytes_mut().extend_from_slice(&begun[..room]);
            begun = &begun[room..];
        }
        self.left = BytesMut::new();
        self.large = Some(LargeFrame { buffer, length });
        self.expects_large = true;
    }

    /// Receives once. Frames are then to be taken with [`next_frame`](Self::next_frame) until there
    /// is none, and [`settle`](Self::settle) called before the thread does anything else.
    pub fn receive(&mut self, socket: BorrowedFd<'_>) -> io::Result<Received> {
        if let Some(large) = &mut self.large {
            let room = large.buffer.make_room(large.length);
            return receive_into(socket, large.buffer.bytes_mut(), room);
        }
        if self.left.is_empty() && self.expects_large {
            self.left.reserve(LENGTH_BYTES);
            return receive_into(socket, &mut self.left, LENGTH_BYTES);
        }
        if self.left.len() < LENGTH_BYTES && self.expects_large {
            let missing = LENGTH_BYTES - self.left.len();
            return receive_into(socket, &mut self.left, missing);
        }
        let begun = std::mem::take(&mut self.left);
        self.left = SCRATCH.take();
        self.left.clear();
        self.left.reserve(SCRATCH_BYTES);
        self.left.extend_from_slice(&begun);
        let room = self.left.capacity() - self.left.len();
        receive_into(socket, &mut self.left, room)
    }

    /// Gives the scratch buffer back to the thread; what is left of a frame moves to a small buffer.
    pub fn settle(&mut self) {
        if self.left.capacity() >= LARGE_BYTES || self.left.is_empty() {
            let rest = match self.left.is_empty() {
                true => BytesMut::new(),
                false => BytesMut::from(&self.left[..]),
            };
            let scratch = std::mem::replace(&mut self.left, rest);
            if scratch.capacity() >= LARGE_BYTES {
                SCRATCH.set(scratch);
            }
        }
    }

    /// Bytes held for a frame that is not complete.
    pub fn held_bytes(&self) -> usize {
        self.left.len() + self.large.as_ref().map_or(0, |large| large.buffer.len())
    }
}

/// One `recv` of up to `room` bytes behind what the buffer has.
fn receive_into(socket: BorrowedFd<'_>, buffer: &mut impl BufMut, room: usize) -> io::Result<Received> {
    let chunk = buffer.chunk_mut();
    let room = room.min(chunk.len());
    // SAFETY: the slice is only handed to `recv`, which writes to it and never reads from it.
    #[expect(unsafe_code, reason = "receiving into memory that was not zeroed first")]
    let spare = unsafe { &mut chunk.as_uninit_slice_mut()[..room] };
    let ((received, _), _) = rustix::net::recv(socket, spare, RecvFlags::DONTWAIT)?;
    let count = received.len();
    // SAFETY: `recv` has written the first `count` bytes of the chunk.
    #[expect(unsafe_code, reason = "the bytes received are part of the buffer now")]
    unsafe {
        buffer.advance_mut(count);
    }
    Ok(match count {
        0 => Received::End,
        _ if count < room => Received::All(count),
        _ => Received::Some(count),
    })
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;

    use highwater_core::protocol::frame::request_length;
    use proptest::prelude::*;

    use super::*;

    fn inbound() -> Inbound {
        Inbound::new(Arc::new(Buffers::default()), 104_857_600, request_length)
    }

    fn framed(body: &[u8]) -> Vec<u8> {
        let mut bytes = (body.len() as i32).to_be_bytes().to_vec();
        bytes.extend_from_slice(body);
        bytes
    }

    /// Takes in all that the socket has.
    fn pump(inbound: &mut Inbound, socket: &UnixStream, frames: &mut Vec<Bytes>) {
        loop {
            match inbound.receive(socket.as_fd()) {
                Ok(Received::End) => break,
                Ok(_) => {}
                Err(error) => {
                    assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
                    break;
                }
            }
            while let Some(frame) = inbound.next_frame().expect("good frames") {
                frames.push(frame);
            }
            inbound.settle();
        }
        inbound.settle();
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn frames_come_out_as_they_went_in(
            lengths in prop::collection::vec(prop_oneof![8usize..200, 30_000usize..70_000, 100_000usize..300_000], 1..8),
            cuts in prop::collection::vec(1usize..90_000, 1..20),
        ) {
            let bodies: Vec<Vec<u8>> =
                lengths.iter().enumerate().map(|(i, n)| (0..*n).map(|b| (b * 7 + i) as u8).collect()).collect();
            let stream: Vec<u8> = bodies.iter().flat_map(|b| framed(b)).collect();
            let (mut client, server) = UnixStream::pair().expect("socket pair");
            server.set_nonblocking(true).expect("non-blocking");
            let (mut inbound, mut frames) = (inbound(), Vec::new());
            let (mut rest, mut cuts) = (&stream[..], cuts.iter().cycle());
            while !rest.is_empty() {
                let now = rest.len().min(*cuts.next().expect("a cycle"));
                client.write_all(&rest[..now]).expect("send");
                pump(&mut inbound, &server, &mut frames);
                rest = &rest[now..];
            }
            prop_assert_eq!(&frames, &bodies);
            prop_assert_eq!(inbound.held_bytes(), 0);
        }
    }

    #[test]
    fn a_claimed_length_allocates_nothing() {
        let (mut client, server) = UnixStream::pair().expect("socket pair");
        server.set_nonblocking(true).expect("non-blocking");
        let mut inbound = inbound();
        client.write_all(&100_000_000i32.to_be_bytes()).expect("send");
        client.write_all(b"and little more").expect("send");
        let mut frames = Vec::new();
        pump(&mut inbound, &server, &mut frames);
        assert!(frames.is_empty());
        assert_eq!(inbound.held_bytes(), 15);
        let large = inbound.large.as_mut().expect("a large frame has begun");
        assert!(large.buffer.bytes_mut().capacity() <= 64 << 10);
    }

    #[test]
    fn an_idle_connection_holds_no_memory() {
        let (mut client, server) = UnixStream::pair().expect("socket pair");
        server.set_nonblocking(true).expect("non-blocking");
        let (mut inbound, mut frames) = (inbound(), Vec::new());
        client.write_all(&framed(b"a request")).expect("send");
        pump(&mut inbound, &server, &mut frames);
        assert_eq!(frames, [Bytes::from_static(b"a request")]);
        assert_eq!(inbound.left.capacity(), 0);
    }

    #[test]
    fn a_stranger_is_named() {
        let (mut client, server) = UnixStream::pair().expect("socket pair");
        let mut inbound = inbound();
        client.write_all(b"GET / HTTP/1.1\r\n\r\n").expect("send");
        inbound.receive(server.as_fd()).expect("receive");
        assert!(matches!(inbound.next_frame(), Err(BadFrame::Http(_))));
    }
}
