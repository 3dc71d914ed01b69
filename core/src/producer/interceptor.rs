//! Interceptors see every record on its way: before anything else is done with it, and when its fate
//! is known (Kafka's `ProducerInterceptor`, KIP-42).
//!
//! They form a chain: each is handed what the one before made of the record. One that fails is passed
//! over, and its failure stops neither the others nor the record.

use std::fmt;

use super::record::{ProducerError, ProducerRecord, RecordMetadata};
use crate::client::ClientCx;
use crate::trace::{Fact, ProducerFact};

/// One link of the chain.
pub trait ProducerInterceptor: fmt::Debug + Send + Sync {
    /// For people.
    fn name(&self) -> &str;

    /// What the record shall be, perhaps the same. The error is a line for the log.
    fn on_send(&mut self, record: &ProducerRecord) -> Result<ProducerRecord, String>;

    /// The record's end. Of one that failed before its partition was chosen, the partition is -1. The
    /// error is a line for the log.
    fn on_acknowledgement(
        &mut self,
        metadata: &RecordMetadata,
        error: Option<&ProducerError>,
    ) -> Result<(), String>;

    /// A world is copied with all that is in it.
    fn boxed_clone(&self) -> Box<dyn ProducerInterceptor>;
}

impl Clone for Box<dyn ProducerInterceptor> {
    fn clone(&self) -> Self {
        self.boxed_clone()
    }
}

/// The chain, in the order of calls.
#[derive(Clone, Debug, Default)]
pub struct Interceptors(pub Vec<Box<dyn ProducerInterceptor>>);

impl Interceptors {
    /// Hands the record from one to the next.
    pub fn on_send(&mut self, cx: &mut ClientCx, record: ProducerRecord) -> ProducerRecord {
        let mut record = record;
        for interceptor in &mut self.0 {
            match interceptor.on_send(&record) {
                Ok(made) => {
                    let changed = made != record;
                    let by = interceptor.name();
                    cx.emit(|| {
                        let by = by.to_owned();
                        Fact::Producer(ProducerFact::RecordIntercepted { by, changed })
                    });
                    record = made;
                }
                Err(why) => failed(cx, interceptor.name(), why),
            }
        }
        record
    }

    pub fn on_acknowledgement(
        &mut self,
        cx: &mut ClientCx,
        metadata: &RecordMetadata,
        error: Option<&ProducerError>,
    ) {
        for interceptor in &mut self.0 {
            if let Err(why) = interceptor.on_acknowledgement(metadata, error) {
                failed(cx, interceptor.name(), why);
            }
        }
    }
}

fn failed(cx: &mut ClientCx, name: &str, why: String) {
    let by = name.to_owned();
    cx.emit(|| Fact::Producer(ProducerFact::InterceptorFailed { by, why }));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::testing::Bench;
    use crate::producer::Data;
    use crate::types::TopicPartition;

    /// Appends its name to the value, or fails.
    #[derive(Clone, Debug)]
    struct Signs {
        name: &'static str,
        fails: bool,
        acknowledged: u32,
    }

    impl ProducerInterceptor for Signs {
        fn name(&self) -> &str {
            self.name
        }

        fn on_send(&mut self, record: &ProducerRecord) -> Result<ProducerRecord, String> {
            let Data::Text(text) = &record.value else {
                return Err("no text".to_owned());
            };
            let mut record = record.clone();
            record.value = Data::Text(format!("{text}{}", self.name));
            if self.fails {
                Err("as told".to_owned())
            } else {
                Ok(record)
            }
        }

        fn on_acknowledgement(
            &mut self,
            _: &RecordMetadata,
            _: Option<&ProducerError>,
        ) -> Result<(), String> {
            self.acknowledged += 1;
            if self.fails {
                Err("as told".to_owned())
            } else {
                Ok(())
            }
        }

        fn boxed_clone(&self) -> Box<dyn ProducerInterceptor> {
            Box::new(self.clone())
        }
    }

    #[test]
    fn one_that_fails_stops_neither_the_others_nor_the_record() {
        let mut bench = Bench::new();
        let signs = |name, fails| -> Box<dyn ProducerInterceptor> {
            let acknowledged = 0;
            Box::new(Signs {
                name,
                fails,
                acknowledged,
            })
        };
        let mut chain = Interceptors(vec![signs("a", false), signs("b", true), signs("c", false)]);
        let made = chain.on_send(&mut bench.cx(), ProducerRecord::new("t", "-"));
        assert_eq!(
            made.value,
            Data::from("-ac"),
            "each is handed what the one before made"
        );
        let metadata = RecordMetadata {
            partition: TopicPartition::new("t", 0),
            offset: 0,
            timestamp_ms: 0,
            serialized_key_bytes: -1,
            serialized_value_bytes: 3,
        };
        chain.on_acknowledgement(&mut bench.cx(), &metadata, None);
        let shown: Vec<String> = bench.facts().iter().map(ToString::to_string).collect();
        assert_eq!(
            shown,
            [
                "interceptor a changes the record",
                "interceptor b fails: as told",
                "interceptor c changes the record",
                "interceptor b fails: as told",
            ]
        );
        assert!(
            chain
                .0
                .iter()
                .all(|i| format!("{i:?}").contains("acknowledged: 1")),
            "all were told"
        );
    }
}
