//! The messages of `__transaction_state`: one, the state of a transactional id.

use super::MessageType;
use super::schema::{Kind, Schema, field, tagged};

/// By number (Kafka's `TransactionState`).
const STATES: &[&str] = &[
    "Empty",
    "Ongoing",
    "PrepareCommit",
    "PrepareAbort",
    "CompleteCommit",
    "CompleteAbort",
    "Dead",
    "PrepareEpochFence",
];

static KEY: Schema = Schema {
    flexible_since: i16::MAX,
    last_version: 0,
    fields: &[field("transactionalId", Kind::Text, 0)],
};

static VALUE: Schema = Schema {
    flexible_since: 1,
    last_version: 1,
    fields: &[
        field("producerId", Kind::Int64, 0),
        tagged("previousProducerId", Kind::Int64, 1, 0, "-1"),
        tagged("nextProducerId", Kind::Int64, 1, 1, "-1"),
        field("producerEpoch", Kind::Int16, 0),
        tagged("nextProducerEpoch", Kind::Int16, 1, 3, "-1"),
        field("transactionTimeoutMs", Kind::Int32, 0),
        field("transactionStatus", Kind::Name(STATES), 0),
        field(
            "transactionPartitions",
            Kind::Array(&Kind::Struct(&PARTITIONS)),
            0,
        ),
        field("transactionLastUpdateTimestampMs", Kind::Int64, 0),
        field("transactionStartTimestampMs", Kind::Int64, 0),
        tagged("clientTransactionVersion", Kind::Int16, 1, 2, "0"),
    ],
};

static PARTITIONS: Schema = Schema {
    flexible_since: 1,
    last_version: 1,
    fields: &[
        field("topic", Kind::Text, 0),
        field("partitionIds", Kind::Array(&Kind::Int32), 0),
    ],
};

pub(super) static TYPES: &[MessageType] = &[MessageType {
    number: 0,
    key: &KEY,
    value: &VALUE,
}];
