//! The floors: bare programs that do only what a broker cannot do without. No broker is cheaper, and
//! how near one comes is a figure that holds from machine to machine.
//!
//! Each runs its receiving or serving side on the thread whose processor time is read; the other side
//! is a thread whose time does not count, like a client's.

use std::fs::File;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::net::{RecvFlags, SendFlags};

use crate::meter::thread_cpu;
use crate::{Result, at, statistics};

const PIECE: usize = 1 << 20;
/// The file that is written over and read again; small enough to stay in the page cache.
const FILE_BYTES: u64 = 256 << 20;
/// Length of a request that carries one message of 100 bytes, about.
const REQUEST: usize = 200;
const REQUESTS_A_SECOND: u32 = 1000;

/// What each bare program needed.
pub struct Floors {
    pub file: File,
    pub bytes: u64,
    pub seconds: u32,
}

/// Processor time and latency of a request written and answered by the thread that read it.
pub struct RequestFloor {
    pub cpu_us: f64,
    pub p50_ms: f64,
}

impl Floors {
    /// Makes the file; `bytes` are moved by each program, requests are sent for `seconds`.
    pub fn prepare(out: &Path, bytes: u64, seconds: u32) -> Result<Self> {
        let path = out.join("floor");
        let options = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(true)
            .open(&path);
        let file = at(&path, options)?;
        at(&path, std::fs::remove_file(&path))?; // open, and gone when we are
        let piece = vec![7; PIECE];
        for offset in (0..FILE_BYTES).step_by(PIECE) {
            at(&path, file.write_all_at(&piece, offset))?;
        }
        Ok(Self { file, bytes, seconds })
    }

    /// CPU s/GB of receiving into one buffer.
    pub fn receive(&self) -> Result<f64> {
        self.receiving(|_, _| Ok(()))
    }

    /// CPU s/GB of receiving and writing over pages that were touched before.
    pub fn receive_and_write(&self) -> Result<f64> {
        self.receiving(|piece, at| self.file.write_all_at(piece, at % FILE_BYTES))
    }

    /// CPU s/GB of receiving and appending to a new file, for which the file system has to find pages
    /// and blocks.
    pub fn receive_and_append(&self, out: &Path) -> Result<f64> {
        let path = out.join("floor-log");
        let log = at(&path, File::create(&path))?;
        at(&path, std::fs::remove_file(&path))?;
        self.receiving(|piece, at| log.write_all_at(piece, at))
    }

    /// CPU s/GB of `sendfile`.
    pub fn send_file(&self) -> Result<f64> {
        self.sending(|socket, at| {
            let mut offset = at;
            let sent = rustix::fs::sendfile(socket, &self.file, Some(&mut offset), PIECE)?;
            Ok(sent)
        })
    }

    /// CPU s/GB of reading into a buffer and sending that.
    pub fn read_and_send(&self) -> Result<f64> {
        let mut piece = vec![0; PIECE];
        self.sending(|socket, at| {
            let room = PIECE.min((FILE_BYTES - at) as usize);
            self.file.read_exact_at(&mut piece[..room], at)?;
            let mut sent = 0;
            while sent < room {
                sent += rustix::net::send(socket, &piece[sent..room], SendFlags::NOSIGNAL)?;
            }
            Ok(sent)
        })
    }

    fn receiving(&self, mut each: impl FnMut(&[u8], u64) -> std::io::Result<()>) -> Result<f64> {
        let (mut client, server) = pair()?;
        let bytes = self.bytes;
        let sender = std::thread::spawn(move || {
            let piece = vec![7; PIECE];
            let mut left = bytes;
            while left > 0 && client.write_all(&piece).is_ok() {
                left = left.saturating_sub(PIECE as u64);
            }
        });
        let mut piece = vec![0; PIECE];
        let (before, mut done) = (thread_cpu(), 0);
        let mut filled = 0;
        while done < bytes {
            let (count, _) =
                rustix::net::recv(&server, &mut piece[filled..], RecvFlags::empty()).map_err(said)?;
            if count == 0 {
                return Err("the sender of the floor stopped early".to_owned());
            }
            filled += count;
            if filled == PIECE {
                each(&piece, done).map_err(said)?;
                done += PIECE as u64;
                filled = 0;
            }
        }
        let cpu = thread_cpu() - before;
        let _ = sender.join();
        Ok(per_gb(cpu, bytes))
    }

