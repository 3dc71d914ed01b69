//! Makes and deletes topics.

use std::time::Duration;

use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::client::DefaultClientContext;

use rdkafka::consumer::{BaseConsumer, Consumer};

use crate::broker::Broker;
use crate::{Result, load, said};

/// Making thousands of partitions may take Kafka a while.
const LONGEST: Duration = Duration::from_secs(120);

/// With a replica on each broker.
pub fn create(broker: &Broker, topic: &str, partitions: i32) -> Result<()> {
    let replicas = TopicReplication::Fixed(broker.replicas());
    let new = NewTopic::new(topic, partitions, replicas).set("file.delete.delay.ms", "1000");
    let results = block_on(async {
        admin(&broker.address())?
            .create_topics([&new], &options())
            .await
            .map_err(said)
    })?;
    first(results)
}

pub fn delete(broker: &Broker, topic: &str) -> Result<()> {
    let results = block_on(async {
        admin(&broker.address())?
            .delete_topics(&[topic], &options())
            .await
            .map_err(said)
    })?;
    first(results)
}

/// How many brokers those at the address know of.
pub fn brokers(address: &str) -> Result<usize> {
    let client: BaseConsumer = load::client(address).create().map_err(said)?;
    match client.fetch_metadata(None, Duration::from_secs(5)) {
        Ok(metadata) => Ok(metadata.brokers().len()),
        // A cluster that begins may not answer yet: whoever waits asks again.
        Err(_) => Ok(0),
    }
}

/// Leader and in-sync replicas of the topic's first partition, as the brokers say.
pub struct Led {
    pub leader: i32,
    pub in_sync: usize,
}

pub fn led(address: &str, topic: &str) -> Result<Option<Led>> {
    let client: BaseConsumer = load::client(address).create().map_err(said)?;
    let Ok(metadata) = client.fetch_metadata(Some(topic), Duration::from_secs(5)) else {
        return Ok(None);
    };
    let partition = metadata
        .topics()
        .first()
        .and_then(|topic| topic.partitions().first());
    Ok(partition.map(|partition| Led {
        leader: partition.leader(),
        in_sync: partition.isr().len(),
    }))
}

fn first<E: std::fmt::Display>(results: Vec<std::result::Result<String, (String, E)>>) -> Result<()> {
    match results.into_iter().next() {
        Some(Ok(_)) => Ok(()),
        Some(Err((topic, why))) => Err(format!("topic {topic}: {why}")),
        None => Err("the broker answered for no topic".to_owned()),
    }
}

fn admin(address: &str) -> Result<AdminClient<DefaultClientContext>> {
    load::client(address).create().map_err(said)
}

fn options() -> AdminOptions {
    AdminOptions::new()
        .request_timeout(Some(LONGEST))
        .operation_timeout(Some(LONGEST))
}

fn block_on<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .map_err(said)?;
    runtime.block_on(work)
}
