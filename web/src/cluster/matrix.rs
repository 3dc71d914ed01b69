//! Who has what in a consumer group: a row a member, a column a partition.
//!
//! The page has no group coordinator in it: what the book shows of groups was played when the book was
//! built, by the same code natively, and is drawn from this.

use std::collections::BTreeMap;

use highwater_core::stage;
use highwater_core::trace::{ClientKind, ConsumerFact, Fact, GroupFact, NodeId};
use highwater_core::types::{Offset, TopicPartition};

use super::run::Run;

/// A group at one place of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Matrix {
    pub partitions: Vec<TopicPartition>,
    /// Of each partition, what the group has committed.
    pub committed: Vec<Option<Offset>>,
    pub members: Vec<Member>,
    /// The generation that was formed last, and its assignor.
    pub generation: Option<(i32, String)>,
}

/// A consumer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    pub client: NodeId,
    pub state: MemberState,
    /// Of each partition.
    pub cells: Vec<Owned>,
}

/// What a consumer was heard of last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MemberState {
    #[default]
    Outside,
    Joining,
    /// In that generation.
    In(i32),
    /// The application did not come back in time.
    Overdue,
    Left,
    Killed,
}

/// Whether a member has a partition, and where it reads on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owned {
    No,
    /// It does not know yet where to begin.
    Unread,
    At(Offset),
}

impl Matrix {
    /// After so many facts.
    pub fn of(run: &Run, facts: usize) -> Self {
        let view = run.view_at(facts);
        let mut partitions: Vec<_> = stage::own_partitions(&view).cloned().collect();
        partitions.sort();
        let heard = Heard::until(run, facts);
        let consumers = view
            .clients
            .iter()
            .filter(|(_, client)| client.kind == ClientKind::Consumer);
        let member = |(client, seen): (&NodeId, &highwater_core::view::ClientView)| Member {
            client: *client,
            state: match seen.dead {
                true => MemberState::Killed,
                false => heard.states.get(client).copied().unwrap_or_default(),
            },
            cells: partitions
                .iter()
                .map(|partition| match seen.assigned.get(partition) {
                    _ if seen.dead => Owned::No,
                    None => Owned::No,
                    Some(None) => Owned::Unread,
                    Some(Some(offset)) => Owned::At(*offset),
                })
                .collect(),
        };
        Self {
            members: consumers.map(member).collect(),
            committed: partitions
                .iter()
                .map(|partition| heard.committed.get(partition).copied())
                .collect(),
            generation: heard.generation,
            partitions,
        }
    }
}

/// What the view does not keep.
#[derive(Default)]
struct Heard {
    states: BTreeMap<NodeId, MemberState>,
    committed: BTreeMap<TopicPartition, Offset>,
    generation: Option<(i32, String)>,
}

impl Heard {
    fn until(run: &Run, facts: usize) -> Self {
        let mut heard = Self::default();
        for event in (0..facts).filter_map(|at| run.event(at)) {
            match &event.fact {
                Fact::Group(fact) => heard.take(fact),
                Fact::Consumer(fact) => {
                    let state = match fact {
                        ConsumerFact::JoinSent { .. } => MemberState::Joining,
                        ConsumerFact::Joined { generation, .. } => MemberState::In(*generation),
                        ConsumerFact::PollOverdue { .. } => MemberState::Overdue,
                        ConsumerFact::LeaveSent { .. } | ConsumerFact::Closed => MemberState::Left,
                        _ => continue,
                    };
                    // Who took too long leaves because of it.
                    let before = heard.states.insert(event.id.node, state);
                    if (before, state) == (Some(MemberState::Overdue), MemberState::Left) {
                        heard.states.insert(event.id.node, MemberState::Overdue);
                    }
                }
                _ => {}
            }
        }
        heard
    }

    fn take(&mut self, fact: &GroupFact) {
        match fact {
            GroupFact::GenerationFormed {
                generation, protocol, ..
            } => {
                self.generation = Some((*generation, protocol.clone().unwrap_or_default()));
            }
            GroupFact::OffsetsCommitted { offsets, .. } => self.committed.extend(offsets.iter().cloned()),
            GroupFact::OffsetsExpired { partitions, .. } => {
                self.committed
                    .retain(|partition, _| !partitions.contains(partition));
            }
            _ => {}
        }
    }
}

impl Member {
    /// `client 102, in generation 3`.
    pub fn say(&self) -> String {
        let state = match self.state {
            MemberState::Outside => "not in the group".to_owned(),
            MemberState::Joining => "joins".to_owned(),
            MemberState::In(generation) => format!("in generation {generation}"),
            MemberState::Overdue => "took too long".to_owned(),
            MemberState::Left => "left".to_owned(),
            MemberState::Killed => "killed".to_owned(),
        };
        format!("client {}, {state}", self.client)
    }
}

#[cfg(test)]
mod tests {
    use highwater_core::sim::script::command::Script;

    use super::*;

    fn matrix(name: &str) -> Matrix {
        let path = format!("{}/../tests/scenarios/{name}", env!("CARGO_MANIFEST_DIR"));
        let script = Script::parse(&std::fs::read_to_string(path).unwrap()).unwrap();
        let run = Run::play(&script, None).unwrap();
        Matrix::of(&run, run.facts())
    }

    #[test]
    fn a_matrix_shows_what_the_script_expects_at_its_end() {
        // `owned one 10`, `owned three 5`; the second has left.
        let matrix = matrix("groups/range");
        let owned = |member: &Member| member.cells.iter().filter(|cell| **cell != Owned::No).count();
        assert_eq!(matrix.members.iter().map(owned).collect::<Vec<_>>(), [10, 0, 5]);
        assert_eq!(matrix.members[1].state, MemberState::Left);
        assert_eq!(matrix.partitions.len(), 15);
        let (generation, protocol) = matrix.generation.clone().unwrap();
        assert_eq!(protocol, "range");
        assert_eq!(matrix.members[0].state, MemberState::In(generation));
    }
}
