//! Makes and deletes topics.

use std::time::Duration;

use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::client::DefaultClientContext;

use crate::{Result, load, said};

/// Making thousands of partitions may take Kafka a while.
const LONGEST: Duration = Duration::from_secs(120);

pub fn create(address: &str, topic: &str, partitions: i32) -> Result<()> {
    let new =
        NewTopic::new(topic, partitions, TopicReplication::Fixed(1)).set("file.delete.delay.ms", "1000");
    let results = block_on(async {
        admin(address)?
            .create_topics([&new], &options())
            .await
            .map_err(said)
    })?;
    first(results)
}

pub fn delete(address: &str, topic: &str) -> Result<()> {
    let results = block_on(async {
        admin(address)?
            .delete_topics(&[topic], &options())
            .await
            .map_err(said)
    })?;
    first(results)
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
