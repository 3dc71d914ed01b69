//! Members that rebalance cooperatively (KIP-429) read on meanwhile.

use std::collections::BTreeSet;
use std::sync::Arc;

use highwater_core::types::PartitionIndex;
use highwater_tests::requests::create_topic;
use highwater_tests::wire::WireClient;

use crate::churn::{SESSION_MS, TOPIC, Told, broker};
use crate::coordinator::describe;
use crate::diary::{Diary, Ends, Line};
use crate::member::{Client, Member, Membership};
use crate::slow_leader::{Shares, SlowLeader};
use crate::writer::Writer;

const GROUP: &str = "cooperative";
const PARTITIONS: PartitionIndex = 6;

/// A group of two, and what is watched of it.
struct Watch {
    leader: SlowLeader,
    writer: Writer,
    diary: Arc<Diary>,
    coordinator: WireClient,
}

impl Watch {
    /// In the middle of a rebalance: all have joined, and the leader holds their shares back. Each of these
    /// partitions is read on meanwhile; then the shares are handed out.
    fn reads_on(&mut self, partitions: &[PartitionIndex], then: Shares) {
        self.leader.await_rebalance();
        self.leader.join();
        self.await_read(partitions);
        let state = describe(&mut self.coordinator, GROUP).state;
        assert_eq!(state, "CompletingRebalance", "nobody has a share yet");
        self.leader.hand_out(then);
    }

    /// Waits until records of these partitions are read that were written after this was called.
    fn await_read(&self, partitions: &[PartitionIndex]) {
        let mut ends: Ends = self.writer.ends();
        ends.retain(|partition, _| partitions.contains(partition));
        ends.values_mut().for_each(|end| *end += 1);
        self.diary.await_read(&ends);
    }

    /// All partitions that the member was told to give up, one way or the other.
    fn given_up(&self, who: &Member) -> BTreeSet<PartitionIndex> {
        let of = |(name, line)| match line {
            Line::Revoked(gone) | Line::Lost(gone) if name == who.name => Some(gone),
            _ => None,
        };
        self.diary
            .entries()
            .into_iter()
            .filter_map(of)
            .flatten()
            .collect()
    }
}

/// Two members have three partitions each; a third joins, and gets one of each. Every share is dictated, so
/// that it is known which partitions stay.
pub fn reads_on_while_others_join(clients: [Client; 2]) {
    let broker = broker();
    let address = broker.address();
    let mut coordinator = WireClient::connect(&address);
    create_topic(&mut coordinator, TOPIC, PARTITIONS, &[]).expect("a topic");
    let diary: Arc<Diary> = Arc::default();
    let _told = Told(diary.clone());
    let mut watch = Watch {
        leader: SlowLeader::new(&address, GROUP, TOPIC),
        writer: Writer::start(&address, TOPIC, PARTITIONS),
        diary: diary.clone(),
        coordinator,
    };
    let membership = Membership {
        bootstrap: address,
        topic: TOPIC.to_owned(),
        group: GROUP.to_owned(),
        assignor: "cooperative-sticky",
        // librdkafka joins once more when a commit in the middle of a rebalance is refused.
        commits: "late",
    };
    let join = |client, number| Member::start(client, number, &membership, SESSION_MS, &diary);

    let one = join(clients[0], 1);
    watch.reads_on(&[], &[(&one.name, &[0, 1, 2])]);
    watch.await_read(&[0, 1, 2]);
    let two = join(clients[1], 2);
    watch.reads_on(&[0, 1, 2], &[(&one.name, &[0, 1, 2]), (&two.name, &[3, 4, 5])]);
    watch.await_read(&[0, 1, 2, 3, 4, 5]);
    assert!(watch.given_up(&one).is_empty() && watch.given_up(&two).is_empty());

    let third = join(Client::Highwater, 3);
    // First only what they have is taken from the two ...
    let kept: Shares = &[(&one.name, &[1, 2]), (&two.name, &[4, 5]), (&third.name, &[])];
    watch.reads_on(&[0, 1, 2, 3, 4, 5], kept);
    // ... and when they have given it up, which they say by joining again, it is the third's.
    let moved: Shares = &[(&one.name, &[1, 2]), (&two.name, &[4, 5]), (&third.name, &[0, 3])];
    watch.reads_on(&[1, 2, 4, 5], moved);
    watch.await_read(&[0, 1, 2, 3, 4, 5]);
    assert_eq!(watch.given_up(&one), [0].into(), "of {}", one.name);
    assert_eq!(watch.given_up(&two), [3].into(), "of {}", two.name);
    watch.writer.stop();
}
