//! The messages of `__consumer_offsets`: offsets, classic groups, and groups of the consumer protocol
//! (KIP-848). Names and versions are those of Kafka's `group-coordinator` schemas.

use super::MessageType;
use super::schema::{Field, Kind, Schema, field, tagged};

const fn key(fields: &'static [Field]) -> Schema {
    Schema {
        flexible_since: i16::MAX,
        last_version: 0,
        fields,
    }
}

/// A value that was flexible from its first version on.
const fn value(fields: &'static [Field]) -> Schema {
    Schema {
        flexible_since: 0,
        last_version: 0,
        fields,
    }
}

static GROUP: Schema = key(&[field("group", Kind::Text, 0)]);
static GROUP_ID: Schema = key(&[field("groupId", Kind::Text, 0)]);
static GROUP_AND_MEMBER: Schema = key(&[field("groupId", Kind::Text, 0), field("memberId", Kind::Text, 0)]);

static OFFSET_COMMIT_KEY: Schema = key(&[
    field("group", Kind::Text, 0),
    field("topic", Kind::Text, 0),
    field("partition", Kind::Int32, 0),
]);
static OFFSET_COMMIT: Schema = Schema {
    flexible_since: 4,
    last_version: 4,
    fields: &[
        field("offset", Kind::Int64, 0),
        field("leaderEpoch", Kind::Int32, 3),
        field("metadata", Kind::Text, 0),
        field("commitTimestamp", Kind::Int64, 0),
        Field {
            name: "expireTimestamp",
            kind: Kind::Int64,
            versions: 1..=1,
            tag: None,
        },
        tagged("topicId", Kind::Uuid, 4, 0, "\"AAAAAAAAAAAAAAAAAAAAAA\""),
    ],
};

static GROUP_METADATA: Schema = Schema {
    flexible_since: 4,
    last_version: 4,
    fields: &[
        field("protocolType", Kind::Text, 0),
        field("generation", Kind::Int32, 0),
        field("protocol", Kind::Text, 0),
        field("leader", Kind::Text, 0),
        field("currentStateTimestamp", Kind::Int64, 2),
        field("members", Kind::Array(&Kind::Struct(&CLASSIC_MEMBER)), 0),
    ],
};
static CLASSIC_MEMBER: Schema = Schema {
    flexible_since: 4,
    last_version: 4,
    fields: &[
        field("memberId", Kind::Text, 0),
        field("groupInstanceId", Kind::Text, 3),
        field("clientId", Kind::Text, 0),
        field("clientHost", Kind::Text, 0),
        field("rebalanceTimeout", Kind::Int32, 1),
        field("sessionTimeout", Kind::Int32, 0),
        field("subscription", Kind::ConsumerProtocol(&SUBSCRIPTION), 0),
        field("assignment", Kind::ConsumerProtocol(&ASSIGNMENT), 0),
    ],
};

/// Newer versions keep the fields that are known.
const fn consumer_protocol(fields: &'static [Field]) -> Schema {
    Schema {
        flexible_since: i16::MAX,
        last_version: i16::MAX,
        fields,
    }
}
static SUBSCRIPTION: Schema = consumer_protocol(&[
    field("topics", Kind::Array(&Kind::Text), 0),
    field("userData", Kind::Bytes, 0),
    field(
        "ownedPartitions",
        Kind::Array(&Kind::Struct(&TOPIC_AND_PARTITIONS)),
        1,
    ),
    field("generationId", Kind::Int32, 2),
    field("rackId", Kind::Text, 3),
]);
static ASSIGNMENT: Schema = consumer_protocol(&[
    field(
        "assignedPartitions",
        Kind::Array(&Kind::Struct(&TOPIC_AND_PARTITIONS)),
        0,
    ),
    field("userData", Kind::Bytes, 0),
]);
static TOPIC_AND_PARTITIONS: Schema = consumer_protocol(&[
    field("topic", Kind::Text, 0),
    field("partitions", Kind::Array(&Kind::Int32), 0),
]);

static GROUP_EPOCH: Schema = value(&[
    field("epoch", Kind::Int32, 0),
    tagged("metadataHash", Kind::Int64, 0, 0, "0"),
]);

