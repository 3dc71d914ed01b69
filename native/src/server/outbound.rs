//! From answers to the socket: in the order of the requests, file parts by `sendfile`.
//!
//! Each request takes a slot when it is handed to the core. Answers come in any order and fill
//! their slots; what is answered from the front on is sent. A produce with acks=0 has an answer
//! without parts, which only frees its slot.
//!
//! Bytes that `sendfile` has queued are pages of the file, not a copy. So each connection remembers
//! up to which byte of its stream each file is in it, and asks the kernel how many are unsent
//! before it says that a file may be cut.
//!
//! Invariants
//! - bytes leave in the order of the requests, whatever the order of the answers
//! - at most [`TURN_BYTES`] of files a turn, so that one fast reader does not hold up others

use std::collections::VecDeque;
use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::Instant;

use bytes::{Buf, Bytes};
use highwater_core::disk::FileId;
use highwater_core::io::{ConnId, Part, Parts, RequestId};
use rustix::io::{Errno, ReadWriteFlags, pread, preadv2};
use rustix::net::{SendAncillaryBuffer, SendFlags, sendmsg};
use smallvec::SmallVec;

use super::budget::Budget;
use crate::disk::OpenFile;

/// The most bytes of files sent before other connections have their turn.
pub const TURN_BYTES: u64 = 256 << 10;
/// Bytes read at once when a file is read ahead.
const READ_AHEAD_BYTES: usize = 64 << 10;
/// Pieces of memory sent by one call.
const MAX_PIECES: usize = 64;
/// Files remembered as possibly unsent before the kernel is asked.
const FILES_BEFORE_ASKING: usize = 4;

/// A piece of an answer, tied to an open file.
#[derive(Clone, Debug)]
enum Chunk {
    Bytes(Bytes),
    File {
        file: Arc<OpenFile>,
        pos: u64,
        left: u64,
    },
}

/// The answer to one request.
#[derive(Debug)]
pub struct Answer {
    pub conn: ConnId,
    pub request: RequestId,
    chunks: SmallVec<[Chunk; 4]>,
}

impl Answer {
    /// Looks up the files that the parts are in; an error is the reason to close the connection.
    pub fn new(
        conn: ConnId,
        request: RequestId,
        parts: Parts,
        file_of: impl Fn(FileId) -> Option<Arc<OpenFile>>,
    ) -> Result<Self, String> {
        let chunks = parts.into_iter().map(|part| match part {
            Part::Bytes(bytes) => Ok(Chunk::Bytes(bytes)),
            Part::File { file, pos, len } => {
                let open = file_of(file)
                    .ok_or_else(|| format!("the answer names file {file:?}, which cannot be opened"))?;
                open.add_reader(conn);
                Ok(Chunk::File {
                    file: open,
                    pos,
                    left: u64::from(len),
                })
            }
        });
        Ok(Self {
            conn,
            request,
            chunks: chunks.collect::<Result<_, String>>()?,
        })
    }
}

/// How far sending came.
#[derive(Debug, PartialEq, Eq)]
pub enum Sent {
    /// Nothing is left to send.
    All,
    /// The socket takes no more at present.
    Blocked,
    /// This turn is over, the socket may take more.
    TurnOver,
    /// The next bytes of a file are not in memory: see [`Outbound::cold_range`].
    Cold,
}

/// Bytes of a file that are about to be sent.
#[derive(Debug)]
pub struct Range {
    file: Arc<OpenFile>,
    pos: u64,
    len: u64,
}

impl Range {
    /// Whether its first or its last byte would have to be read from the medium. A file system that
    /// cannot tell (tmpfs) counts as memory.
    fn is_cold(&self) -> bool {
        let last = self.pos + self.len.saturating_sub(1);
        [self.pos, last].into_iter().any(|at| {
            let mut byte = [0];
            let piece = &mut [IoSliceMut::new(&mut byte)];
            preadv2(&self.file.file, piece, at, ReadWriteFlags::NOWAIT) == Err(Errno::AGAIN)
        })
    }

