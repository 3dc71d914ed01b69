//! The figures of logs and log directories, asked of the broker whenever somebody reads them.

use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry, Unit};

use super::per_broker::label;
use super::{Numbered, signed};

/// Partitions looked at while the broker's inputs wait.
const PARTITIONS_A_LOOK: u32 = 256;

type OfPartition = Family<[(&'static str, String); 3], Gauge>;
type OfBroker = Family<[(&'static str, String); 1], Gauge>;
type OfDirectory = Family<[(&'static str, String); 2], Gauge>;

/// Adds what Kafka has as `kafka.log:type=Log` and `kafka.log:type=LogManager`.
pub(super) fn register(registry: &mut Registry, brokers: &[Numbered]) {
    register_logs(registry, brokers);
    let (offline, counts) = (OfDirectory::default(), OfBroker::default());
    for (broker, driver) in brokers {
        let directories = driver.look(|broker| broker.log_directory_figures());
        let count = counts.get_or_create_owned(&[label(*broker)]);
        for directory in directories.unwrap_or_default() {
            let is_offline = i64::from(directory.is_offline);
            count.inc_by(is_offline);
            let labels = [label(*broker), ("log_directory", directory.path)];
            offline.get_or_create(&labels).set(is_offline);
        }
    }
    registry.register(
        "offline_log_directory_count",
        "Log directories that have failed",
        counts,
    );
    registry.register(
        "log_directory_offline",
        "Whether the log directory has failed (1) or works (0)",
        offline,
    );
}

fn register_logs(registry: &mut Registry, brokers: &[Numbered]) {
    let [sizes, starts, ends, watermarks, segments, in_sync] = [(); 6].map(|()| OfPartition::default());
    let [partitions, leaders, under_replicated, under_min_isr] = [(); 4].map(|()| OfBroker::default());
    for (broker, driver) in brokers {
        let of_broker = |counts: &OfBroker| counts.get_or_create_owned(&[label(*broker)]);
        let counts = [&partitions, &leaders, &under_replicated, &under_min_isr].map(of_broker);
        let mut next = Some(0);
        while let Some(from) = next {
            let look = driver.look(|broker| broker.log_figures(from, PARTITIONS_A_LOOK));
            let (logs, then) = look.unwrap_or_default();
            next = then;
            for log in logs {
                let labels = [
                    label(*broker),
                    ("topic", log.partition.topic.to_string()),
                    ("partition", log.partition.partition.to_string()),
                ];
                sizes.get_or_create(&labels).set(signed(log.size_bytes));
                starts.get_or_create(&labels).set(log.log_start_offset);
                ends.get_or_create(&labels).set(log.log_end_offset);
                watermarks.get_or_create(&labels).set(log.high_watermark);
                segments.get_or_create(&labels).set(signed(log.segments as u64));
                let leads = log.leads;
                if let Some(leads) = leads {
                    in_sync.get_or_create(&labels).set(signed(leads.in_sync as u64));
                }
                let counted = [
                    true,
                    leads.is_some(),
                    leads.is_some_and(|leads| leads.is_under_replicated()),
                    leads.is_some_and(|leads| leads.is_under_min_isr()),
                ];
                for (count, counts) in counts.iter().zip(counted) {
                    count.inc_by(i64::from(counts));
                }
            }
        }
    }
    registry.register_with_unit("log_size", "Size of the partition's log", Unit::Bytes, sizes);
    registry.register("log_start_offset", "First offset of the partition's log", starts);
    registry.register(
        "log_end_offset",
        "Offset after the last one of the partition's log",
        ends,
    );
    registry.register(
        "high_watermark",
        "Offset below which all in-sync replicas have the records, as this broker knows it",
        watermarks,
    );
    registry.register(
        "in_sync_replicas",
        "Replicas in the ISR, told by the broker that leads the partition",
        in_sync,
    );
    registry.register("partition_count", "Partitions with a replica here", partitions);
    registry.register("leader_count", "Partitions that this broker leads", leaders);
    registry.register(
        "under_replicated_partitions",
        "Partitions led here of which a replica is not in the ISR",
        under_replicated,
    );
    registry.register(
        "under_min_isr_partition_count",
        "Partitions led here that refuse producers with acks=all, too few replicas being in the ISR",
        under_min_isr,
    );
    registry.register("log_segments", "Segments of the partition's log", segments);
}
