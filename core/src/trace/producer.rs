//! What a producer does with a record, stage by stage.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Facts of a producer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum ProducerFact {
    /// An interceptor has seen the record, and perhaps made another of it.
    RecordIntercepted { by: String, changed: bool },
    /// An interceptor failed; it is passed over, and nothing else is.
    InterceptorFailed { by: String, why: String },
}

impl fmt::Display for ProducerFact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RecordIntercepted { by, changed: true } => write!(f, "interceptor {by} changes the record"),
            Self::RecordIntercepted { by, changed: false } => write!(f, "interceptor {by} sees the record"),
            Self::InterceptorFailed { by, why } => write!(f, "interceptor {by} fails: {why}"),
        }
    }
}
