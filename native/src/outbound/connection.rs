//! One connection's task: connect, write, read, wait; and at its end tell what did not come through.

use std::collections::VecDeque;
use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;

use bytes::{Buf, Bytes};
use highwater_core::protocol::frame::answer_length;
use highwater_core::protocol::{SendId, SentAs};
use smallvec::SmallVec;
use tokio::io::Interest;
use tokio::net::TcpStream;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::mpsc::error::TryRecvError;
use tokio::time::{Instant, sleep_until, timeout};

use super::{Caller, Limits, Network, Order, Outgoing, Shared};
use crate::server::{Inbound, Received};

/// Rounds of work before other tasks of the thread have their turn.
const ROUNDS_A_TURN: usize = 16;

/// How a connection ended.
enum End {
    /// Nothing was under way: idle for long, or not wanted any more.
    Quiet(&'static str),
    /// The caller gave it up and knows.
    Closed,
    /// All that is under way or waits has failed.
    Failed(String),
}

/// A request that was taken up, until its answer comes.
struct UnderWay {
    id: SendId,
    sent: SentAs,
    deadline: Option<Instant>,
}

/// What is left to write of a frame.
struct Unsent {
    left: Bytes,
    /// Of a request that nobody answers: who is told when it is written.
    unanswered: Option<SendId>,
}

struct Connection<'a, C: Caller> {
    shared: &'a Shared<C>,
    network: &'a Network<C>,
    to: &'a C::To,
    number: u64,
    orders: &'a mut UnboundedReceiver<Order>,
    stream: TcpStream,
    inbound: Inbound,
    unsent: &'a mut VecDeque<Unsent>,
    under_way: &'a mut VecDeque<UnderWay>,
    /// Nobody will send by this connection any more.
    is_replaced: bool,
    /// The caller wants it to end.
    is_closed: bool,
    idle_since: Instant,
}

/// Serves a connection from its making to its end.
pub(super) async fn run<C: Caller>(
    shared: Arc<Shared<C>>,
    to: C::To,
    number: u64,
    mut orders: UnboundedReceiver<Order>,
) {
    let Some(network) = shared.network.get() else {
        return;
    };
    let mut unsent = VecDeque::new();
    let mut under_way = VecDeque::new();
    let end = serve(
        &shared,
        network,
        &to,
        number,
        &mut orders,
        (&mut unsent, &mut under_way),
    );
    let why = match end.await {
        End::Closed => return tracing::debug!("closed the connection to {} as told", address::<C>(&to)),
        End::Quiet(why) => {
            tracing::debug!("closed the connection to {}: {why}", address::<C>(&to));
            return network.caller.closed(&to, why.to_owned());
        }
        End::Failed(why) => why,
    };
    tracing::debug!("the connection to {} failed: {why}", address::<C>(&to));
    shared.remove(&to, number);
    let mut failed: Vec<SendId> = under_way.into_iter().map(|request| request.id).collect();
    failed.extend(unsent.into_iter().filter_map(|frame| frame.unanswered));
    while let Ok(order) = orders.try_recv() {
        match order {
            Order::Send(request) => failed.push(request.id),
            Order::Close => return,
        }
    }
    if failed.is_empty() {
        network.caller.closed(&to, why.clone());
    }
    for id in failed {
        network.caller.failed(id, why.clone());
    }
}

async fn serve<C: Caller>(
    shared: &Shared<C>,
    network: &Network<C>,
    to: &C::To,
    number: u64,
    orders: &mut UnboundedReceiver<Order>,
    (unsent, under_way): (&mut VecDeque<Unsent>, &mut VecDeque<UnderWay>),
) -> End {
    let limits = &network.limits;
    let stream = match connect::<C>(to, limits).await {
        Ok(stream) => stream,
        Err(why) => return End::Failed(why),
    };
    let inbound = Inbound::new(
        Arc::clone(&shared.buffers),
        limits.answer_max_bytes,
        answer_length,
    );
    let connection = Connection {
        shared,
        network,
        to,
        number,
        orders,
        stream,
        inbound,
        unsent,
        under_way,
        is_replaced: false,
        is_closed: false,
        idle_since: Instant::now(),
    };
    connection.run().await
}

async fn connect<C: Caller>(to: &C::To, limits: &Limits) -> Result<TcpStream, String> {
    let failed = |why: String| format!("cannot connect to {}: {why}", address::<C>(to));
    let connecting = TcpStream::connect(C::address(to));
    let stream = match timeout(limits.connect_timeout, connecting).await {
        Ok(connected) => connected.map_err(|error| failed(error.to_string()))?,
        Err(_) => {
            let waited_ms = limits.connect_timeout.as_millis();
            return Err(failed(format!("no answer within {waited_ms} ms")));
        }
    };
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!("cannot set TCP_NODELAY for {}: {error}", address::<C>(to));
    }
    Ok(stream)
}

fn address<C: Caller>(to: &C::To) -> String {
    let (host, port) = C::address(to);
    format!("{host}:{port}")
}

