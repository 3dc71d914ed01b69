//! The stages that a program may replace: interceptors, serializers, partitioner. By the settings they
//! are those that come along; here they are values instead of classes.

use super::ProducerConfig;
use super::interceptor::{Interceptors, ProducerInterceptor};
use super::partitioner::Partitioner;
use super::serializer::Serializer;
use crate::client::InvalidConfig;

/// See the [module](self).
#[derive(Clone, Debug)]
pub struct Stages {
    pub interceptors: Interceptors,
    pub key_serializer: Box<dyn Serializer>,
    pub value_serializer: Box<dyn Serializer>,
    /// `None`: by the key, else the built-in sticky choice.
    pub partitioner: Option<Box<dyn Partitioner>>,
}

impl Stages {
    /// What `key.serializer`, `value.serializer` and `partitioner.class` name; no interceptors.
    pub fn named(config: &ProducerConfig) -> Result<Self, InvalidConfig> {
        let (key_serializer, value_serializer) = config.serializers()?;
        Ok(Self {
            interceptors: Interceptors::default(),
            key_serializer,
            value_serializer,
            partitioner: config.partitioner()?,
        })
    }

    /// Adds an interceptor at the end of the chain.
    pub fn interceptor(mut self, interceptor: Box<dyn ProducerInterceptor>) -> Self {
        self.interceptors.0.push(interceptor);
        self
    }
}