static PARTITION_METADATA: Schema = value(&[field("topics", Kind::Array(&Kind::Struct(&TOPIC_METADATA)), 0)]);
static TOPIC_METADATA: Schema = value(&[
    field("topicId", Kind::Uuid, 0),
    field("topicName", Kind::Text, 0),
    field("numPartitions", Kind::Int32, 0),
    field("partitionMetadata", Kind::Array(&Kind::Struct(&RACKS)), 0),
]);
static RACKS: Schema = value(&[
    field("partition", Kind::Int32, 0),
    field("racks", Kind::Array(&Kind::Text), 0),
]);

static MEMBER_METADATA: Schema = value(&[
    field("instanceId", Kind::Text, 0),
    field("rackId", Kind::Text, 0),
    field("clientId", Kind::Text, 0),
    field("clientHost", Kind::Text, 0),
    field("subscribedTopicNames", Kind::Array(&Kind::Text), 0),
    field("subscribedTopicRegex", Kind::Text, 0),
    field("rebalanceTimeoutMs", Kind::Int32, 0),
    field("serverAssignor", Kind::Text, 0),
    tagged(
        "classicMemberMetadata",
        Kind::Struct(&CLASSIC_METADATA),
        0,
        0,
        r#"{"sessionTimeoutMs":0,"supportedProtocols":[]}"#,
    ),
]);
static CLASSIC_METADATA: Schema = value(&[
    field("sessionTimeoutMs", Kind::Int32, 0),
    field(
        "supportedProtocols",
        Kind::Array(&Kind::Struct(&CLASSIC_PROTOCOL)),
        0,
    ),
]);
static CLASSIC_PROTOCOL: Schema = value(&[field("name", Kind::Text, 0), field("metadata", Kind::Bytes, 0)]);

static TARGET_METADATA: Schema = value(&[
    field("assignmentEpoch", Kind::Int32, 0),
    tagged("assignmentTimestamp", Kind::Int64, 0, 0, "0"),
]);
static TARGET_MEMBER: Schema = value(&[field(
    "topicPartitions",
    Kind::Array(&Kind::Struct(&TOPIC_ID_AND_PARTITIONS)),
    0,
)]);
static TOPIC_ID_AND_PARTITIONS: Schema = value(&[
    field("topicId", Kind::Uuid, 0),
    field("partitions", Kind::Array(&Kind::Int32), 0),
]);

static CURRENT_ASSIGNMENT: Schema = value(&[
    field("memberEpoch", Kind::Int32, 0),
    field("previousMemberEpoch", Kind::Int32, 0),
    field("state", Kind::Int8, 0),
    field("assignedPartitions", Kind::Array(&Kind::Struct(&OWNED)), 0),
    field(
        "partitionsPendingRevocation",
        Kind::Array(&Kind::Struct(&OWNED)),
        0,
    ),
]);
static OWNED: Schema = value(&[
    field("topicId", Kind::Uuid, 0),
    field("partitions", Kind::Array(&Kind::Int32), 0),
    tagged("assignmentEpochs", Kind::Array(&Kind::Int32), 0, 0, "[]"),
]);

static REGEX_KEY: Schema = key(&[
    field("groupId", Kind::Text, 0),
    field("regularExpression", Kind::Text, 0),
]);
static REGEX: Schema = value(&[
    field("topics", Kind::Array(&Kind::Text), 0),
    field("version", Kind::Int64, 0),
    field("timestamp", Kind::Int64, 0),
]);

const fn message(number: i16, key: &'static Schema, value: &'static Schema) -> MessageType {
    MessageType { number, key, value }
}

pub(super) static TYPES: &[MessageType] = &[
    message(1, &OFFSET_COMMIT_KEY, &OFFSET_COMMIT),
    message(2, &GROUP, &GROUP_METADATA),
    message(3, &GROUP_ID, &GROUP_EPOCH),
    message(4, &GROUP_ID, &PARTITION_METADATA),
    message(5, &GROUP_AND_MEMBER, &MEMBER_METADATA),
    message(6, &GROUP_ID, &TARGET_METADATA),
    message(7, &GROUP_AND_MEMBER, &TARGET_MEMBER),
    message(8, &GROUP_AND_MEMBER, &CURRENT_ASSIGNMENT),
    message(16, &REGEX_KEY, &REGEX),
];
