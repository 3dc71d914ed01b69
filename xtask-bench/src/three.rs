//! Three brokers with a replica on each: what a cluster costs and gives.

use crate::broker::Broker;
use crate::loads::{Loads, Values};
use crate::plan::WARMING_OF_THREE_SHARE;
use crate::{Result, idle, statistics, topics};

pub fn started(broker: &Broker) -> Result<Values> {
    let [answer, memory] = idle::after_start(broker)?;
    Ok(vec![("three.first_answer", answer), ("three.memory", memory)])
}

pub fn warm(loads: &Loads, broker: &Broker) -> Result<()> {
    topics::create(broker, "warm", 1)?;
    loads.produce_one_kib(broker, "warm", loads.plan.warm_bytes / WARMING_OF_THREE_SHARE)?;
    topics::delete(broker, "warm")
}

/// 1 KiB messages to one partition with acks=all.
pub fn produce(loads: &Loads, broker: &Broker, topic: &str) -> Result<Values> {
    topics::create(broker, topic, 1)?;
    let work = loads.produce_one_kib(broker, topic, loads.plan.bytes_of_three)?;
    topics::delete(broker, topic)?;
    Ok(vec![
        ("three.produce", work.mb_a_second()),
        ("three.produce_cpu", work.cpu_per_gb()),
    ])
}

pub fn steady(loads: &Loads, broker: &Broker, topic: &str) -> Result<Values> {
    let (took_ms, cpu_s) = loads.steadily(broker, topic)?;
    let seconds = loads.plan.steady_s;
    Ok(vec![
        ("three.p50", statistics::quantile(&took_ms, 0.5)),
        ("three.p99", statistics::quantile(&took_ms, 0.99)),
        ("three.core", cpu_s * 100.0 / f64::from(seconds)),
    ])
}

pub fn most_memory(broker: &Broker) -> Result<Values> {
    Ok(vec![("three.memory_loaded", idle::most_mb(broker)?)])
}

/// 10,000 partitions, 30,000 logs.
pub fn partitions(loads: &Loads, broker: &Broker) -> Result<Values> {
    let [create, core, memory] = idle::many_partitions(broker, &loads.plan)?;
    Ok(vec![
        ("three.partitions_create", create),
        ("three.partitions_core", core),
        ("three.partitions_memory", memory),
    ])
}
