//! Where our answer is another than Kafka's.

/// The case, and the first column of the row of the page of differences that says why.
pub const ROWS: &[(&str, &str)] = &[
    ("CreateTopics 5: a topic", MIN_ISR),
    ("CreateTopics 6: a topic", MIN_ISR),
    ("CreateTopics 7: a topic", MIN_ISR),
    ("CreateTopics 7: a name that only differs by a dot", MIN_ISR),
    ("CreateTopics 7: only checked, with brokers", MIN_ISR),
    ("CreateTopics 7: several, with settings", MIN_ISR),
    ("CreateTopics 7: the broker's own numbers, only checked", MIN_ISR),
    ("DeleteRecords 2: a partition named twice", TWICE),
    ("DeleteTopics 5: one that is gone", WORDS),
    ("DeleteTopics 6: a name twice", WORDS),
    ("DeleteTopics 6: a name with a slash", WORDS),
    ("DeleteTopics 6: an unknown id", WORDS),
    ("DescribeCluster 2: endpoints of no kind", WORDS),
    ("DescribeConfigs 1: settings of a topic", WORDS),
    ("DescribeConfigs 2: settings of a topic", WORDS),
    ("DescribeConfigs 3: settings of a topic", WORDS),
    ("DescribeConfigs 4: settings of a topic", WORDS),
    ("DescribeConfigs 4: a resource that does not exist", WORDS),
    ("DescribeConfigs 4: a topic named twice", WORDS),
    ("DescribeConfigs 4: an unknown setting", WORDS),
    ("DescribeConfigs 4: settings of all brokers", WORDS),
    (
        "DescribeConfigs 4: no setting at all",
        "topic keys of tiered storage and dead letter queues",
    ),
    ("DescribeConfigs 4: settings of a broker", DOCUMENTATION),
    (
        "DescribeConfigs 4: settings with all that is known of them",
        DOCUMENTATION,
    ),
    ("Fetch 12: a limit below none", NO_LIMIT),
    ("Fetch 12: a partition's limit below none", NO_LIMIT),
    ("Fetch 12: an isolation level that does not exist", NO_LIMIT),
    ("Fetch 12: a partition named twice", TWICE),
    (
        "IncrementalAlterConfigs 1: an unknown operation",
        "an operation that does not exist in IncrementalAlterConfigs",
    ),
    ("IncrementalAlterConfigs 1: of a broker that is no number", WORDS),
    ("ListConfigResources 1: brokers and topics", ORDER),
    ("ListConfigResources 1: of every kind", "log levels of a broker"),
    ("ListConfigResources 1: topics", ORDER),
    ("ListOffsets 11: an isolation level that does not exist", NO_LIMIT),
    ("Metadata 11: an id before its time", EARLY_IDS),
    ("Metadata 13: an id and a name", EARLY_IDS),
    (
        "Metadata 13: neither name nor id",
        "a topic with neither name nor id in Metadata",
    ),
    ("Produce 12: a batch of a producer with a gap before it", WORDS),
    ("Produce 12: a batch of a producer's older epoch", WORDS),
    (
        "Produce 12: a batch of a transaction that nobody began",
        "transactions",
    ),
    ("Produce 12: a batch that is too large", WORDS),
    ("Produce 12: a batch whose checksum is wrong", WORDS),
    ("Produce 12: a control batch", WORDS),
    ("Produce 12: a new epoch of a producer that does not begin", WORDS),
    ("Produce 12: a partition named twice", TWICE),
    ("Produce 12: no such partition", WORDS),
    ("Produce 12: null records", "null records in a produce"),
    ("Produce 12: records without keys where they need one", WORDS),
    ("Produce 12: two batches", WORDS),
];

const MIN_ISR: &str = "`min.insync.replicas`";
const TWICE: &str = "a partition named twice in Produce, Fetch or DeleteRecords";
const ORDER: &str = "order of topics and partitions in an answer";
const WORDS: &str = "the words beside an error code";
const DOCUMENTATION: &str = "documentation of settings";
const NO_LIMIT: &str =
    "negative size limits, or an isolation level that does not exist, in Fetch and ListOffsets";
const EARLY_IDS: &str = "topic ids in Metadata before version 12, or mixed with names";
