//! Random lives of a cluster: after every step the office checks what must hold.

use proptest::prelude::*;

use super::office::{Office, name};
use crate::controller::ControllerEvent;
use crate::metadata::Decide;
use crate::protocol::control::ControlledShutdownRequest;
use crate::protocol::messages::alter_partition_request::{BrokerState, PartitionData, TopicData};
use crate::protocol::messages::{AlterPartitionRequest, message};
use crate::types::BrokerId;

#[derive(Clone, Debug)]
enum Happening {
    Kill(Vec<BrokerId>),
    Register(BrokerId),
    /// The leader of this partition asks for an ISR: a bit for each broker.
    Alter(i32, u8, bool),
    Move(i32, Vec<BrokerId>),
    Cancel(i32),
    Leave(BrokerId),
    NextController,
    Depose,
    Delete,
    Create,
    Steps(u8),
    Lose(bool),
}

fn happenings() -> impl Strategy<Value = Vec<Happening>> {
    let broker = 1..=4_i32;
    let brokers = prop::collection::btree_set(1..=4_i32, 1..4);
    let one = prop_oneof![
        1 => brokers.clone().prop_map(|ids| Happening::Kill(ids.into_iter().collect())),
        3 => broker.clone().prop_map(Happening::Register),
        3 => (0..3_i32, any::<u8>(), any::<bool>()).prop_map(|(p, isr, old)| Happening::Alter(p, isr, old)),
        2 => (0..3_i32, brokers).prop_map(|(p, ids)| Happening::Move(p, ids.into_iter().rev().collect())),
        1 => (0..3_i32).prop_map(Happening::Cancel),
        1 => broker.prop_map(Happening::Leave),
        1 => Just(Happening::NextController),
        1 => Just(Happening::Depose),
        1 => Just(Happening::Delete),
        1 => Just(Happening::Create),
        4 => (0..20_u8).prop_map(Happening::Steps),
        1 => any::<bool>().prop_map(Happening::Lose),
    ];
    prop::collection::vec(one, 1..60)
}

fn live(office: &mut Office, happening: Happening, caller: u64) {
    match happening {
        Happening::Kill(ids) => office.kill(&ids),
        Happening::Register(id) => office.register(id),
        Happening::Alter(index, isr, old) => alter(office, index, isr, old, caller),
        Happening::Move(index, target) => reassign(office, index, Some(&target)),
        Happening::Cancel(index) => reassign(office, index, None),
        Happening::Leave(broker_id) => {
            let request = ControlledShutdownRequest {
                broker_id,
                broker_epoch: -1,
            };
            office.event(ControllerEvent::ControlledShutdown { caller, request });
        }
        Happening::NextController => office.next_controller(),
        Happening::Depose => drop(office.depose()),
        Happening::Delete => {
            if office.controller.is_serving() && office.controller.image().topic("a").is_some() {
                office.delete("a");
            }
        }
        Happening::Create => drop(office.create("a", &[&[1, 2, 3], &[2, 3, 4], &[4, 1, 2]])),
        Happening::Steps(count) => {
            for _ in 0..count {
                office.step();
            }
        }
        Happening::Lose(happened) => office.lose_write(happened),
    }
    if office.resigned.is_some() {
        office.next_controller();
    }
}

fn reassign(office: &mut Office, index: i32, target: Option<&[BrokerId]>) {
    if office.controller.is_serving() {
        office.with(|controller, cx| {
            let _ = controller.reassign(cx, &name("a", index), target);
            controller.seal(cx);
        });
    }
}

fn alter(office: &mut Office, index: i32, isr: u8, old: bool, caller: u64) {
    let Some(topic) = office.controller.image().topic("a").cloned() else {
        return;
    };
    let Some(partition) = topic.partition(index) else {
        return;
    };
    let members = partition.replicas.iter().filter(|id| isr & (1 << **id) != 0);
    let members: Vec<(BrokerId, i64)> = members.map(|id| (*id, office.broker_epoch(*id))).collect();
    let request = message(|request: &mut AlterPartitionRequest| {
        request.broker_id = partition.leader;
        request.broker_epoch = office.broker_epoch(partition.leader);
        request.topics = vec![message(|asked: &mut TopicData| {
            asked.topic_id = topic.id.into();
            asked.partitions = vec![message(|asked: &mut PartitionData| {
                asked.partition_index = index;
                asked.leader_epoch = partition.leader_epoch - i32::from(old);
                asked.partition_epoch = partition.partition_epoch;
                asked.new_isr_with_epochs = members
                    .iter()
                    .map(|(id, epoch)| {
                        message(|member: &mut BrokerState| {
                            (member.broker_id, member.broker_epoch) = (*id, *epoch);
                        })
                    })
                    .collect();
            })];
        })];
    });
    office.event(ControllerEvent::AlterPartition {
        caller,
        version: 3,
        request,
    });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn whatever_happens_the_state_is_sound(happenings in happenings(), a_step in 1..8_usize) {
        let mut office = Office::stepping(4, a_step);
        office.create("a", &[&[1, 2, 3], &[2, 3, 4], &[4, 1, 2]]).unwrap();
        for (caller, happening) in (100..).zip(happenings) {
            live(&mut office, happening, caller);
        }
        office.next_controller();
        for id in 1..=4 {
            office.register(id);
        }
        office.run();
        prop_assert_eq!(&office.resigned, &None);
        if let Some(topic) = office.controller.image().topic("a") {
            for (index, partition) in topic.partitions.iter().enumerate() {
                prop_assert!(partition.leader >= 1, "partition {} is led when all live: {:?}", index, partition);
            }
        }
        prop_assert_eq!(office.controller.image().deleting().count(), 0, "what was marked is deleted");
    }
}