    /// Reads it, so that it is in memory then.
    pub fn read(&self) -> io::Result<()> {
        let mut bytes = vec![0; READ_AHEAD_BYTES];
        let (mut at, end) = (self.pos, self.pos + self.len);
        while at < end {
            match pread(&self.file.file, &mut bytes, at)? {
                0 => break,
                count => at += count as u64,
            }
        }
        Ok(())
    }
}

#[derive(Debug)]
struct Slot {
    chunks: Option<SmallVec<[Chunk; 4]>>,
    /// Bytes of the request, counted against the budget until it is answered.
    request_bytes: u64,
    api: i16,
    since: Instant,
}

/// The sending side of one connection.
#[derive(Debug, Default)]
pub struct Outbound {
    slots: VecDeque<Slot>,
    /// The request that the first slot belongs to.
    first: RequestId,
    queue: VecDeque<Chunk>,
    /// Bytes handed to the kernel since the connection began.
    handed_bytes: u64,
    /// Where in the stream the last byte of each file ends that may still be unsent.
    in_flight: SmallVec<[(Arc<OpenFile>, u64); 2]>,
    unanswered_bytes: u64,
    /// The bytes in front were looked at, and are in memory.
    is_warm: bool,
    /// The connection's own task is at work and will send what is put here.
    pub attended: bool,
    /// The connection's own task holds a request back until something is answered or sent.
    pub stalled: bool,
    /// Close as soon as everything is sent.
    pub close: Option<String>,
    /// Nothing more may be sent: the connection was reset.
    pub dead: bool,
}

impl Outbound {
    /// The number of the next request; its slot is made.
    pub fn open_slot(&mut self, api: i16, request_bytes: u64, budget: &Budget) -> RequestId {
        budget.add(request_bytes);
        self.unanswered_bytes += request_bytes;
        self.slots.push_back(Slot {
            chunks: None,
            request_bytes,
            api,
            since: Instant::now(),
        });
        self.first + self.slots.len() as RequestId - 1
    }

    /// Fills the slot of a request; answers its API and when it was opened, or nothing if there is no
    /// such slot (never asked, or answered before).
    pub fn fill_slot(&mut self, answer: Answer, budget: &Budget) -> Option<(i16, Instant)> {
        let at = usize::try_from(answer.request.checked_sub(self.first)?).ok()?;
        let slot = self.slots.get_mut(at).filter(|slot| slot.chunks.is_none())?;
        slot.chunks = Some(answer.chunks);
        let filled = (slot.api, slot.since);
        budget.release(slot.request_bytes);
        self.unanswered_bytes -= slot.request_bytes;
        while let Some(chunks) = self.slots.front_mut().and_then(|slot| slot.chunks.take()) {
            self.slots.pop_front();
            self.first += 1;
            self.queue.extend(chunks);
        }
        Some(filled)
    }

    /// Bytes handed to the kernel since the connection began.
    pub fn handed_bytes(&self) -> u64 {
        self.handed_bytes
    }

    /// Requests without an answer, or behind one without an answer.
    pub fn unanswered(&self) -> usize {
        self.slots.len()
    }

    /// Bytes of the requests without an answer.
    pub fn unanswered_bytes(&self) -> u64 {
        self.unanswered_bytes
    }

    /// Whether everything is answered and handed to the kernel.
    pub fn is_idle(&self) -> bool {
        self.slots.is_empty() && self.queue.is_empty()
    }

    pub fn has_unsent(&self) -> bool {
        !self.queue.is_empty()
    }

    /// Pieces of answers that the socket has not taken yet.
    pub fn unsent_pieces(&self) -> usize {
        self.queue.len()
    }

    /// Whether what waits to be sent is memory only, and not much.
    pub fn is_light(&self) -> bool {
        self.queue.len() <= MAX_PIECES && self.queue.iter().all(|chunk| matches!(chunk, Chunk::Bytes(_)))
    }

