//! Every broker key, sorted by name: Kafka 4.4's, less those for what this broker has not (security,
//! tiered storage, share and streams groups, the KRaft quorum), and the ZooKeeper way's of Kafka 3.9.
//!
//! A line reads: name, type, default, valid values, importance, how it may change
//! while the broker runs.

use super::key::{ConfigKey, ConfigType::*, Importance::*, UpdateMode::*, Valid::*, keys};

keys! { pub static BROKER_KEYS =
    "advertised.listeners": List = unset, High, ReadOnly,
        "Addresses that clients are told to connect to, if they differ from `listeners`. 0.0.0.0 is refused here, since no client could use it.";
    "alter.log.dirs.replication.quota.window.num": Int = "11" in AtLeast(1), Low, ReadOnly,
        "How many samples to keep for the quota on moves between log directories.";
    "alter.log.dirs.replication.quota.window.size.seconds": Int = "1" in AtLeast(1), Low, ReadOnly,
        "Length of one such sample.";
    "auto.create.topics.enable": Boolean = "true", High, ReadOnly,
        "Create a topic when a client asks for the metadata of one that does not exist.";
    "auto.leader.rebalance.enable": Boolean = "true", High, ReadOnly,
        "Move leadership back to preferred replicas in the background.";
    "background.threads": Int = "10" in AtLeast(1), High, ClusterWide,
        "Threads for background chores. Accepted for compatibility; chores here run on a shared pool.";
    "broker.heartbeat.interval.ms": Int = "2000", Medium, ReadOnly,
        "How often a broker tells the controller quorum that it lives (KRaft way).";
    "broker.id": Int = "-1", High, ReadOnly,
        "Number of this broker in the cluster (ZooKeeper way). With -1 `node.id` is taken.";
    "broker.id.generation.enable": Boolean = "true", Medium, ReadOnly,
        "Draw a broker id above `reserved.broker.max.id` when none is set.";
    "broker.rack": Text = unset, Medium, ReadOnly,
        "Where the broker stands. Replicas are spread over racks.";
    "broker.session.timeout.ms": Int = "9000", Medium, ReadOnly,
        "How long a broker may be silent before the controller quorum fences it (KRaft way).";
    "compression.gzip.level": Int = "-1" in GzipLevel, Medium, ClusterWide,
        "Compression level for batches that the broker writes in gzip.";
    "compression.lz4.level": Int = "9" in Between(1, 17), Medium, ClusterWide,
        "Compression level for batches that the broker writes in lz4.";
    "compression.type": Text = "producer" in OneOf(&["uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"]), High, ClusterWide,
        "Codec in which batches are stored. `producer` keeps what the producer chose.";
    "compression.zstd.level": Int = "3" in Between(-131072, 22), Medium, ClusterWide,
        "Compression level for batches that the broker writes in zstd.";
    "connection.failed.authentication.delay.ms": Int = "100" in AtLeast(0), Low, ReadOnly,
        "How long to wait before closing a connection whose authentication failed.";
    "connections.max.idle.ms": Long = "600000", Medium, ReadOnly,
        "Close a connection on which nothing happened for this long.";
    "connections.max.reauth.ms": Long = "0", Medium, ReadOnly,
        "Longest life of a session before the client must authenticate again; 0 sets no limit.";
    "control.plane.listener.name": Text = unset, High, ReadOnly,
        "Name of the listener that the controller uses to reach brokers.";
    "controlled.shutdown.enable": Boolean = "true", Medium, ReadOnly,
        "Hand leadership over before stopping.";
    "controlled.shutdown.max.retries": Int = "3", Medium, ReadOnly,
        "How often a controlled shutdown is tried.";
    "controlled.shutdown.retry.backoff.ms": Long = "5000", Medium, ReadOnly,
        "Wait between two tries of a controlled shutdown.";
    "controller.listener.names": List = unset, High, ReadOnly,
        "Names of the listeners that the controller serves (KRaft way).";
    "controller.quota.window.num": Int = "11" in AtLeast(1), Low, ReadOnly,
        "How many samples to keep for the quota on controller mutations.";
    "controller.quota.window.size.seconds": Int = "1" in AtLeast(1), Low, ReadOnly,
        "Length of one such sample.";
    "controller.socket.timeout.ms": Int = "30000", Medium, ReadOnly,
        "How long controller and broker wait for each other's answers, before they connect anew.";
    "cordoned.log.dirs": List = "", Medium, PerBroker,
        "Log directories that take no new partition; `*` stands for all of them.";
    "default.replication.factor": Int = "1", Medium, ReadOnly,
        "Replicas of a topic that is created without saying how many.";
    "delete.records.purgatory.purge.interval.requests": Int = "1", Medium, ReadOnly,
        "How many finished DeleteRecords may wait to be swept. Accepted for compatibility; here nothing waits.";
    "delete.topic.enable": Boolean = "true", High, ReadOnly,
        "Whether topics may be deleted at all.";
    "early.start.listeners": List = unset, High, ReadOnly,
        "Listeners that open before the broker is ready.";
    "fetch.max.bytes": Int = "57671680" in AtLeast(1024), Medium, ReadOnly,
        "Most bytes that one fetch answer holds; the first batch is always sent whole.";
    "fetch.purgatory.purge.interval.requests": Int = "1000", Medium, ReadOnly,
        "How many finished fetches may wait to be swept. Accepted for compatibility; here nothing waits.";
    "follower.replication.throttled.rate": Long = "9223372036854775807" in AtLeast(0), Medium, ClusterWide,
        "Bytes in a second that followers may take of throttled replicas.";
    "group.consumer.assignors": List = "uniform,range", Medium, ReadOnly,
        "Server-side assignors that consumer groups may use, the default first.";
    "group.consumer.heartbeat.interval.ms": Int = "5000" in AtLeast(1), Medium, ReadOnly,
        "How often members of a consumer group are told to send heartbeats.";
    "group.consumer.max.heartbeat.interval.ms": Int = "15000" in AtLeast(1), Medium, ReadOnly,
        "Largest heartbeat interval that a consumer group may set.";
    "group.consumer.max.session.timeout.ms": Int = "60000" in AtLeast(1), Medium, ReadOnly,
        "Longest session that a consumer group may set.";
    "group.consumer.max.size": Int = "2147483647" in AtLeast(1), Medium, ReadOnly,
        "Most members of one consumer group.";
    "group.consumer.migration.policy": Text = "bidirectional" in OneOfAnyCase(&["DISABLED", "DOWNGRADE", "UPGRADE", "BIDIRECTIONAL"]), Medium, ReadOnly,
        "Whether groups may change between the classic and the consumer protocol, and in which direction.";
    "group.consumer.min.heartbeat.interval.ms": Int = "5000" in AtLeast(1), Medium, ReadOnly,
        "Smallest heartbeat interval that a consumer group may set.";
    "group.consumer.min.session.timeout.ms": Int = "45000" in AtLeast(1), Medium, ReadOnly,
        "Shortest session that a consumer group may set.";
    "group.consumer.session.timeout.ms": Int = "45000" in AtLeast(1), Medium, ReadOnly,
        "How long a member of a consumer group may be silent before it is removed.";
    "group.coordinator.append.linger.ms": Int = "-1" in AtLeast(-1), Medium, ReadOnly,
        "How long the group coordinator gathers records before it writes them; -1 adapts.";
    "group.coordinator.rebalance.protocols": List = "classic,consumer,streams" in EachOf(&["consumer", "classic", "share", "streams"]), Medium, ReadOnly,
        "Group protocols that the broker serves.";
    "group.coordinator.threads": Int = "4" in AtLeast(1), High, ReadOnly,
        "Threads of the group coordinator. Accepted for compatibility.";
    "group.initial.rebalance.delay.ms": Int = "3000", Medium, ReadOnly,
        "How long the first rebalance of a new group waits for more members.";
    "group.max.session.timeout.ms": Int = "1800000", Medium, ReadOnly,
        "Longest session timeout that a member of a classic group may ask for.";
    "group.max.size": Int = "2147483647" in AtLeast(1), Medium, ReadOnly,
        "Most members of one classic group.";
    "group.min.session.timeout.ms": Int = "6000", Medium, ReadOnly,
        "Shortest session timeout that a member of a classic group may ask for.";
    "initial.broker.registration.timeout.ms": Int = "60000", Medium, ReadOnly,
        "How long to wait for the first registration with the controller quorum (KRaft way).";
    "inter.broker.listener.name": Text = unset, Medium, ReadOnly,
        "Name of the listener on which brokers speak to one another.";
    "internal.check.broker.epochs": Boolean = "true", Low, ReadOnly,
        "Whether a replica enters the ISR only in the life of its broker that the cluster knows. Off only for lessons on what is lost without.";
    "internal.replica.truncation": Text = "leader-epoch" in OneOf(&["high-watermark", "offset-for-leader-epoch", "leader-epoch"]), Low, ReadOnly,
        "How a follower finds where its log and its new leader's part ways. The older ways are for lessons on what they lost.";
    "leader.imbalance.check.interval.seconds": Long = "300" in AtLeast(1), High, ReadOnly,
        "How often the controller looks for leaders that are not the preferred ones.";
    "leader.imbalance.per.broker.percentage": Int = "10", High, ReadOnly,
        "Share of non-preferred leaders on a broker, in percent, above which they are moved back.";
    "leader.replication.throttled.rate": Long = "9223372036854775807" in AtLeast(0), Medium, ClusterWide,
        "Bytes in a second that leaders may send of throttled replicas.";
    "listener.security.protocol.map": Text = "SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT", Low, PerBroker,
        "Security protocol of each listener name. Only PLAINTEXT is served here.";
    "listeners": List = "PLAINTEXT://:9092", High, PerBroker,
        "Addresses to listen on, as NAME://HOST:PORT. An empty host means every interface.";
    "log.cleaner.backoff.ms": Long = "15000" in AtLeast(0), Medium, ClusterWide,
        "How long the cleaner sleeps when there is nothing to clean.";
    "log.cleaner.dedupe.buffer.size": Long = "134217728", Medium, ClusterWide,
        "Memory for the offset maps of all cleaner threads, in bytes.";
    "log.cleaner.delete.retention.ms": Long = "86400000" in AtLeast(0), Medium, ClusterWide,
        "How long tombstones and transaction markers are kept in a compacted log.";
    "log.cleaner.enable": Boolean = "true", Medium, ReadOnly,
        "Run the log cleaner.";
    "log.cleaner.io.buffer.load.factor": Double = "0.9", Medium, ClusterWide,
        "How full the cleaner's offset map may get.";
    "log.cleaner.io.buffer.size": Int = "524288" in AtLeast(0), Medium, ClusterWide,
        "Memory for the cleaner's reads and writes, in bytes.";
    "log.cleaner.io.max.bytes.per.second": Double = "1.7976931348623157E308", Medium, ClusterWide,
        "Most bytes that the cleaner reads and writes in a second.";
    "log.cleaner.max.compaction.lag.ms": Long = "9223372036854775807" in AtLeast(1), Medium, ClusterWide,
        "Longest time that a record may stay without compaction.";
    "log.cleaner.min.cleanable.ratio": Double = "0.5" in Between(0, 1), Medium, ClusterWide,
        "Share of a log that must be dirty before it is cleaned.";
    "log.cleaner.min.compaction.lag.ms": Long = "0" in AtLeast(0), Medium, ClusterWide,
        "Shortest time that a record stays untouched by compaction.";
    "log.cleaner.threads": Int = "1" in AtLeast(0), Medium, ClusterWide,
        "Threads of the cleaner.";
    "log.cleanup.policy": List = "delete" in EachOf(&["compact", "delete"]), Medium, ClusterWide,
        "What happens to old segments: `delete`, `compact`, or both.";
    "log.dir": List = "/tmp/kafka-logs", High, ReadOnly,
        "Where logs are kept, if `log.dirs` is not set.";
    "log.dir.failure.timeout.ms": Long = "30000" in AtLeast(1), Low, ReadOnly,
        "Stop the broker when it cannot report a failed log directory for this long (KRaft way).";
    "log.dirs": List = unset, High, ReadOnly,
        "Directories that hold the logs, separated by commas.";
    "log.flush.interval.messages": Long = "9223372036854775807" in AtLeast(1), High, ClusterWide,
        "Force a log to the medium after this many records.";
    "log.flush.interval.ms": Long = unset, High, ClusterWide,
        "Force a log to the medium at the latest after this long; unset takes `log.flush.scheduler.interval.ms`.";
    "log.flush.offset.checkpoint.interval.ms": Int = "60000" in AtLeast(0), High, ReadOnly,
        "How often the recovery points are written.";
    "log.flush.scheduler.interval.ms": Long = "9223372036854775807", High, ReadOnly,
        "How often to look for logs that are due to be forced to the medium.";
    "log.flush.start.offset.checkpoint.interval.ms": Int = "60000" in AtLeast(0), High, ReadOnly,
        "How often the log start offsets are written.";
    "log.index.interval.bytes": Int = "4096" in AtLeast(0), Medium, ClusterWide,
        "Bytes of records between two entries of the offset index.";
    "log.index.size.max.bytes": Int = "10485760" in AtLeast(4), Medium, ClusterWide,
        "Largest size of an offset index.";
    "log.local.retention.bytes": Long = "-2" in AtLeast(-2), Medium, ClusterWide,
        "Bytes kept on local disks of a tiered log; -2 takes `log.retention.bytes`.";
    "log.local.retention.ms": Long = "-2" in AtLeast(-2), Medium, ClusterWide,
        "Time kept on local disks of a tiered log; -2 takes `log.retention.ms`.";
    "log.message.timestamp.after.max.ms": Long = "3600000" in AtLeast(0), Medium, ClusterWide,
        "How far a record's timestamp may lie ahead of the broker's clock.";
    "log.message.timestamp.before.max.ms": Long = "9223372036854775807" in AtLeast(0), Medium, ClusterWide,
        "How far a record's timestamp may lie behind the broker's clock.";
    "log.message.timestamp.type": Text = "CreateTime" in OneOf(&["CreateTime", "LogAppendTime"]), Medium, ClusterWide,
        "Whose time a record carries: the producer's (CreateTime) or the broker's (LogAppendTime).";
    "log.preallocate": Boolean = "false", Medium, ClusterWide,
        "Give a new segment its full size at once.";
    "log.remote.copy.lag.bytes": Long = "-1" in AtLeast(-1), Medium, ClusterWide,
        "Bytes that a rolled segment of a tiered log stays behind before it is copied.";
    "log.remote.copy.lag.ms": Long = "0" in AtLeast(-1), Medium, ClusterWide,
        "Time that a rolled segment of a tiered log waits before it is copied.";
    "log.retention.bytes": Long = "-1", High, ClusterWide,
        "Bytes of one partition to keep; -1 sets no limit.";
    "log.retention.check.interval.ms": Long = "300000" in AtLeast(1), Medium, ReadOnly,
        "How often to look for segments to delete.";
    "log.retention.hours": Int = "168", High, ReadOnly,
        "How long records are kept, if neither the minutes nor the ms are set.";
    "log.retention.minutes": Int = unset, High, ReadOnly,
        "How long records are kept, if the ms are not set.";
    "log.retention.ms": Long = unset, High, ClusterWide,
        "How long records are kept; -1 keeps them for ever.";
    "log.roll.hours": Int = "168" in AtLeast(1), High, ReadOnly,
        "Begin a new segment after this long, if the ms are not set.";
    "log.roll.jitter.hours": Int = "0" in AtLeast(0), High, ReadOnly,
        "Random time taken off `log.roll.hours`, if the ms are not set.";
    "log.roll.jitter.ms": Long = unset, High, ClusterWide,
        "Random time taken off `log.roll.ms`, so that not all segments roll at once.";
    "log.roll.ms": Long = unset, High, ClusterWide,
        "Begin a new segment after this long.";
    "log.segment.bytes": Int = "1073741824" in AtLeast(1048576), High, ClusterWide,
        "Largest size of a segment.";
    "log.segment.delete.delay.ms": Long = "60000" in AtLeast(0), High, ClusterWide,
        "How long a deleted file stays on disk under its `.deleted` name.";
    "max.connection.creation.rate": Int = "2147483647" in AtLeast(0), Medium, ClusterWide,
        "Most new connections in a second.";
    "max.connections": Int = "2147483647" in AtLeast(0), Medium, ClusterWide,
        "Most connections of the broker at one time.";
    "max.connections.per.ip": Int = "2147483647" in AtLeast(0), Medium, ClusterWide,
        "Most connections from one address.";
    "max.connections.per.ip.overrides": Text = "", Medium, ClusterWide,
        "Addresses with a limit of their own, as `host:limit`, separated by commas.";
    "max.decompressed.message.bytes": Int = "2147483639" in Between(1, 2147483639), Medium, ClusterWide,
        "Largest size to which a batch may be decompressed.";
    "max.incremental.fetch.session.cache.slots": Int = "1000" in AtLeast(0), Medium, ReadOnly,
        "Most fetch sessions kept at one time.";
    "max.request.partition.size.limit": Int = "2000" in AtLeast(1), Medium, ReadOnly,
        "Most partitions in one answer to DescribeTopicPartitions.";
    "message.max.bytes": Int = "1048588" in AtLeast(0), High, ClusterWide,
        "Largest size of a batch as it is stored, compressed.";
    "metric.reporters": List = "org.apache.kafka.common.metrics.JmxReporter", Low, ClusterWide,
        "Classes that report metrics. Accepted for compatibility; metrics are served over HTTP here.";
    "metrics.num.samples": Int = "2" in AtLeast(1), Low, ReadOnly,
        "Samples kept for each metric.";
    "metrics.recording.level": Text = "INFO", Low, ReadOnly,
        "How much is measured.";
    "metrics.sample.window.ms": Long = "30000" in AtLeast(1), Low, ReadOnly,
        "Length of one sample.";
    "min.insync.replicas": Int = "1" in AtLeast(1), High, ClusterWide,
        "Replicas that must have a record before a producer with acks=all is told that it is safe.";
    "node.id": Int = "-1" in AtLeast(-1), High, ReadOnly,
        "Number of this node in the cluster.";
    "num.io.threads": Int = "8" in AtLeast(1), High, ClusterWide,
        "Threads that handle requests. Accepted for compatibility.";
    "num.network.threads": Int = "3" in AtLeast(1), High, ClusterWide,
        "Threads that move bytes between sockets and requests. Accepted for compatibility.";
    "num.partitions": Int = "1" in AtLeast(1), Medium, ReadOnly,
        "Partitions of a topic that is created without saying how many.";
    "num.recovery.threads.per.data.dir": Int = "2" in AtLeast(1), High, ClusterWide,
        "How many logs of one directory are recovered at the same time.";
    "num.replica.alter.log.dirs.threads": Int = unset, High, ReadOnly,
        "Threads that move replicas between log directories.";
    "num.replica.fetchers": Int = "1" in AtLeast(1), High, ClusterWide,
        "Fetchers for each leader's broker.";
    "offset.metadata.max.bytes": Int = "4096", High, ReadOnly,
        "Most bytes of text that a consumer may store with an offset.";
    "offsets.commit.timeout.ms": Int = "5000" in AtLeast(1), High, ReadOnly,
        "How long an offset commit may wait for its replicas.";
    "offsets.load.buffer.size": Int = "5242880" in AtLeast(1), High, ReadOnly,
        "Bytes read at a time while offsets are loaded.";
    "offsets.retention.check.interval.ms": Long = "600000" in AtLeast(1), High, ReadOnly,
        "How often to look for expired offsets.";
    "offsets.retention.minutes": Int = "10080" in AtLeast(1), High, ReadOnly,
        "How long the offsets of a group without members are kept.";
    "offsets.topic.compression.codec": Int = "0", High, ReadOnly,
        "Number of the codec of `__consumer_offsets`.";
    "offsets.topic.num.partitions": Int = "50" in AtLeast(1), High, ReadOnly,
        "Partitions of `__consumer_offsets`; never to be changed later.";
    "offsets.topic.replication.factor": Short = "3" in AtLeast(1), High, ReadOnly,
        "Replicas of `__consumer_offsets`.";
    "offsets.topic.segment.bytes": Int = "104857600" in AtLeast(1), High, ReadOnly,
        "Segment size of `__consumer_offsets`.";
    "process.roles": List = unset in EachOf(&["broker", "controller"]), High, ReadOnly,
        "Whether the node is a broker, a controller, or both (KRaft way).";
    "producer.id.expiration.ms": Int = "86400000" in AtLeast(1), Low, ClusterWide,
        "How long a partition remembers a producer that sends nothing.";
    "producer.purgatory.purge.interval.requests": Int = "1000", Medium, ReadOnly,
        "How many finished produces may wait to be swept. Accepted for compatibility; here nothing waits.";
    "queued.max.request.bytes": Long = "-1", Medium, ReadOnly,
        "Most bytes of requests that wait; -1 sets no limit of its own.";
    "queued.max.requests": Int = "500" in AtLeast(1), High, ReadOnly,
        "Most requests that wait to be handled.";
    "quota.window.num": Int = "11" in AtLeast(1), Low, ReadOnly,
        "Samples kept for client quotas.";
    "quota.window.size.seconds": Int = "1" in AtLeast(1), Low, ReadOnly,
        "Length of one such sample.";
    "replica.alter.log.dirs.io.max.bytes.per.second": Long = "9223372036854775807" in AtLeast(0), Medium, ClusterWide,
        "Bytes in a second for moves between log directories.";
    "replica.fetch.backoff.ms": Int = "1000" in AtLeast(0), Medium, ReadOnly,
        "How long a fetcher rests after an error.";
    "replica.fetch.max.bytes": Int = "1048576" in AtLeast(0), Medium, ReadOnly,
        "Bytes that a follower asks for of each partition.";
    "replica.fetch.min.bytes": Int = "1", High, ReadOnly,
        "Bytes that a follower's fetch waits for.";
    "replica.fetch.response.max.bytes": Int = "10485760" in AtLeast(0), Medium, ReadOnly,
        "Bytes that a follower asks for in one answer.";
    "replica.fetch.wait.max.ms": Int = "500", High, ReadOnly,
        "Longest wait of a follower's fetch; to be below `replica.lag.time.max.ms`.";
    "replica.high.watermark.checkpoint.interval.ms": Long = "5000", High, ReadOnly,
        "How often high watermarks are written.";
    "replica.lag.time.max.ms": Long = "30000", High, ReadOnly,
        "A follower that was not caught up for this long leaves the ISR.";
    "replica.selector.class": Text = unset, Medium, ReadOnly,
        "Class that chooses the replica a consumer reads from.";
    "replica.socket.receive.buffer.bytes": Int = "65536", High, ReadOnly,
        "Receive buffer of a fetcher's socket.";
    "replica.socket.timeout.ms": Int = "30000", High, ReadOnly,
        "How long a fetcher waits for an answer, before it connects anew; at least `replica.fetch.wait.max.ms`.";
    "replication.quota.window.num": Int = "11" in AtLeast(1), Low, ReadOnly,
        "Samples kept for replication quotas.";
    "replication.quota.window.size.seconds": Int = "1" in AtLeast(1), Low, ReadOnly,
        "Length of one such sample.";
    "request.timeout.ms": Int = "30000", High, ReadOnly,
        "How long the controller may take to make a topic that a client of this broker named.";
    "reserved.broker.max.id": Int = "1000" in AtLeast(0), Medium, ReadOnly,
        "Largest broker id that may be set by hand.";
    "security.inter.broker.protocol": Text = "PLAINTEXT" in OneOf(&["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"]), Medium, ReadOnly,
        "Security protocol between brokers. Only PLAINTEXT is served here.";
    "socket.connection.setup.timeout.max.ms": Long = "30000", Medium, ReadOnly,
        "Longest wait for a connection to another broker, after retries.";
    "socket.connection.setup.timeout.ms": Long = "10000", Medium, ReadOnly,
        "First wait for a connection to another broker.";
    "socket.listen.backlog.size": Int = "50" in AtLeast(1), Medium, ReadOnly,
        "Connections that may wait to be accepted.";
    "socket.receive.buffer.bytes": Int = "102400", High, ReadOnly,
        "Receive buffer of a client's socket; -1 leaves it to the system.";
    "socket.request.max.bytes": Int = "104857600" in AtLeast(1), High, ReadOnly,
        "Largest request that is read; a longer one closes its connection.";
    "socket.send.buffer.bytes": Int = "102400", High, ReadOnly,
        "Send buffer of a client's socket; -1 leaves it to the system.";
    "telemetry.max.bytes": Int = "1048576" in AtLeast(1), Low, ReadOnly,
        "Most bytes of metrics that a client may push at once.";
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": Int = "10000" in AtLeast(1), Low, ReadOnly,
        "How often to look for transactions that ran out of time.";
    "transaction.max.timeout.ms": Int = "900000" in AtLeast(1), High, ReadOnly,
        "Longest time that a client may ask for a transaction.";
    "transaction.partition.verification.enable": Boolean = "true", Low, ClusterWide,
        "Check that a partition belongs to the transaction before a record is added to it.";
    "transaction.remove.expired.transaction.cleanup.interval.ms": Int = "3600000" in AtLeast(1), Low, ReadOnly,
        "How often to look for expired transactional ids.";
    "transaction.state.log.load.buffer.size": Int = "5242880" in AtLeast(1), High, ReadOnly,
        "Bytes read at a time while transactions are loaded.";
    "transaction.state.log.min.isr": Int = "2" in AtLeast(1), High, ReadOnly,
        "`min.insync.replicas` of `__transaction_state`.";
    "transaction.state.log.num.partitions": Int = "50" in AtLeast(1), High, ReadOnly,
        "Partitions of `__transaction_state`; never to be changed later.";
    "transaction.state.log.replication.factor": Short = "3" in AtLeast(1), High, ReadOnly,
        "Replicas of `__transaction_state`.";
    "transaction.state.log.segment.bytes": Int = "104857600" in AtLeast(1), High, ReadOnly,
        "Segment size of `__transaction_state`.";
    "transaction.two.phase.commit.enable": Boolean = "false", Low, ReadOnly,
        "Whether clients may take part in a two-phase commit.";
    "transactional.id.expiration.ms": Int = "604800000" in AtLeast(1), High, ReadOnly,
        "How long a transactional id without activity is remembered.";
    "unclean.leader.election.enable": Boolean = "false", High, ClusterWide,
        "Let a replica outside the ISR lead when none inside it lives. Acknowledged records may be lost.";
    "zookeeper.connect": Text = unset, High, ReadOnly,
        "Addresses of a ZooKeeper ensemble, HOST:PORT with commas between, a path at the end if wanted. Unset keeps the state in this broker.";
    "zookeeper.connection.timeout.ms": Int = unset, High, ReadOnly,
        "Longest wait for the first connection to ZooKeeper; unset takes the session timeout.";
    "zookeeper.max.in.flight.requests": Int = "10" in AtLeast(1), High, ReadOnly,
        "Requests sent to ZooKeeper before waiting for an answer.";
    "zookeeper.session.timeout.ms": Int = "18000", High, ReadOnly,
        "How long ZooKeeper keeps a silent broker's session.";
    "zookeeper.set.acl": Boolean = "false", High, ReadOnly,
        "Write nodes with access control lists.";
}
