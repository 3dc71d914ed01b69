//! Figures of a client as Kafka's tools print them (`ToolsUtils.printMetrics`).

use std::collections::BTreeMap;

use highwater_core::client::measure::Metric;

use super::numbers::decimal;
use crate::output::say;

/// Prints them by name, one a line.
pub fn print(metrics: &[Metric]) {
    lines(metrics).iter().for_each(|line| say!("{line}"));
}

fn lines(metrics: &[Metric]) -> Vec<String> {
    let rows: BTreeMap<String, f64> = metrics
        .iter()
        .map(|metric| (name(metric), metric.value))
        .collect();
    let width = rows.keys().map(|name| name.chars().count()).max();
    let Some(width) = width else {
        return Vec::new();
    };
    let head = format!("\n{:width$}   Value", "Metric Name");
    let row = |(name, value): (&String, &f64)| format!("{name:width$} : {}", decimal(*value, 3));
    std::iter::once(head).chain(rows.iter().map(row)).collect()
}

fn name(metric: &Metric) -> String {
    let tags = metric.tags.iter().map(|(key, value)| format!("{key}={value}"));
    let tags: Vec<String> = tags.collect();
    format!("{}:{}:{{{}}}", metric.group, metric.name, tags.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_stand_in_two_columns_by_name() {
        let metric = |name, tags: &[(&'static str, &str)], value| Metric {
            group: "g",
            name,
            tags: tags
                .iter()
                .map(|(key, value)| (*key, (*value).to_owned()))
                .collect(),
            value,
        };
        let all = [
            metric("long-name", &[("client-id", "c"), ("topic", "t")], 1.0),
            metric("a", &[("client-id", "c")], f64::NAN),
        ];
        let expected = [
            "\nMetric Name                          Value",
            "g:a:{client-id=c}                  : NaN",
            "g:long-name:{client-id=c, topic=t} : 1.000",
        ];
        assert_eq!(lines(&all), expected);
        assert!(lines(&[]).is_empty());
    }
}
