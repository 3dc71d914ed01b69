//! `--list`: names, states and types of groups.

use std::collections::{BTreeMap, BTreeSet};

use highwater_core::protocol::messages::list_groups_response::ListedGroup;
use highwater_core::protocol::messages::{ListGroupsRequest, message};

use super::cluster::{Cluster, check_code};
use super::{Arguments, table};
use crate::cli::Failure;
use crate::cli::client::ask;
use crate::output::say;

/// The states of consumer groups (`GroupState`).
const STATES: [&str; 7] = [
    "Assigning",
    "CompletingRebalance",
    "Dead",
    "Empty",
    "PreparingRebalance",
    "Reconciling",
    "Stable",
];
const TYPES: [&str; 2] = ["Classic", "Consumer"];

pub fn run(cluster: &mut Cluster, arguments: &Arguments) -> Result<(), Failure> {
    let states = chosen(arguments.state.as_ref(), &STATES, "state", "states")?;
    let types = chosen(arguments.of_type.as_ref(), &TYPES, "types", "types")?;
    let groups = all(cluster, &states, &types)?;
    if arguments.state.is_none() && arguments.of_type.is_none() {
        groups.keys().for_each(|group| say!("{group}"));
        return Ok(());
    }
    let longest = groups.keys().map(|group| table::width(group)).max().unwrap_or(0);
    let longest = longest.max(15) + 10;
    let line = |group: &str, of_type: &str, state: &str| {
        let mut line = table::pad(group, longest);
        let columns = [
            (arguments.of_type.is_some(), of_type),
            (arguments.state.is_some(), state),
        ];
        for (_, column) in columns.iter().filter(|(is_shown, _)| *is_shown) {
            line += &format!(" {}", table::pad(column, 20));
        }
        say!("{line}");
    };
    line("GROUP", "TYPE", "STATE");
    for (group, found) in &groups {
        line(
            group,
            shown(&found.group_type, &TYPES),
            shown(&found.group_state, &STATES),
        );
    }
    Ok(())
}

/// The name as Kafka shows it: brokers do not all write it alike.
fn shown<'a>(name: &'a str, known: &[&'a str]) -> &'a str {
    let same = known.iter().find(|known| known.eq_ignore_ascii_case(name));
    same.copied().unwrap_or(name)
}

/// The names of all groups of consumers.
pub fn names(cluster: &mut Cluster) -> Result<Vec<String>, Failure> {
    Ok(all(cluster, &[], &[])?.into_keys().collect())
}

/// What an option chose, in the names that brokers know.
fn chosen(
    option: Option<&Option<String>>,
    known: &[&'static str],
    what: &str,
    plural: &str,
) -> Result<Vec<&'static str>, Failure> {
    let Some(Some(given)) = option else {
        return Ok(Vec::new());
    };
    let of = |name: &str| known.iter().find(|known| known.eq_ignore_ascii_case(name.trim()));
    let chosen: Option<BTreeSet<&str>> = given.split(',').map(|name| of(name).copied()).collect();
    let chosen = chosen.ok_or_else(|| {
        let known = known.join(", ");
        format!("Invalid {what} list '{given}'. Valid {plural} are: {known}")
    })?;
    Ok(chosen.into_iter().collect())
}

/// Every broker knows the groups that it coordinates.
fn all(
    cluster: &mut Cluster,
    states: &[&str],
    types: &[&str],
) -> Result<BTreeMap<String, ListedGroup>, Failure> {
    let request = || {
        message(|request: &mut ListGroupsRequest| {
            request.states_filter = states.iter().map(|state| (*state).into()).collect();
            request.types_filter = types.iter().map(|of_type| (*of_type).into()).collect();
        })
    };
    let mut groups = BTreeMap::new();
    for broker in cluster.client.brokers()?.brokers {
        let mut client = cluster.client.connect_to_broker(broker.node_id)?;
        let answer = ask!(client, ListGroups, request())?;
        check_code(answer.error_code)?;
        // Groups of other kinds than consumers are none of this tool's.
        let of_consumers = |group: &ListedGroup| matches!(&*group.protocol_type, "" | "consumer");
        let found = answer.groups.into_iter().filter(of_consumers);
        groups.extend(found.map(|group| (group.group_id.to_string(), group)));
    }
    Ok(groups)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_taken_in_any_case_and_others_refused() {
        let chosen = |text: &str| chosen(Some(&Some(text.to_owned())), &STATES, "state", "states");
        assert_eq!(chosen("stable, EMPTY").unwrap(), ["Empty", "Stable"]);
        let line = chosen("stable,odd").unwrap_err().to_string();
        assert!(
            line.starts_with("Invalid state list 'stable,odd'. Valid states are: "),
            "{line}"
        );
    }
}
