//! How long a producer waits when the leader of its partition goes: stopped cleanly, or killed.
//!
//! Three processes, one partition with a replica on each, acks=all, a message every few milliseconds.
//! What counts is the time from the signal, or from the last acknowledgement before it, to the next one.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rdkafka::client::ClientContext;
use rdkafka::message::DeliveryResult;
use rdkafka::producer::{BaseRecord, Producer, ProducerContext, ThreadedProducer};
use rustix::process::Signal;

use crate::broker::Broker;
use crate::loads::Values;
use crate::{Result, load, said, topics};

const TOPIC: &str = "led";
/// Between two messages.
const EVERY: Duration = Duration::from_millis(5);
/// No cluster is without a leader for so long, unless something is broken.
const LONGEST: Duration = Duration::from_secs(90);

/// When messages were acknowledged.
#[derive(Default)]
struct Acknowledged(Mutex<Vec<Instant>>);

impl ClientContext for Acknowledged {}

impl ProducerContext for Acknowledged {
    type DeliveryOpaque = ();

    fn delivery(&self, result: &DeliveryResult<'_>, (): ()) {
        if let (Ok(_), Ok(mut all)) = (result, self.0.lock()) {
            all.push(Instant::now());
        }
    }
}

/// The leader is stopped with SIGTERM, started again, and then killed: each gap in seconds.
pub fn measure(broker: &mut Broker) -> Result<Values> {
    if led(broker)?.is_none() {
        topics::create(broker, TOPIC, 1)?;
    }
    let stopped = gap(broker, Signal::TERM)?;
    let killed = gap(broker, Signal::KILL)?;
    Ok(vec![
        ("failover.stopped", stopped.as_secs_f64()),
        ("failover.killed", killed.as_secs_f64()),
    ])
}

/// The longest time without an acknowledgement after the leader got the signal. At the end it is back
/// and all replicas are in sync.
fn gap(broker: &mut Broker, signal: Signal) -> Result<Duration> {
    let leader = in_sync(broker)?;
    let producer: ThreadedProducer<Acknowledged> = load::client(&broker.address())
        .set("acks", "all")
        .set("linger.ms", "0")
        .set("retry.backoff.ms", "20")
        .set("topic.metadata.refresh.fast.interval.ms", "50")
        .set("reconnect.backoff.ms", "20")
        .create_with_context(Acknowledged::default())
        .map_err(said)?;
    let ending = Arc::new(AtomicBool::new(false));
    let signalled = std::thread::scope(|scope| {
        let sender = scope.spawn(|| send_until(&producer, &ending));
        let watched = watch(broker, leader, signal, &producer);
        ending.store(true, Ordering::Relaxed);
        sender.join().map_err(|_| "the sender ended".to_owned())??;
        watched
    })?;
    producer.flush(LONGEST).map_err(said)?;
    broker.start_again(leader)?;
    in_sync(broker)?;
    let all = producer.context().0.lock().map_err(said)?;
    Ok(longest_gap(&all, signalled))
}

fn send_until(producer: &ThreadedProducer<Acknowledged>, ending: &AtomicBool) -> Result<()> {
    while !ending.load(Ordering::Relaxed) {
        let record: BaseRecord<'_, (), [u8]> = BaseRecord::to(TOPIC).partition(0).payload(&[0; 100]);
        producer.send(record).map_err(|(error, _)| said(error))?;
        std::thread::sleep(EVERY);
    }
    Ok(())
}

/// Sends the signal once acknowledgements flow; answers when, after they flow again.
fn watch(
    broker: &mut Broker,
    leader: i32,
    signal: Signal,
    producer: &ThreadedProducer<Acknowledged>,
) -> Result<Instant> {
    let acknowledged = || producer.context().0.lock().map_or(0, |all| all.len());
    wait_for(|| Ok((acknowledged() > 100).then_some(())), "acknowledgements")?;
    let signalled = Instant::now();
    broker.end(leader, signal)?;
    // A leader that stops cleanly acknowledges for a while yet.
    wait_for(
        || Ok(leads(broker)?.filter(|now| *now != leader)),
        "another leader",
    )?;
    let before = acknowledged();
    wait_for(
        || Ok((acknowledged() > before + 100).then_some(())),
        "acknowledgements after it",
    )?;
    Ok(signalled)
}

fn longest_gap(acknowledged: &[Instant], signalled: Instant) -> Duration {
    let from = acknowledged
        .partition_point(|at| *at < signalled)
        .saturating_sub(1);
    let after = &acknowledged[from..];
    after
        .windows(2)
        .map(|two| two[1] - two[0].max(signalled))
        .max()
        .unwrap_or_default()
}

fn led(broker: &Broker) -> Result<Option<topics::Led>> {
    topics::led(&broker.address(), TOPIC)
}

fn leads(broker: &Broker) -> Result<Option<i32>> {
    Ok(led(broker)?.map(|led| led.leader).filter(|leader| *leader > 0))
}

/// The leader, once all replicas are in sync.
fn in_sync(broker: &Broker) -> Result<i32> {
    let all = broker.replicas() as usize;
    wait_for(
        || {
            Ok(led(broker)?
                .filter(|led| led.in_sync == all && led.leader > 0)
                .map(|led| led.leader))
        },
        "all replicas in sync",
    )
}

fn wait_for<T>(mut look: impl FnMut() -> Result<Option<T>>, what: &str) -> Result<T> {
    let began = Instant::now();
    while began.elapsed() < LONGEST {
        if let Some(found) = look()? {
            return Ok(found);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Err(format!("no {what} within {LONGEST:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_begins_with_the_signal_or_the_last_acknowledgement_after_it() {
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let acknowledged = [at(0), at(500), at(510), at(520), at(700), at(705)];
        assert_eq!(longest_gap(&acknowledged, at(505)), Duration::from_millis(180));
        assert_eq!(longest_gap(&acknowledged, at(600)), Duration::from_millis(100));
    }
}
