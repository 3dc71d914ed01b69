//! Our own consumer as a library: what a poll does, whatever the application makes of it.

use std::collections::BTreeSet;
use std::sync::Arc;

use highwater::client::{KafkaConsumer, Listener, Polled};
use highwater_core::consumer::{ConsumerConfig, ConsumerEvent, Rebalance, RebalanceListener};
use highwater_core::record::{BatchBuilder, Codec};
use highwater_core::trace::{ConsumerFact, Event, Fact};
use highwater_tests::broker::TestBroker;
use highwater_tests::requests::*;
use highwater_tests::wire::WireClient;
use tokio::sync::mpsc;

const TOPIC: &str = "t";
/// Far more polls than a member needs to hear that it has lost its partitions.
const POLLS: usize = 100;

fn subscribed(bootstrap: &str, listener: Listener) -> KafkaConsumer {
    let settings = [
        ("bootstrap.servers", bootstrap),
        ("group.id", "g"),
        ("auto.offset.reset", "earliest"),
        ("enable.auto.commit", "false"),
        ("max.poll.interval.ms", "300"),
    ];
    let settings = settings.map(|(key, value)| (key.to_owned(), value.to_owned()));
    let config = ConsumerConfig::read(&settings.into()).expect("settings");
    let consumer = KafkaConsumer::start(config, Some(listener));
    let topics = BTreeSet::from([Arc::from(TOPIC)]);
    let subscribed = consumer.with(|consumer, cx| consumer.subscribe(cx, topics, RebalanceListener::Present));
    subscribed.expect("a subscription");
    consumer
}

/// An application that asks for a commit at each event, of which the next is refused at once: there is always
/// an event before the next record.
#[tokio::test]
async fn a_member_that_was_silent_for_too_long_comes_back_though_there_is_always_an_event() {
    let broker = TestBroker::start(&[
        "group.initial.rebalance.delay.ms=0",
        "offsets.topic.replication.factor=1",
        "offsets.topic.num.partitions=1",
    ]);
    let mut wire = WireClient::connect(&broker.address());
    create_topic(&mut wire, TOPIC, 1, &[]).expect("a topic");
    let mut batch = BatchBuilder::new(Codec::None);
    batch.append(1, None, Some(b"record"), &[]);
    assert_eq!(produce(&mut wire, TOPIC, 0, batch.build()), Ok(0));

    let (tells, mut left) = mpsc::unbounded_channel();
    let listener = Box::new(move |event: &Event| {
        if let Fact::Consumer(ConsumerFact::PollOverdue { .. }) = event.fact {
            let _ = tells.send(());
        }
    });
    let consumer = subscribed(&broker.address(), listener);
    loop {
        match consumer.poll(None).await {
            Polled::Records(_) => break,
            Polled::Event(ConsumerEvent::Rebalance(_)) => {
                consumer.with(|consumer, cx| consumer.confirm_rebalance(cx));
            }
            Polled::Event(ConsumerEvent::Failed(error)) => panic!("{error}"),
            Polled::Event(_) | Polled::Nothing => {}
        }
    }
    left.recv().await.expect("it leaves the group");

    let commit = || {
        consumer
            .with(|consumer, cx| consumer.commit_async(cx, None))
            .expect("a commit")
    };
    commit();
    for _ in 0..POLLS {
        match consumer.poll(None).await {
            Polled::Event(ConsumerEvent::Rebalance(Rebalance::Lost(_))) => return,
            Polled::Event(_) => commit(),
            other => panic!("{other:?}"),
        };
    }
    panic!("{POLLS} polls, and the group did not go on");
}
