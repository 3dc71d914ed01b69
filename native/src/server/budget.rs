//! One memory budget for all connections: bytes of requests that have arrived and are not answered.
//!
//! A connection asks before it receives, and counts afterwards, so the limit may be passed by what
//! one look at a socket gives. When the budget is used up it waits; answers free it. Lest several
//! half-received requests wait for each other for ever, one connection at a time may go past the
//! limit, up to the largest request allowed.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tokio::sync::Notify;

#[derive(Debug)]
pub struct Budget {
    limit: u64,
    used: AtomicU64,
    /// A connection goes beyond the limit at present.
    beyond: AtomicBool,
    freed: Notify,
    waiting: AtomicU64,
}

/// What one connection holds of requests that are not complete; given back when dropped.
#[derive(Debug)]
pub struct Share<'a> {
    budget: &'a Budget,
    held: u64,
    beyond: bool,
}

impl Budget {
    pub fn new(limit: u64) -> Self {
        Self {
            limit,
            used: AtomicU64::new(0),
            beyond: AtomicBool::new(false),
            freed: Notify::new(),
            waiting: AtomicU64::new(0),
        }
    }

    /// The share of a new connection.
    pub fn share(&self) -> Share<'_> {
        Share {
            budget: self,
            held: 0,
            beyond: false,
        }
    }

    /// Bytes held by all connections.
    pub fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    /// Whether connections are waiting for room.
    pub fn is_exhausted(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > 0
    }

    /// Counts a complete request, until it is answered.
    pub fn add(&self, bytes: u64) {
        self.used.fetch_add(bytes, Ordering::SeqCst);
    }

    /// Gives back what an answered request had.
    pub fn release(&self, bytes: u64) {
        self.used.fetch_sub(bytes, Ordering::SeqCst);
        if self.waiting.load(Ordering::SeqCst) > 0 {
            self.freed.notify_waiters();
        }
    }
}

impl Share<'_> {
    /// Whether the connection may receive: there is room, or it is the one that may go beyond.
    pub fn has_room(&mut self) -> bool {
        if self.budget.used.load(Ordering::SeqCst) < self.budget.limit {
            return true;
        }
        self.beyond = self.beyond || !self.budget.beyond.swap(true, Ordering::SeqCst);
        self.beyond
    }

    /// Waits until the connection may receive.
    pub async fn room(&mut self) {
        struct Waiting<'a>(&'a AtomicU64);
        impl Drop for Waiting<'_> {
            fn drop(&mut self) {
                self.0.fetch_sub(1, Ordering::SeqCst);
            }
        }
        if self.has_room() {
            return;
        }
        self.budget.waiting.fetch_add(1, Ordering::SeqCst);
        let _waiting = Waiting(&self.budget.waiting);
        loop {
            let freed = self.budget.freed.notified();
            tokio::pin!(freed);
            freed.as_mut().enable();
            if self.has_room() {
                return;
            }
            freed.await;
        }
    }

    /// Says how many bytes the connection holds now.
    pub fn hold(&mut self, bytes: u64) {
        let before = std::mem::replace(&mut self.held, bytes);
        if bytes > before {
            self.budget.add(bytes - before);
        } else if bytes < before {
            self.budget.release(before - bytes);
        }
        if bytes == 0 && std::mem::take(&mut self.beyond) {
            self.budget.beyond.store(false, Ordering::SeqCst);
            self.budget.freed.notify_waiters();
        }
    }
}

impl Drop for Share<'_> {
    fn drop(&mut self) {
        self.hold(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_connection_may_go_beyond_the_limit_and_only_one() {
        let budget = Budget::new(100);
        let (mut a, mut b, mut c) = (budget.share(), budget.share(), budget.share());
        assert!(a.has_room() && b.has_room());
        a.hold(60);
        b.hold(50);
        assert!(a.has_room(), "the first goes beyond");
        assert!(!b.has_room() && !c.has_room());
        a.hold(1000);
        assert!(a.has_room());
        a.hold(0);
        budget.add(1000);
        assert!(c.has_room(), "the place beyond is free again");
        assert!(!b.has_room());
        budget.release(1000);
        assert!(b.has_room());
        drop((a, b, c));
        assert_eq!(budget.used(), 0);
    }

    #[tokio::test]
    async fn a_waiting_connection_goes_on_when_room_is_made() {
        let budget = Budget::new(10);
        let (mut a, mut b, mut c) = (budget.share(), budget.share(), budget.share());
        a.hold(10);
        b.hold(5);
        assert!(a.has_room());
        let mut waiting = Box::pin(c.room());
        let polled = std::future::poll_fn(|cx| std::task::Poll::Ready(waiting.as_mut().poll(cx).is_ready()));
        assert!(!polled.await);
        assert!(budget.is_exhausted());
        drop(a);
        drop(b);
        waiting.await;
        assert!(!budget.is_exhausted());
    }
}
