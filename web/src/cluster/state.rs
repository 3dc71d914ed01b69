//! The plain state of a place: what each replica has, what the coordination service has, and which
//! invariants hold.

use std::sync::Arc;

use highwater_core::metadata::nodes;
use highwater_core::sim::invariants::{self, Invariant};
use highwater_core::stage::{Picture, Row, Stage, StageOptions};
use highwater_core::types::BrokerId;

use super::lab::ClusterLab;

/// What there is, as a table: the names of its columns, then its rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateView {
    pub columns: [&'static str; 7],
    pub replicas: Vec<[String; 7]>,
    /// Nodes of the coordination service: path, data, and whether it goes with its session.
    pub nodes: Vec<(String, String, bool)>,
}

/// An invariant, and why it does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    pub name: &'static str,
    pub sentence: &'static str,
    pub broken: Option<String>,
    /// It is looked at after each step of the page's own runs.
    pub is_watched: bool,
}

/// What needs every disk to be read is left to the tests.
const NOT_WATCHED: [Invariant; 4] = [
    invariants::DISK_AS_WRITTEN,
    invariants::EPOCH_CACHE_TRUE,
    invariants::INDEX_POINTS_RIGHT,
    invariants::SEQUENCES_CONTIGUOUS,
];

fn list(ids: impl IntoIterator<Item = BrokerId>) -> String {
    let ids: Vec<String> = ids.into_iter().map(|id| id.to_string()).collect();
    ids.join(", ")
}

impl ClusterLab {
    /// The state of the run that moves here.
    pub fn state_here(&self) -> Option<StateView> {
        let (run, facts) = self.run_here()?;
        let view = run.view_at(facts);
        let options = StageOptions {
            picture: Picture::Replicas,
            ..run.options(facts)
        };
        let stage = Stage::of(&view, &options);
        let row = |row: &Arc<Row>| {
            let heard = row.heard.iter().map(|heard| match heard.log_end {
                Some(log_end) => format!("{} at {log_end}", heard.broker),
                None => format!("{} not yet", heard.broker),
            });
            let heard: Vec<String> = heard.collect();
            [
                row.name.clone(),
                row.role_line(),
                row.epoch.to_string(),
                row.log_start.to_string(),
                row.high_watermark.to_string(),
                row.log_end.to_string(),
                heard.join(", "),
            ]
        };
        let office = view.tree.controller.into_iter();
        let office =
            office.map(|(broker, _)| (nodes::CONTROLLER.to_owned(), format!("broker {broker}"), true));
        let epoch = view.tree.controller_epoch.into_iter();
        let epoch = epoch.map(|epoch| (nodes::CONTROLLER_EPOCH.to_owned(), epoch.to_string(), false));
        let brokers = view.stored.brokers.iter();
        let brokers = brokers.map(|&id| (nodes::broker(id), String::new(), true));
        let mut nodes: Vec<_> = office.chain(epoch).chain(brokers).collect();
        nodes.extend(
            view.stored
                .partitions
                .iter()
                .filter(|(of, _)| *of == run.partition())
                .map(|(of, stored)| {
                    let leader = stored
                        .leader
                        .map_or("none".to_owned(), |leader| leader.to_string());
                    (
                        format!("/brokers/topics/{}/partitions/{}/state", of.topic, of.partition),
                        format!(
                            "leader {leader}, leader epoch {}, ISR {}",
                            stored.leader_epoch,
                            list(stored.isr.iter().copied())
                        ),
                        false,
                    )
                }),
        );
        Some(StateView {
            columns: [
                "broker",
                "role",
                "leader epoch",
                "log start",
                "HW",
                "LEO",
                "heard of",
            ],
            replicas: stage.rows.iter().map(row).collect(),
            nodes,
        })
    }

    /// Each invariant, as it is up to here.
    pub fn invariants_here(&self) -> Vec<Held> {
        let here = self.run_here();
        let broken = |name: &str| {
            let (run, facts) = here?;
            run.broken_until(facts).find(|(broken, _)| *broken == name)
        };
        let all = invariants::ALL.iter();
        all.map(|invariant| Held {
            name: invariant.name,
            sentence: invariant.sentence,
            is_watched: !NOT_WATCHED.contains(invariant),
            broken: broken(invariant.name).map(|(_, why)| why.to_owned()),
        })
        .collect()
    }
}
