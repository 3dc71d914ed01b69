//! Every topic key of Kafka 4.4, sorted by name.
//!
//! A line reads: name, type, default, valid values, importance, and the broker keys that stand in for
//! it where the topic sets nothing: the first that is set counts, times its factor.

use super::key::{ConfigKey, ConfigType::*, Importance::*, UpdateMode::*, Valid::*, keys};

keys! { pub static TOPIC_KEYS =
    "cleanup.policy": List = "delete" in EachOf(&["compact", "delete"]), Medium, PerTopic, from [("log.cleanup.policy", 1)],
        "What happens to old segments: `delete`, `compact`, both, or nothing.";
    "compression.gzip.level": Int = "-1" in GzipLevel, Medium, PerTopic, from [("compression.gzip.level", 1)],
        "Compression level for batches that the broker writes in gzip.";
    "compression.lz4.level": Int = "9" in Between(1, 17), Medium, PerTopic, from [("compression.lz4.level", 1)],
        "Compression level for batches that the broker writes in lz4.";
    "compression.type": Text = "producer" in OneOf(&["uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"]), Medium, PerTopic, from [("compression.type", 1)],
        "Codec in which batches are stored. `producer` keeps what the producer chose.";
    "compression.zstd.level": Int = "3" in Between(-131072, 22), Medium, PerTopic, from [("compression.zstd.level", 1)],
        "Compression level for batches that the broker writes in zstd.";
    "delete.retention.ms": Long = "86400000" in AtLeast(0), Medium, PerTopic, from [("log.cleaner.delete.retention.ms", 1)],
        "How long tombstones and transaction markers are kept in a compacted log.";
    "errors.deadletterqueue.group.enable": Boolean = "false", Medium, PerTopic, from [],
        "Whether share groups may use the topic as a dead letter queue.";
    "file.delete.delay.ms": Long = "60000" in AtLeast(0), Medium, PerTopic, from [("log.segment.delete.delay.ms", 1)],
        "How long a deleted file stays on disk under its `.deleted` name.";
    "flush.messages": Long = "9223372036854775807" in AtLeast(1), Medium, PerTopic, from [("log.flush.interval.messages", 1)],
        "Force the log to the medium after this many records; 1 does so for each batch before its answer.";
    "flush.ms": Long = "9223372036854775807" in AtLeast(0), Medium, PerTopic, from [("log.flush.interval.ms", 1), ("log.flush.scheduler.interval.ms", 1)],
        "Force the log to the medium at the latest after this long.";
    "follower.replication.throttled.replicas": List = "" in ThrottledReplicas, Medium, PerTopic, from [],
        "Replicas throttled on the follower's side, as `partition:broker`, or `*`.";
    "index.interval.bytes": Int = "4096" in AtLeast(0), Medium, PerTopic, from [("log.index.interval.bytes", 1)],
        "Bytes of records between two entries of the offset index.";
    "internal.segment.bytes": Int = unset, Medium, PerTopic, from [],
        "Segment size without the lower limit of `segment.bytes`, for tests and lessons.";
    "leader.replication.throttled.replicas": List = "" in ThrottledReplicas, Medium, PerTopic, from [],
        "Replicas throttled on the leader's side, as `partition:broker`, or `*`.";
    "local.retention.bytes": Long = "-2" in AtLeast(-2), Medium, PerTopic, from [("log.local.retention.bytes", 1)],
        "Bytes kept on local disks of a tiered log; -2 takes `retention.bytes`.";
    "local.retention.ms": Long = "-2" in AtLeast(-2), Medium, PerTopic, from [("log.local.retention.ms", 1)],
        "Time kept on local disks of a tiered log; -2 takes `retention.ms`.";
    "max.compaction.lag.ms": Long = "9223372036854775807" in AtLeast(1), Medium, PerTopic, from [("log.cleaner.max.compaction.lag.ms", 1)],
        "Longest time that a record may stay without compaction.";
    "max.decompressed.message.bytes": Int = "2147483639" in Between(1, 2147483639), Medium, PerTopic, from [("max.decompressed.message.bytes", 1)],
        "Largest size to which a batch may be decompressed.";
    "max.message.bytes": Int = "1048588" in AtLeast(0), Medium, PerTopic, from [("message.max.bytes", 1)],
        "Largest size of a batch as it is stored, compressed.";
    "message.timestamp.after.max.ms": Long = "3600000" in AtLeast(0), Medium, PerTopic, from [("log.message.timestamp.after.max.ms", 1)],
        "How far a record's timestamp may lie ahead of the broker's clock.";
    "message.timestamp.before.max.ms": Long = "9223372036854775807" in AtLeast(0), Medium, PerTopic, from [("log.message.timestamp.before.max.ms", 1)],
        "How far a record's timestamp may lie behind the broker's clock.";
    "message.timestamp.type": Text = "CreateTime" in OneOf(&["CreateTime", "LogAppendTime"]), Medium, PerTopic, from [("log.message.timestamp.type", 1)],
        "Whose time a record carries: the producer's (CreateTime) or the broker's (LogAppendTime).";
    "min.cleanable.dirty.ratio": Double = "0.5" in Between(0, 1), Medium, PerTopic, from [("log.cleaner.min.cleanable.ratio", 1)],
        "Share of the log that must be dirty before it is cleaned.";
    "min.compaction.lag.ms": Long = "0" in AtLeast(0), Medium, PerTopic, from [("log.cleaner.min.compaction.lag.ms", 1)],
        "Shortest time that a record stays untouched by compaction.";
    "min.insync.replicas": Int = "1" in AtLeast(1), Medium, PerTopic, from [("min.insync.replicas", 1)],
        "Replicas that must have a record before a producer with acks=all is told that it is safe.";
    "preallocate": Boolean = "false", Medium, PerTopic, from [("log.preallocate", 1)],
        "Give a new segment its full size at once.";
    "remote.copy.lag.bytes": Long = "-1" in AtLeast(-1), Medium, PerTopic, from [("log.remote.copy.lag.bytes", 1)],
        "Bytes that a rolled segment of a tiered log stays behind before it is copied.";
    "remote.copy.lag.ms": Long = "0" in AtLeast(-1), Medium, PerTopic, from [("log.remote.copy.lag.ms", 1)],
        "Time that a rolled segment of a tiered log waits before it is copied.";
    "remote.log.copy.disable": Boolean = "false", Medium, PerTopic, from [],
        "Stop copying a tiered log's segments.";
    "remote.log.delete.on.disable": Boolean = "false", Medium, PerTopic, from [],
        "Delete the copied segments when tiering is switched off.";
    "remote.storage.enable": Boolean = "false", Medium, PerTopic, from [],
        "Tiered storage; refused here, as by a Kafka broker without it.";
    "retention.bytes": Long = "-1", Medium, PerTopic, from [("log.retention.bytes", 1)],
        "Bytes of one partition to keep; -1 sets no limit.";
    "retention.ms": Long = "604800000" in AtLeast(-1), Medium, PerTopic, from [("log.retention.ms", 1), ("log.retention.minutes", 60000), ("log.retention.hours", 3600000)],
        "How long records are kept; -1 keeps them for ever.";
    "segment.bytes": Int = "1073741824" in AtLeast(1048576), Medium, PerTopic, from [("log.segment.bytes", 1)],
        "Largest size of a segment.";
    "segment.index.bytes": Int = "10485760" in AtLeast(4), Medium, PerTopic, from [("log.index.size.max.bytes", 1)],
        "Largest size of an offset index.";
    "segment.jitter.ms": Long = "0" in AtLeast(0), Medium, PerTopic, from [("log.roll.jitter.ms", 1), ("log.roll.jitter.hours", 3600000)],
        "Random time taken off `segment.ms`, so that not all segments roll at once.";
    "segment.ms": Long = "604800000" in AtLeast(1), Medium, PerTopic, from [("log.roll.ms", 1), ("log.roll.hours", 3600000)],
        "Begin a new segment after this long.";
    "unclean.leader.election.enable": Boolean = "false", Medium, PerTopic, from [("unclean.leader.election.enable", 1)],
        "Let a replica outside the ISR lead when none inside it lives. Acknowledged records may be lost.";
}
