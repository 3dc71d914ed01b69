//! Members for tests, and what one asks of them.

use std::sync::Arc;

use bytes::Bytes;

use crate::coordinator::testing::{World, token};
use crate::error::ErrorCode;
use crate::group::request::{Answer, Commit, Identity, Join, Joined, Leaving, Sync, Synced};
use crate::group::{ClassicGroup, GroupSettings, GroupShard, OffsetAndMetadata, OffsetKey, Protocol};
use crate::types::Uuid;

pub const GROUP: &str = "g";
pub const SESSION_MS: i32 = 10_000;
pub const REBALANCE_MS: i32 = 30_000;

pub fn settings() -> GroupSettings {
    GroupSettings {
        initial_rebalance_delay_ms: 3_000,
        ..GroupSettings::default()
    }
}

/// A coordinator whose records are committed at once.
pub fn groups() -> Groups {
    groups_with(settings())
}

pub fn groups_with(settings: GroupSettings) -> Groups {
    let settings = Arc::new(settings);
    let mut world = World::serving(7, GroupShard::new(0, settings.clone()));
    world.partition.max_batch_bytes = 1_000_000;
    world.partition.commits_at_once = true;
    Groups {
        world,
        settings,
        asked: 0,
    }
}

pub struct Groups {
    pub world: World<GroupShard>,
    pub settings: Arc<GroupSettings>,
    asked: u32,
}

impl Groups {
    fn next(&mut self) -> u32 {
        self.asked += 1;
        self.asked
    }

    pub fn join(&mut self, join: Join) -> u32 {
        let asked = self.next();
        self.world.decide(token(asked), move |shard, turn| {
            shard.join(turn, token(asked), &join);
        });
        asked
    }

    pub fn sync(&mut self, sync: Sync) -> u32 {
        let asked = self.next();
        self.world
            .decide(token(asked), |shard, turn| shard.sync(turn, token(asked), sync));
        asked
    }

    pub fn heartbeat(&mut self, member: &str, generation: i32) -> Result<ErrorCode, ErrorCode> {
        self.heartbeat_as(&identity(member, generation))
    }

    pub fn ask_heartbeat(&mut self, who: &Identity) -> u32 {
        let asked = self.next();
        self.world.decide(token(asked), |shard, turn| {
            shard.heartbeat(turn, token(asked), GROUP, who);
        });
        asked
    }

    pub fn heartbeat_as(&mut self, who: &Identity) -> Result<ErrorCode, ErrorCode> {
        let asked = self.ask_heartbeat(who);
        self.answer(asked).map(|answer| match answer {
            Answer::Heartbeat(code) => code,
            other => panic!("{other:?}"),
        })
    }

    pub fn ask_leave(&mut self, leaving: &[Leaving]) -> u32 {
        let asked = self.next();
        self.world.decide(token(asked), |shard, turn| {
            shard.leave(turn, token(asked), GROUP, leaving);
        });
        asked
    }

    pub fn leave(&mut self, leaving: &[Leaving]) -> Vec<ErrorCode> {
        let asked = self.ask_leave(leaving);
        match self.answer(asked) {
            Ok(Answer::Left(codes)) => codes,
            other => panic!("{other:?}"),
        }
    }

    pub fn commit(&mut self, commit: Commit) -> u32 {
        let asked = self.next();
        self.world.decide(token(asked), move |shard, turn| {
            shard.commit(turn, token(asked), &commit);
        });
        asked
    }

    /// Takes the answer to a request out of all answers, which must have it.
    pub fn answer(&mut self, asked: u32) -> Result<Answer, ErrorCode> {
        let mut answers = self.world.answers();
        let at = answers.iter().position(|(part, _)| *part == asked);
        let at = at.unwrap_or_else(|| panic!("request {asked} was not answered, but {answers:?}"));
        answers.remove(at).1
    }

    /// All answers to JoinGroups and SyncGroups, by request.
    pub fn joined(&mut self) -> Vec<(u32, Joined)> {
        let joined = self
            .world
            .answers()
            .into_iter()
            .map(|(asked, answer)| match answer {
                Ok(Answer::Joined(joined)) => (asked, joined),
                other => panic!("{other:?}"),
            });
        joined.collect()
    }

    pub fn synced(&mut self) -> Vec<(u32, Synced)> {
        let synced = self
            .world
            .answers()
            .into_iter()
            .map(|(asked, answer)| match answer {
                Ok(Answer::Synced(synced)) => (asked, synced),
                other => panic!("{other:?}"),
            });
        synced.collect()
    }

