//! One metric of several brokers, told apart by the label `broker`.

use std::sync::Arc;

use highwater_core::types::BrokerId;
use prometheus_client::encoding::{EncodeMetric, MetricEncoder};
use prometheus_client::metrics::{MetricType, TypedMetric};

use super::Numbered;
use crate::driver::Driver;

/// The label that every line has.
pub(super) fn label(broker: BrokerId) -> (&'static str, String) {
    ("broker", broker.to_string())
}

/// The metric of each broker. A registry must see them as one: a name may be described only once.
#[derive(Debug)]
pub(super) struct PerBroker<M>(Vec<(BrokerId, M)>);

impl<M> PerBroker<M> {
    pub fn of(brokers: &[Numbered], metric: impl Fn(&Arc<Driver>) -> M) -> Self {
        let each = brokers.iter();
        Self(each.map(|(broker, driver)| (*broker, metric(driver))).collect())
    }
}

impl<M: EncodeMetric + TypedMetric> EncodeMetric for PerBroker<M> {
    fn encode(&self, mut encoder: MetricEncoder) -> std::fmt::Result {
        for (broker, metric) in &self.0 {
            metric.encode(encoder.encode_family(&[label(*broker)])?)?;
        }
        Ok(())
    }

    fn metric_type(&self) -> MetricType {
        M::TYPE
    }
}
