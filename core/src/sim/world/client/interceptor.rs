//! Interceptors that stand in for those of a program, to show what a chain does with each kind.

use std::fmt;

use bytes::Bytes;

use crate::producer::{ProducerError, ProducerInterceptor, ProducerRecord, RecordMetadata};

/// One link of a producer's chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Double {
    /// Adds a header.
    Stamps,
    /// Leaves each record as it is.
    Watches,
    /// Whenever it is called.
    Fails,
}

impl Double {
    pub const ALL: [Self; 3] = [Self::Stamps, Self::Watches, Self::Fails];

    /// The word that scripts have for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Stamps => "stamps",
            Self::Watches => "watches",
            Self::Fails => "fails",
        }
    }
}

impl fmt::Display for Double {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl ProducerInterceptor for Double {
    fn name(&self) -> &str {
        self.word()
    }

    fn on_send(&mut self, record: &ProducerRecord) -> Result<ProducerRecord, String> {
        match self {
            Self::Stamps => Ok(record.clone().header(self.word(), Some(Bytes::new()))),
            Self::Watches => Ok(record.clone()),
            Self::Fails => Err("as it was told to".to_owned()),
        }
    }

    fn on_acknowledgement(
        &mut self,
        _metadata: &RecordMetadata,
        _error: Option<&ProducerError>,
    ) -> Result<(), String> {
        match self {
            Self::Stamps | Self::Watches => Ok(()),
            Self::Fails => Err("as it was told to".to_owned()),
        }
    }

    fn boxed_clone(&self) -> Box<dyn ProducerInterceptor> {
        Box::new(*self)
    }
}
