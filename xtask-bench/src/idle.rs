//! What a broker costs that does nothing: just started, with many connections, with many partitions.

use std::time::{Duration, Instant};

use crate::broker::Broker;
use crate::loads::Values;
use crate::plan::{PARTITIONS_OF_IDLE_TOPIC, Plan};
use crate::{Result, topics};

/// A broker that used less than this share of a core in one look has nothing left to do.
const QUIET_SHARE: f64 = 0.1;
const LOOK: Duration = Duration::from_millis(500);
/// No broker is busy for so long after its last answer, unless something is broken.
const LONGEST: Duration = Duration::from_secs(180);

pub fn started(broker: &Broker) -> Result<Values> {
    let [answer, memory] = after_start(broker)?;
    Ok(vec![("start.first_answer", answer), ("start.memory", memory)])
}

/// Milliseconds to the first answer, and megabytes a second later.
pub fn after_start(broker: &Broker) -> Result<[f64; 2]> {
    std::thread::sleep(Duration::from_secs(1));
    let memory = mb(broker.memory()?.resident_kib);
    Ok([broker.first_answer.as_secs_f64() * 1e3, memory])
}

pub fn most_memory(broker: &Broker) -> Result<Values> {
    Ok(vec![("memory.loaded", most_mb(broker)?)])
}

/// Megabytes at the most since the start.
pub fn most_mb(broker: &Broker) -> Result<f64> {
    Ok(mb(broker.memory()?.peak_kib))
}

/// Connections that have had one answer each and then are silent.
pub fn connections(broker: &Broker, plan: &Plan) -> Result<Values> {
    let before = broker.memory()?.resident_kib;
    let mut open = Vec::with_capacity(plan.idle_connections);
    for number in 0..plan.idle_connections {
        let connection = broker
            .connect()
            .map_err(|e| format!("connection {number}: {e}"))?;
        open.push(connection);
    }
    let share = core_share(broker, plan)?;
    let grown = broker.memory()?.resident_kib - before;
    Ok(vec![
        ("connections.memory", grown / open.len() as f64),
        ("connections.core", share),
    ])
}

/// Partitions that nobody writes to or reads from.
pub fn partitions(broker: &Broker, plan: &Plan) -> Result<Values> {
    let [create, core, memory] = many_partitions(broker, plan)?;
    Ok(vec![
        ("partitions.create", create),
        ("partitions.core", core),
        ("partitions.memory", memory),
    ])
}

/// Seconds to make them, percent of a core when they idle, megabytes.
pub fn many_partitions(broker: &Broker, plan: &Plan) -> Result<[f64; 3]> {
    let began = Instant::now();
    for topic in 0..plan.idle_topics {
        topics::create(broker, &format!("idle-{topic}"), PARTITIONS_OF_IDLE_TOPIC)?;
    }
    // Kafka answers first and makes the files after.
    wait_until_quiet(broker)?;
    let took_s = (began.elapsed() - LOOK).as_secs_f64();
    let share = core_share(broker, plan)?;
    Ok([took_s, share, mb(broker.memory()?.resident_kib)])
}

/// Waits until the broker has done what it was asked for before: that shall not count as idling.
fn wait_until_quiet(broker: &Broker) -> Result<()> {
    let began = Instant::now();
    loop {
        let before = broker.cpu()?;
        std::thread::sleep(LOOK);
        let used_s = broker.cpu()?.since(before).total_s();
        if used_s < QUIET_SHARE * LOOK.as_secs_f64() || began.elapsed() > LONGEST {
            return Ok(());
        }
    }
}

/// Percent of a core that the broker uses while nothing is asked of it.
fn core_share(broker: &Broker, plan: &Plan) -> Result<f64> {
    wait_until_quiet(broker)?;
    let (before, began) = (broker.cpu()?, Instant::now());
    std::thread::sleep(Duration::from_secs(plan.idle_s));
    let used_s = broker.cpu()?.since(before).total_s();
    Ok(used_s * 100.0 / began.elapsed().as_secs_f64())
}

fn mb(kib: f64) -> f64 {
    kib * 1024.0 / 1e6
}
