//! The answer of a fetch: what of its visits is said, and to whom they owe a next look.

use super::FetchWait;
use super::session::{Told, TopicKey};
use super::visit::Visit;
use crate::broker::State;
use crate::broker::parked::Parked;
use crate::ordered::OrderedSet;
use crate::protocol::fetch::{FetchResponse, FetchTopicResponse};
use crate::replica::ParkedId;
use crate::types::Uuid;

impl State {
    /// Answers with what the visits found, and settles them with the session.
    pub(super) fn answer_fetch(&mut self, id: ParkedId) {
        let Some(Parked::Fetch(wait)) = self.purgatory.take(id) else {
            return;
        };
        let FetchWait {
            caller,
            session,
            full,
            visits,
            ..
        } = *wait;
        // Partitions that nobody knows come last, as Kafka has them.
        let (mut visits, unknown): (Vec<_>, Vec<_>) =
            visits.into_iter().partition(|visit| visit.partition.is_some());
        visits.extend(unknown);
        let mut answer = FetchResponse {
            session_id: session.unwrap_or_default(),
            ..FetchResponse::default()
        };
        let mut found = session.and_then(|session| self.sessions.get_mut(session));
        let mut leaders = OrderedSet::new();
        for visit in visits {
            let told = told(&visit);
            let news = match (&mut found, visit.slot) {
                (Some(session), Some(slot)) => session.settle(slot, told),
                _ => true,
            };
            if news || full {
                leaders.insert(visit.answer.current_leader.leader_id);
                push(&mut answer.topics, visit);
            }
        }
        answer.node_endpoints = self.endpoints(&leaders, caller.listener);
        self.out.answer(&caller, answer);
    }
}

fn told(visit: &Visit) -> Told {
    Told {
        high_watermark: visit.answer.high_watermark,
        log_start: visit.answer.log_start_offset,
        record_bytes: visit.record_bytes,
        error: visit.answer.error_code != crate::error::ErrorCode::None,
        must_answer: visit.answer.diverging_epoch.end_offset >= 0,
        more: visit.readable,
    }
}

/// Partitions of one topic that follow each other share its entry.
fn push(topics: &mut Vec<FetchTopicResponse>, visit: Visit) {
    let (name, topic_id): (&str, Uuid) = match &visit.key.topic {
        TopicKey::Name(name) => (name, Uuid::ZERO),
        TopicKey::Id(id) => ("", *id),
    };
    match topics.last_mut() {
        Some(last) if last.topic_id == topic_id && &*last.name == name => {
            last.partitions.push(visit.answer);
        }
        _ => topics.push(FetchTopicResponse {
            name: name.into(),
            topic_id,
            partitions: vec![visit.answer],
        }),
    }
}
