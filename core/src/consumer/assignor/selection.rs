//! Which assignors a consumer offers: `partition.assignment.strategy`, the best first.
//!
//! Kafka names them by their Java classes; here the names that members agree on are understood, too.

use thiserror::Error;

use super::{ASSIGNORS, Assignor};
use crate::full::FULL;

/// Why a list of assignors cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum UnusableAssignors {
    #[error(
        "partition.assignment.strategy: there is no assignor '{0}'; there are range, roundrobin, \
         sticky and cooperative-sticky, and Kafka's classes for these"
    )]
    Unknown(String),
    #[error("partition.assignment.strategy: the assignor '{0}' is named twice")]
    Twice(&'static str),
    #[error("partition.assignment.strategy: no assignor is named")]
    None,
}

/// Reads names or classes with commas between them. A build without groups needs none.
///
/// # Errors
/// A name is not known, or there twice, or there is none.
pub fn parse_assignors(list: &str) -> Result<Vec<&'static dyn Assignor>, UnusableAssignors> {
    let mut chosen: Vec<&'static dyn Assignor> = Vec::new();
    if !FULL {
        return Ok(chosen);
    }
    for name in list.split(',').map(str::trim).filter(|name| !name.is_empty()) {
        let is_named = |assignor: &&dyn Assignor| assignor.name() == name || assignor.class() == name;
        let Some(assignor) = ASSIGNORS.into_iter().find(is_named) else {
            return Err(UnusableAssignors::Unknown(name.to_owned()));
        };
        if chosen.iter().any(|other| other.name() == assignor.name()) {
            return Err(UnusableAssignors::Twice(assignor.name()));
        }
        chosen.push(assignor);
    }
    match chosen.is_empty() {
        true => Err(UnusableAssignors::None),
        false => Ok(chosen),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_classes_are_understood_in_their_order() {
        let list = "cooperative-sticky, org.apache.kafka.clients.consumer.RangeAssignor";
        let names: Vec<_> = parse_assignors(list)
            .unwrap()
            .iter()
            .map(|one| one.name())
            .collect();
        assert_eq!(names, ["cooperative-sticky", "range"]);
    }

    #[test]
    fn what_cannot_be_used_is_said() {
        let refused = |list| parse_assignors(list).unwrap_err();
        assert_eq!(refused("range,best"), UnusableAssignors::Unknown("best".into()));
        let twice = "range,org.apache.kafka.clients.consumer.RangeAssignor";
        assert_eq!(refused(twice), UnusableAssignors::Twice("range"));
        assert_eq!(refused(" , "), UnusableAssignors::None);
    }
}