    /// The id that a member without one is given.
    pub fn id_for(&mut self, mut join: Join) -> Arc<str> {
        join.member = "".into();
        let asked = self.join(join);
        match self.answer(asked) {
            Ok(Answer::Joined(joined)) => {
                assert_eq!(joined.error, ErrorCode::MemberIdRequired);
                joined.member
            }
            other => panic!("{other:?}"),
        }
    }

    /// A stable group of so many dynamic members; the first leads.
    pub fn stable_group(&mut self, members: usize) -> Vec<Arc<str>> {
        let ids: Vec<Arc<str>> = (0..members).map(|_| self.id_for(join(""))).collect();
        for id in &ids {
            self.join(join(id));
        }
        self.world.pass(60_000.min(3_000 * (members as i64 + 1)));
        let joined = self.joined();
        assert_eq!(joined.len(), members, "all are in the first generation");
        let (generation, leader) = (joined[0].1.generation, joined[0].1.leader.clone());
        for id in ids.iter().filter(|id| **id != leader) {
            self.sync(sync(id, generation, &[]));
        }
        let shares: Vec<(&str, &'static [u8])> = ids.iter().map(|id| (&**id, &b"share"[..])).collect();
        self.sync(sync(&leader, generation, &shares));
        assert_eq!(self.synced().len(), members);
        let mut ordered = vec![leader.clone()];
        ordered.extend(ids.into_iter().filter(|id| *id != leader));
        ordered
    }

    pub fn group(&self) -> &ClassicGroup {
        self.world.shard().group(GROUP).unwrap()
    }

    /// The leadership moves to another broker that reads the same log.
    pub fn move_on(&mut self) {
        self.world.resigned();
        self.world.elected(2, GroupShard::new(0, self.settings.clone()));
        self.world.load();
    }
}

pub fn protocol(name: &str) -> Protocol {
    // A consumer's subscription: version 0, topic "t", nothing else.
    Protocol {
        name: name.into(),
        metadata: Bytes::from_static(b"\0\0\0\0\0\x01\0\x01t\xff\xff\xff\xff"),
    }
}

pub fn join(member: &str) -> Join {
    Join {
        group: GROUP.into(),
        member: member.into(),
        instance_id: None,
        client_id: "c".into(),
        client_host: "/127.0.0.1".into(),
        session_timeout_ms: SESSION_MS,
        rebalance_timeout_ms: REBALANCE_MS,
        protocol_type: "consumer".into(),
        protocols: Arc::new([protocol("range"), protocol("sticky")]),
        can_be_told_its_id: true,
        can_skip_assignment: true,
    }
}

pub fn static_join(instance: &str) -> Join {
    Join {
        instance_id: Some(instance.into()),
        ..join("")
    }
}

pub fn sync(member: &str, generation: i32, assignments: &[(&str, &'static [u8])]) -> Sync {
    let shares = assignments
        .iter()
        .map(|(member, share)| (Arc::from(*member), Bytes::from_static(share)));
    Sync {
        group: GROUP.into(),
        member: member.into(),
        instance_id: None,
        generation,
        protocol_type: Some("consumer".into()),
        protocol: Some("range".into()),
        assignments: shares.collect(),
    }
}

pub fn identity(member: &str, generation: i32) -> Identity {
    Identity {
        member: member.into(),
        instance_id: None,
        generation,
    }
}

pub fn leaving(member: &str) -> Leaving {
    Leaving {
        member: member.into(),
        instance_id: None,
    }
}

pub fn key(topic: &str, partition: i32) -> OffsetKey {
    OffsetKey {
        group: GROUP.into(),
        topic: topic.into(),
        partition,
    }
}

pub fn commit_of(member: &str, generation: i32, offsets: &[(&str, i32, i64)], now: i64) -> Commit {
    let offsets = offsets.iter().map(|&(topic, partition, offset)| {
        let value = OffsetAndMetadata {
            offset,
            leader_epoch: 0,
            metadata: "".into(),
            commit_timestamp_ms: now,
            expire_timestamp_ms: None,
            topic_id: Uuid::ZERO,
        };
        (key(topic, partition), value)
    });
    Commit {
        group: GROUP.into(),
        who: identity(member, generation),
        knows_group_id_not_found: true,
        offsets: offsets.collect(),
    }
}