    fn sending(&self, mut each: impl FnMut(&TcpStream, u64) -> std::io::Result<usize>) -> Result<f64> {
        let (mut client, server) = pair()?;
        let reader = std::thread::spawn(move || {
            let mut piece = vec![0; PIECE];
            while client.read(&mut piece).is_ok_and(|count| count > 0) {}
        });
        let (before, mut done) = (thread_cpu(), 0);
        while done < self.bytes {
            done += each(&server, done % FILE_BYTES).map_err(said)? as u64;
        }
        let cpu = thread_cpu() - before;
        drop(server);
        let _ = reader.join();
        Ok(per_gb(cpu, done))
    }

    /// One small request at a time, evenly: received, written to the file, answered.
    pub fn request(&self) -> Result<RequestFloor> {
        let (mut client, server) = pair()?;
        let count = REQUESTS_A_SECOND * self.seconds;
        let client = std::thread::spawn(move || -> std::io::Result<Vec<f64>> {
            let (began, mut took_ms) = (Instant::now(), Vec::new());
            for number in 0..count {
                let due = began + Duration::from_secs(1) * number / REQUESTS_A_SECOND;
                std::thread::sleep(due.saturating_duration_since(Instant::now()));
                let sent = Instant::now();
                client.write_all(&[7; REQUEST])?;
                client.read_exact(&mut [0; 50])?;
                took_ms.push(sent.elapsed().as_secs_f64() * 1e3);
            }
            Ok(took_ms)
        });
        let mut request = [0; REQUEST];
        let before = thread_cpu();
        for number in 0..u64::from(count) {
            (&server).read_exact(&mut request).map_err(said)?;
            self.file
                .write_all_at(&request, number * REQUEST as u64 % FILE_BYTES)
                .map_err(said)?;
            (&server).write_all(&request[..50]).map_err(said)?;
        }
        let cpu = thread_cpu() - before;
        let took_ms = client
            .join()
            .map_err(|_| "the client of the floor failed")?
            .map_err(said)?;
        Ok(RequestFloor {
            cpu_us: cpu.as_secs_f64() * 1e6 / f64::from(count),
            p50_ms: statistics::median(&took_ms),
        })
    }
}

/// Writes a large file and deletes it: the first use of a page of memory may cost a virtual machine
/// ten times the copy, and none of those measured shall pay for it.
pub fn touch_page_cache(out: &Path, bytes: u64) -> Result<()> {
    let path = out.join("touched");
    let mut file = at(&path, File::create(&path))?;
    let piece = vec![7; PIECE];
    for _ in 0..bytes / PIECE as u64 {
        at(&path, file.write_all(&piece))?;
    }
    at(&path, std::fs::remove_file(&path))
}

fn pair() -> Result<(TcpStream, TcpStream)> {
    let made = || {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let client = TcpStream::connect(listener.local_addr()?)?;
        let (server, _) = listener.accept()?;
        for socket in [&client, &server] {
            socket.set_nodelay(true)?;
            socket.set_read_timeout(Some(Duration::from_secs(30)))?;
            socket.set_write_timeout(Some(Duration::from_secs(30)))?;
        }
        Ok((client, server))
    };
    made().map_err(|e: std::io::Error| format!("no connection over loopback: {e}"))
}

fn per_gb(cpu: Duration, bytes: u64) -> f64 {
    cpu.as_secs_f64() / (bytes as f64 / 1e9)
}

fn said(error: impl std::fmt::Display) -> String {
    format!("a floor failed: {error}")
}