impl<C: Caller> Connection<'_, C> {
    async fn run(mut self) -> End {
        let mut rounds = 0;
        loop {
            self.take_orders();
            if self.is_closed {
                return End::Closed;
            }
            let progress = self.write().and_then(|()| self.read());
            match progress {
                Ok(true) => {
                    rounds += 1;
                    if rounds % ROUNDS_A_TURN == 0 {
                        tokio::task::yield_now().await;
                    }
                }
                Ok(false) => {
                    if let Some(end) = self.wait().await {
                        return end;
                    }
                }
                Err(why) => return End::Failed(why),
            }
        }
    }

    fn take_orders(&mut self) {
        loop {
            match self.orders.try_recv() {
                Ok(order) => self.take(order),
                Err(TryRecvError::Empty) => return,
                Err(TryRecvError::Disconnected) => {
                    self.is_replaced = true;
                    return;
                }
            }
        }
    }

    fn take(&mut self, order: Order) {
        let Order::Send(Outgoing {
            id,
            sent,
            answered,
            frame,
        }) = order
        else {
            self.is_closed = true;
            return;
        };
        if answered {
            let timeout = self.network.caller.answer_timeout(self.to);
            let deadline = timeout.map(|(timeout, _)| Instant::now() + timeout);
            self.under_way.push_back(UnderWay { id, sent, deadline });
        }
        self.unsent.push_back(Unsent {
            left: frame,
            unanswered: (!answered).then_some(id),
        });
    }

    /// Writes until all is written or the socket takes no more.
    fn write(&mut self) -> Result<(), String> {
        while let Some(frame) = self.unsent.front_mut() {
            match self.stream.try_write(&frame.left) {
                Ok(count) => frame.left.advance(count),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(self.lost(&error)),
            }
            if frame.left.is_empty() {
                let unanswered = frame.unanswered;
                self.unsent.pop_front();
                if let Some(id) = unanswered {
                    self.idle_since = Instant::now();
                    self.network.caller.written(id);
                }
            }
        }
        Ok(())
    }

    /// Reads once and hands over the answers that are whole; true if anything came.
    fn read(&mut self) -> Result<bool, String> {
        let (stream, inbound) = (&self.stream, &mut self.inbound);
        let received = stream.try_io(Interest::READABLE, || inbound.receive(stream.as_fd()));
        let mut frames = SmallVec::<[Bytes; 4]>::new();
        let bad = loop {
            match inbound.next_frame() {
                Ok(Some(frame)) => frames.push(frame),
                Ok(None) => break None,
                Err(bad) => break Some(bad),
            }
        };
        inbound.settle();
        for frame in frames {
            self.answered(frame)?;
        }
        if let Some(bad) = bad {
            return Err(format!("{}: {bad}", address::<C>(self.to)));
        }
        match received {
            Ok(Received::Some(_) | Received::All(_)) => Ok(true),
            Ok(Received::End) => Err(format!("{} closed the connection", address::<C>(self.to))),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(true),
            Err(error) => Err(self.lost(&error)),
        }
    }

    fn answered(&mut self, frame: Bytes) -> Result<(), String> {
        let Some(&UnderWay { id, sent, .. }) = self.under_way.front() else {
            return Err(format!("{} answered what was not asked", address::<C>(self.to)));
        };
        let correlation_id = frame.first_chunk().map(|id| i32::from_be_bytes(*id));
        if correlation_id != Some(id as i32) {
            return Err(format!(
                "{} answered another request than the one due",
                address::<C>(self.to)
            ));
        }
        let taken = self.network.caller.answered(self.to, id, sent, frame);
        taken.map_err(|malformed| {
            let api = sent.api;
            format!(
                "the answer of {} to {api} cannot be read: {malformed}",
                address::<C>(self.to)
            )
        })?;
        self.under_way.pop_front();
        self.idle_since = Instant::now();
        Ok(())
    }

    fn lost(&self, error: &io::Error) -> String {
        format!("the connection to {} is lost: {error}", address::<C>(self.to))
    }

    /// Waits until there is something to do; answers the connection's end if that has come.
    async fn wait(&mut self) -> Option<End> {
        let deadline = match self.under_way.front() {
            Some(first) => first.deadline,
            None if !self.unsent.is_empty() => None,
            None if self.is_replaced => return Some(End::Closed),
            None => self.network.limits.max_idle.map(|idle| self.idle_since + idle),
        };
        let due = async {
            match deadline {
                Some(deadline) => sleep_until(deadline).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            order = self.orders.recv(), if !self.is_replaced => match order {
                Some(order) => self.take(order),
                None => self.is_replaced = true,
            },
            // What is wrong with the socket, the next read or write will say.
            _ = self.stream.readable() => {}
            _ = self.stream.writable(), if !self.unsent.is_empty() => {}
            () = due => return self.time_out(),
        }
        None
    }

    /// The first answer is overdue, or nothing was asked for long.
    fn time_out(&mut self) -> Option<End> {
        if self.under_way.is_empty() {
            let waits = || !self.orders.is_empty();
            let out = self.shared.remove_idle(self.to, self.number, waits);
            return out.then_some(End::Quiet("idle for longer than connections.max.idle.ms"));
        }
        let (timeout, key) = self.network.caller.answer_timeout(self.to)?;
        Some(End::Failed(format!(
            "{} has not answered within {} ms ({key})",
            address::<C>(self.to),
            timeout.as_millis()
        )))
    }
}
