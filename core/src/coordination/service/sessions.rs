//! Who is connected, in which session, and until when each may be silent (ZooKeeper's `SessionTracker`).
//!
//! Invariants
//! - a connection speaks for one session, and a session is spoken for by at most one connection
//! - every session has exactly one deadline; whatever its connection says moves it

use super::super::session::SessionId;
use crate::ordered::{OrderedMap, OrderedSet};
use crate::trace::EventId;
use crate::types::Millis;

/// A connection to the service, numbered by its host and never again.
pub type ClientId = u64;

#[derive(Clone, Debug)]
struct Session {
    timeout_ms: Millis,
    deadline: Millis,
    client: Option<ClientId>,
    /// What was last heard of it: an expiry follows from that nothing came after.
    heard: EventId,
}

/// A session whose time is up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Silent {
    pub session: SessionId,
    pub heard: EventId,
}

/// The open sessions, by name, by connection and by deadline.
#[derive(Clone, Debug, Default)]
pub(super) struct Sessions {
    by_id: OrderedMap<SessionId, Session>,
    by_client: OrderedMap<ClientId, SessionId>,
    deadlines: OrderedSet<(Millis, SessionId)>,
}

impl Sessions {
    /// A session that nobody speaks for yet; its time runs from now.
    pub fn insert(&mut self, now: Millis, session: SessionId, timeout_ms: Millis, heard: EventId) {
        let deadline = now.saturating_add(timeout_ms);
        self.deadlines.insert((deadline, session));
        let entry = Session {
            timeout_ms,
            deadline,
            client: None,
            heard,
        };
        self.by_id.insert(session, entry);
    }

    /// The connection speaks for the session from now on; answers the one that did so until now.
    pub fn attach(&mut self, session: SessionId, client: ClientId) -> Option<ClientId> {
        let entry = self.by_id.get_mut(&session)?;
        let before = entry.client.replace(client).filter(|&before| before != client);
        if let Some(before) = before {
            self.by_client.remove(&before);
        }
        self.by_client.insert(client, session);
        before
    }

    /// The connection is gone; its session lives on until its time is up.
    pub fn detach(&mut self, client: ClientId) {
        if let Some(session) = self.by_client.remove(&client)
            && let Some(entry) = self.by_id.get_mut(&session)
        {
            entry.client = None;
        }
    }

    /// The session was heard of.
    pub fn touch(&mut self, now: Millis, session: SessionId, heard: EventId) {
        if let Some(entry) = self.by_id.get_mut(&session) {
            self.deadlines.remove(&(entry.deadline, session));
            entry.deadline = now.saturating_add(entry.timeout_ms);
            if heard != EventId::NONE {
                entry.heard = heard;
            }
            self.deadlines.insert((entry.deadline, session));
        }
    }

    /// Forgets the session; answers the connection that spoke for it.
    pub fn remove(&mut self, session: SessionId) -> Option<ClientId> {
        let entry = self.by_id.remove(&session)?;
        self.deadlines.remove(&(entry.deadline, session));
        let client = entry.client?;
        self.by_client.remove(&client);
        Some(client)
    }

    pub fn of_client(&self, client: ClientId) -> Option<SessionId> {
        self.by_client.get(&client).copied()
    }

    /// How long the session may be silent; `None`: there is no such session.
    pub fn timeout_ms(&self, session: SessionId) -> Option<Millis> {
        self.by_id.get(&session).map(|entry| entry.timeout_ms)
    }

    pub fn is_connected(&self, session: SessionId) -> bool {
        self.by_id
            .get(&session)
            .is_some_and(|entry| entry.client.is_some())
    }

    /// Every connection that speaks for a session.
    pub fn clients(&self) -> impl Iterator<Item = ClientId> {
        self.by_client.keys().copied()
    }

    /// Sessions whose time is up, the longest silent first.
    pub fn silent(&self, now: Millis) -> Vec<Silent> {
        let due = self.deadlines.iter().take_while(|(deadline, _)| *deadline <= now);
        let silent = |(_, session): &(Millis, SessionId)| {
            self.by_id.get(session).map(|entry| Silent {
                session: *session,
                heard: entry.heard,
            })
        };
        due.filter_map(silent).collect()
    }

    pub fn next_deadline(&self) -> Option<Millis> {
        self.deadlines.first().map(|(deadline, _)| *deadline)
    }
}