    /// Sends what is ready, until the socket is full or the turn is over.
    pub fn send(&mut self, socket: BorrowedFd<'_>) -> io::Result<Sent> {
        if self.dead {
            return Err(io::ErrorKind::ConnectionReset.into());
        }
        let mut turn = 0;
        loop {
            let is_file = match self.queue.front() {
                None => return Ok(Sent::All),
                Some(chunk) => matches!(chunk, Chunk::File { .. }),
            };
            if is_file && turn >= TURN_BYTES {
                self.is_warm = false;
                return Ok(Sent::TurnOver);
            }
            if is_file && !self.is_warm && self.is_cold() {
                return Ok(Sent::Cold);
            }
            let sent = match is_file {
                false => self.send_memory(socket),
                true => {
                    let sent = self.send_file(socket, TURN_BYTES - turn);
                    sent.inspect(|sent| turn += sent)
                }
            };
            match sent {
                Ok(sent) => self.handed_bytes += sent,
                Err(Errno::AGAIN) => return Ok(Sent::Blocked),
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
    }

    /// The bytes of a file that come next in a turn, if a file comes next.
    pub fn cold_range(&self) -> Option<Range> {
        match self.queue.front()? {
            Chunk::Bytes(_) => None,
            Chunk::File { file, pos, left } => Some(Range {
                file: Arc::clone(file),
                pos: *pos,
                len: (*left).min(TURN_BYTES),
            }),
        }
    }

    fn is_cold(&mut self) -> bool {
        let cold = self.cold_range().is_some_and(|range| range.is_cold());
        self.is_warm = !cold;
        cold
    }

    /// What was cold has been read.
    pub fn warmed(&mut self) {
        self.is_warm = true;
    }

    fn send_memory(&mut self, socket: BorrowedFd<'_>) -> rustix::io::Result<u64> {
        let mut pieces: SmallVec<[IoSlice<'_>; 8]> = SmallVec::new();
        let mut flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        for chunk in &self.queue {
            match chunk {
                Chunk::Bytes(bytes) if pieces.len() < MAX_PIECES => pieces.push(IoSlice::new(bytes)),
                // More follows at once: let the kernel fill its segments.
                _ => {
                    flags |= SendFlags::MORE;
                    break;
                }
            }
        }
        let sent = sendmsg(socket, &pieces, &mut SendAncillaryBuffer::default(), flags)?;
        drop(pieces);
        let mut rest = sent;
        while let Some(Chunk::Bytes(bytes)) = self.queue.front_mut() {
            if bytes.len() > rest {
                bytes.advance(rest);
                break;
            }
            rest -= bytes.len();
            self.queue.pop_front();
        }
        Ok(sent as u64)
    }

    // ANCHOR: send_file
    fn send_file(&mut self, socket: BorrowedFd<'_>, most: u64) -> rustix::io::Result<u64> {
        let Some(Chunk::File { file, pos, left }) = self.queue.front_mut() else {
            return Ok(0);
        };
        let now = usize::try_from((*left).min(most)).unwrap_or(usize::MAX);
        let sent = match now {
            0 => 0,
            _ => match rustix::fs::sendfile(socket, &file.file, Some(&mut { *pos }), now)? {
                // The file ends before the answer does; its length is already on its way.
                0 => return Err(Errno::IO),
                sent => sent as u64,
            },
        };
        *pos += sent;
        *left -= sent;
        let file = Arc::clone(file);
        if *left == 0 {
            self.queue.pop_front();
            self.is_warm = false;
        }
        self.remember(file, self.handed_bytes + sent, socket);
        Ok(sent)
    }
    // ANCHOR_END: send_file

    fn remember(&mut self, file: Arc<OpenFile>, end: u64, socket: BorrowedFd<'_>) {
        match self
            .in_flight
            .iter_mut()
            .find(|(known, _)| Arc::ptr_eq(known, &file))
        {
            Some((_, until)) => *until = end,
            None => self.in_flight.push((file, end)),
        }
        if self.in_flight.len() > FILES_BEFORE_ASKING {
            self.forget_sent(socket);
        }
    }

    /// Lets go of files whose bytes have all arrived at the peer.
    pub fn forget_sent(&mut self, socket: BorrowedFd<'_>) {
        if self.in_flight.is_empty() {
            return;
        }
        let unsent = unsent_bytes(socket).unwrap_or(u64::MAX);
        let arrived = self.handed_bytes.saturating_sub(unsent);
        self.in_flight.retain(|(_, until)| *until > arrived);
    }

    /// Whether bytes of the file still have to leave.
    pub fn needs(&mut self, file: &OpenFile, socket: BorrowedFd<'_>) -> bool {
        self.forget_sent(socket);
        let waits = |chunk: &Chunk| matches!(chunk, Chunk::File { file: of, .. } if of.id == file.id);
        self.in_flight.iter().any(|(of, _)| of.id == file.id)
            || self.queue.iter().any(waits)
            || self
                .slots
                .iter()
                .flat_map(|slot| slot.chunks.iter().flatten())
                .any(waits)
    }

    /// Drops everything: the connection is gone.
    pub fn abandon(&mut self, budget: &Budget) {
        self.dead = true;
        budget.release(std::mem::take(&mut self.unanswered_bytes));
        self.first += self.slots.len() as RequestId;
        self.slots.clear();
        self.queue.clear();
        self.in_flight.clear();
    }
}

/// Bytes in the socket's send queue that the peer has not acknowledged (SIOCOUTQ).
fn unsent_bytes(socket: BorrowedFd<'_>) -> io::Result<u64> {
    use rustix::ioctl::{Getter, Opcode, ioctl};
    const SIOCOUTQ: Opcode = 0x5411;
    // SAFETY: SIOCOUTQ takes a pointer to an int and writes it.
    #[expect(unsafe_code, reason = "no safe wrapper exists for this ioctl")]
    let unsent = unsafe { ioctl(socket, Getter::<SIOCOUTQ, i32>::new()) }?;
    Ok(u64::try_from(unsent).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsFd;

    use proptest::prelude::*;
    use smallvec::smallvec;

    use super::*;

    fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("bind");
        let client = TcpStream::connect(listener.local_addr().expect("address")).expect("connect");
        let (server, _) = listener.accept().expect("accept");
        server.set_nonblocking(true).expect("non-blocking");
        (client, server)
    }

    fn file(length: usize) -> (tempfile::TempDir, crate::disk::Disk, FileId) {
        use highwater_core::disk::{DiskOp, Lane, Queued};
        let root = tempfile::tempdir().expect("temporary directory");
        let (disk, _) = crate::disk::Disk::open(&[root.path().to_owned()], 16).expect("open");
        let id = FileId { dir: 0, number: 1 };
        let bytes: Vec<u8> = (0..length).map(|i| ((i * 31) >> 3) as u8).collect();
        let strict = |ticket, op| Queued {
            dir: 0,
            lane: Lane::Strict,
            ticket,
            op,
        };
        let ops = vec![
            strict(
                1,
                DiskOp::Open {
                    file: id,
                    path: "f".into(),
                },
            ),
            strict(
                2,
                DiskOp::Append {
                    file: id,
                    at: 0,
                    bufs: smallvec![bytes.into()],
                },
            ),
        ];
        disk.run(0, ops);
        (root, disk, id)
    }

    fn answer(request: RequestId, text: &'static str) -> Answer {
        let parts: Parts = match text {
            "" => smallvec![],
            text => smallvec![Part::Bytes(Bytes::from_static(text.as_bytes()))],
        };
        Answer::new(1, request, parts, |_| None).expect("no files")
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn answers_leave_in_the_order_of_requests(order in Just((0..20u64).collect::<Vec<_>>()).prop_shuffle()) {
            let (mut client, server) = pair();
            let (budget, mut outbound) = (Budget::new(1000), Outbound::default());
            for i in 0..20 {
                prop_assert_eq!(outbound.open_slot(0, 10, &budget), i);
            }
            for request in order {
                // Every third is a produce with acks=0.
                let text = if request % 3 == 0 { "" } else { ["a", "b", "c", "d", "e"][request as usize % 5] };
                prop_assert!(outbound.fill_slot(answer(request, text), &budget).is_some());
                outbound.send(server.as_fd()).expect("send");
            }
            prop_assert!(outbound.is_idle());
            prop_assert_eq!(budget.used(), 0);
            drop((server, outbound));
            let mut got = String::new();
            client.read_to_string(&mut got).expect("read");
            prop_assert_eq!(got, expected());
        }
    }

    fn expected() -> String {
        (0..20usize)
            .filter(|i| i % 3 != 0)
            .map(|i| ["a", "b", "c", "d", "e"][i % 5])
            .collect()
    }

    #[test]
    fn a_second_answer_and_one_never_asked_for_are_refused() {
        let (budget, mut outbound) = (Budget::new(1000), Outbound::default());
        outbound.open_slot(0, 10, &budget);
        assert_eq!(outbound.fill_slot(answer(1, "never asked"), &budget), None);
        assert!(outbound.fill_slot(answer(0, "a"), &budget).is_some());
        assert_eq!(outbound.fill_slot(answer(0, "again"), &budget), None);
    }

    #[test]
    fn a_large_file_part_goes_in_turns_and_arrives_whole() {
        let (mut client, server) = pair();
        let length = 3 << 20;
        let (_root, disk, id) = file(length);
        let (budget, mut outbound) = (Budget::new(1000), Outbound::default());
        let request = outbound.open_slot(0, 1, &budget);
        let parts = smallvec![
            Part::Bytes(Bytes::from_static(b"head")),
            Part::File {
                file: id,
                pos: 10,
                len: length as u32 - 10
            },
            Part::Bytes(Bytes::from_static(b"tail")),
        ];
        let answer = Answer::new(1, request, parts, |f| disk.file(f)).expect("open");
        assert!(outbound.fill_slot(answer, &budget).is_some());
        let reader = std::thread::spawn(move || {
            let mut got = Vec::new();
            client.read_to_end(&mut got).expect("read");
            got
        });
        let mut turns = 0;
        while outbound.send(server.as_fd()).expect("send") != Sent::All {
            turns += 1;
        }
        assert!(turns >= 11, "256 KiB a turn");
        drop(server);
        let got = reader.join().expect("reader");
        assert_eq!(got.len(), length - 10 + 8);
        assert_eq!((&got[..4], &got[got.len() - 4..]), (&b"head"[..], &b"tail"[..]));
        assert!(
            got[4..length - 6]
                .iter()
                .enumerate()
                .all(|(i, &b)| b == (((i + 10) * 31) >> 3) as u8)
        );
    }

    #[test]
    fn a_file_is_needed_until_the_peer_has_it() {
        let (mut client, server) = pair();
        let length = 16 << 20;
        let (_root, disk, id) = file(length);
        let open = disk.file(id).expect("open");
        let (budget, mut outbound) = (Budget::new(1000), Outbound::default());
        let request = outbound.open_slot(0, 1, &budget);
        let parts = smallvec![Part::File {
            file: id,
            pos: 0,
            len: length as u32
        }];
        outbound.fill_slot(
            Answer::new(1, request, parts, |f| disk.file(f)).expect("open"),
            &budget,
        );
        assert!(outbound.needs(&open, server.as_fd()), "queued");
        while outbound.send(server.as_fd()).expect("send") != Sent::Blocked {}
        assert!(outbound.needs(&open, server.as_fd()), "in the kernel");
        let mut left = length;
        let mut bytes = vec![0; 1 << 20];
        while left > 0 {
            outbound.send(server.as_fd()).expect("send");
            left -= client.read(&mut bytes).expect("read");
        }
        // The last acknowledgement may lag behind the last read: an answer from the peer carries it.
        client.write_all(b"x").expect("write");
        server.set_nonblocking(false).expect("blocking");
        (&server).read_exact(&mut bytes[..1]).expect("read");
        assert!(!outbound.needs(&open, server.as_fd()));
    }
}
