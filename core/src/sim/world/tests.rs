use super::client::{Producer, ProducerOptions, Target};
use super::*;

fn one_broker() -> World {
    let options = WorldOptions {
        brokers: 1,
        ..WorldOptions::default()
    };
    World::new(&options).unwrap()
}

fn create(world: &mut World, name: &str, replicas: i16) {
    let admin = world.add_admin().unwrap();
    let task = AdminTask::CreateTopic {
        name: name.to_owned(),
        partitions: 1,
        replicas,
        assignment: Vec::new(),
        configs: Vec::new(),
    };
    world.administer(admin, task);
    world.run_for(2_000);
    assert!(world.client(admin).unwrap().is_idle(), "the topic is not made");
}

fn producer(world: &World, id: NodeId) -> &Producer {
    match &world.client(id).unwrap().role {
        Role::Producer(producer) => producer,
        other => panic!("{other:?}"),
    }
}

/// The run, for whoever looks into a failure.
fn tell(world: &World) -> String {
    let line = |event: &crate::trace::Event| {
        format!(
            "{:>7} {:>4} {}\n",
            event.at_ms - EPOCH_MS,
            event.id.node,
            event.fact
        )
    };
    world.trace().iter().map(line).collect()
}

fn run() -> World {
    let mut world = one_broker();
    create(&mut world, "t", 1);
    let partition = TopicPartition::new("t", 0);
    let id = world.add_producer(&ProducerOptions::default()).unwrap();
    let three = Sending {
        to: Target::Partition(partition.clone()),
        count: 3,
        keys: 0,
        every_ms: 0,
    };
    let reader = world.add_consumer(&ConsumerOptions::default()).unwrap();
    world.act(reader, &Act::Assign(vec![partition.clone()])).unwrap();
    world.act(reader, &Act::Seek(partition.clone(), 0)).unwrap();
    for _ in 0..5 {
        world.produce(id, three.clone());
    }
    world.run_for(300);
    world.crash(1);
    world.produce(id, three.clone());
    world.run_for(2_000);
    world.start_broker(1);
    world.run_for(30_000);
    assert_eq!(producer(&world, id).acknowledged, 18, "{}", tell(&world));
    match &world.client(reader).unwrap().role {
        Role::Consumer(consumer) => assert_eq!(consumer.positions()[&partition], Some(18)),
        other => panic!("{other:?}"),
    }
    assert_eq!(world.broken(), None);
    world
}

#[test]
fn records_are_written_and_read_across_a_crash() {
    run();
}

#[test]
fn the_same_seed_tells_the_same_story() {
    assert_eq!(run().trace().hash(), run().trace().hash());
}

#[test]
fn a_copy_goes_its_own_way() {
    let mut world = one_broker();
    world.run_for(1_000);
    let before = world.trace().hash();
    let mut branch = world.clone();
    branch.crash(1);
    branch.run_for(10_000);
    assert!(!branch.broker(1).unwrap().is_running());
    assert!(world.broker(1).unwrap().is_running());
    assert_eq!(world.trace().hash(), before);
}
