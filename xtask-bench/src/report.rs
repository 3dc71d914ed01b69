//! All that was measured, and how it stands beside the floors, Kafka and the figures to reach.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Value, json};

use crate::figures::{FIGURES, FLOORS, Figure, Goal};
use crate::machine::Machine;
use crate::statistics::{median, spread};

/// The values of one figure for one system, a run each, with the load average of that time.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Samples {
    pub runs: Vec<f64>,
    pub load_average: Vec<f64>,
}

impl Samples {
    pub fn median(&self) -> f64 {
        median(&self.runs)
    }
}

pub struct Report {
    pub machine: Machine,
    pub quick: bool,
    floors: BTreeMap<&'static str, Samples>,
    figures: BTreeMap<(&'static str, &'static str), Samples>,
}

/// How a figure stands.
pub struct Standing<'a> {
    pub figure: &'static Figure,
    pub ours: &'a Samples,
    pub kafkas: Option<&'a Samples>,
    pub floor: Option<f64>,
}

impl Standing<'_> {
    pub fn to_kafka(&self) -> Option<f64> {
        self.kafkas.map(|kafkas| self.ours.median() / kafkas.median())
    }

    pub fn to_floor(&self) -> Option<f64> {
        self.floor.map(|floor| self.ours.median() / floor)
    }

    /// Whether the goal is reached; `None` if there is none, or nothing to compare with.
    pub fn reached(&self) -> Option<bool> {
        match self.figure.goal {
            Goal::None => None,
            Goal::TimesKafka(least) => self.to_kafka().map(|ratio| ratio >= least),
            Goal::ShareOfKafka(most) => self.to_kafka().map(|ratio| ratio <= most),
            Goal::TimesFloor(most) => self.to_floor().map(|ratio| ratio <= most),
            Goal::AtMost(most) => Some(self.ours.median() <= most),
            Goal::AtLeast(least) => Some(self.ours.median() >= least),
        }
    }
}

impl Report {
    pub fn new(machine: Machine, quick: bool) -> Self {
        Self {
            machine,
            quick,
            floors: BTreeMap::new(),
            figures: BTreeMap::new(),
        }
    }

    pub fn note_floor(&mut self, name: &'static str, value: f64, load_average: f64) {
        let samples = self.floors.entry(name).or_default();
        samples.runs.push(value);
        samples.load_average.push(load_average);
    }

    pub fn note(&mut self, system: &'static str, id: &'static str, value: f64, load_average: f64) {
        let samples = self.figures.entry((id, system)).or_default();
        samples.runs.push(value);
        samples.load_average.push(load_average);
    }

    /// Name, what it is, unit and values of the floors that were measured.
    pub fn floors(&self) -> impl Iterator<Item = (&'static str, &'static str, &'static str, &Samples)> {
        FLOORS
            .iter()
            .filter_map(|(name, label, unit)| Some((*name, *label, *unit, self.floors.get(name)?)))
    }

    /// The figures that were measured, in the order of the table.
    pub fn standings(&self) -> impl Iterator<Item = Standing<'_>> {
        FIGURES.iter().filter_map(|figure| {
            Some(Standing {
                figure,
                ours: self.figures.get(&(figure.id, "Highwater"))?,
                kafkas: self.figures.get(&(figure.id, "Kafka")),
                floor: figure
                    .floor
                    .and_then(|name| self.floors.get(name))
                    .map(Samples::median),
            })
        })
    }

    pub fn has_kafka(&self) -> bool {
        self.figures.keys().any(|(_, system)| *system == "Kafka")
    }

    pub fn json(&self) -> Value {
        let floors: Vec<Value> = self
            .floors()
            .map(|(name, label, unit, samples)| {
                json!({ "name": name, "label": label, "unit": unit, "values": values(samples) })
            })
            .collect();
        let figures: Vec<Value> = self
            .standings()
            .map(|standing| {
                json!({
                    "id": standing.figure.id,
                    "label": standing.figure.label,
                    "unit": standing.figure.unit,
                    "highwater": values(standing.ours),
                    "kafka": standing.kafkas.map(values),
                    "times_kafka": standing.to_kafka(),
                    "times_floor": standing.to_floor(),
                    "to_reach": goal(standing.figure),
                    "reached": standing.reached(),
                })
            })
            .collect();
        json!({ "machine": self.machine, "quick": self.quick, "floors": floors, "figures": figures })
    }
}

fn values(samples: &Samples) -> Value {
    let (least, greatest) = spread(&samples.runs);
    json!({
        "median": samples.median(),
        "least": least,
        "greatest": greatest,
        "runs": samples.runs,
        "load_average": samples.load_average,
    })
}

/// The goal in words; empty if there is none.
pub fn goal(figure: &Figure) -> String {
    match figure.goal {
        Goal::None => String::new(),
        Goal::TimesKafka(least) => format!("at least {least:.1} × Kafka"),
        Goal::ShareOfKafka(most) => format!("at most {most:.2} × Kafka"),
        Goal::TimesFloor(most) => format!("at most {most:.1} × floor"),
        Goal::AtMost(most) => format!("at most {most} {}", figure.unit),
        Goal::AtLeast(least) => format!("at least {least} {}", figure.unit),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures;

    fn samples(values: &[f64]) -> Samples {
        Samples {
            runs: values.to_vec(),
            load_average: vec![1.0; values.len()],
        }
    }

    #[test]
    fn a_goal_is_judged_by_medians() {
        let (ours, kafkas) = (samples(&[10.0, 20.0, 900.0]), samples(&[10.0]));
        let standing = |id, floor| Standing {
            figure: figures::of(id).expect("a figure of the table"),
            ours: &ours,
            kafkas: Some(&kafkas),
            floor,
        };
        assert_eq!(standing("1k.produce", None).reached(), Some(true)); // 2.0, at least 1.8 times Kafka
        assert_eq!(standing("lz4.produce_cpu", None).reached(), Some(false)); // 2.0, at most 0.5 times Kafka
        assert_eq!(standing("1k.produce_cpu", Some(16.0)).reached(), Some(true)); // 1.25 floors, at most 1.5
        assert_eq!(standing("start.first_answer", None).reached(), Some(true)); // 20 ms, at most 50
        assert_eq!(standing("steady.p999", None).reached(), None);
    }
}
