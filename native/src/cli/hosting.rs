//! What the commands share that stand on the core's clients: the threads they run on, and a consumer's end.

use std::future::Future;

use highwater_core::consumer::ConsumerEvent;
use highwater_core::types::Millis;

use super::Failure;
use crate::client::KafkaConsumer;
use crate::output::complain;

/// How long the end may take: `KafkaConsumer.close`.
const CLOSE_TIMEOUT_MS: Millis = 30_000;

/// Runs the command on this thread, and its client on one of its own.
pub fn run(command: impl Future<Output = Result<(), Failure>>) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()?;
    let ended = runtime.block_on(command);
    // Nothing that is left there is of any use.
    runtime.shutdown_background();
    ended
}

/// Commits, leaves the group, and says what went wrong meanwhile.
pub async fn close(consumer: KafkaConsumer) {
    for event in consumer.close(CLOSE_TIMEOUT_MS).await {
        if let ConsumerEvent::Failed(error) = event {
            complain!("highwater: {error}");
        }
    }
}
