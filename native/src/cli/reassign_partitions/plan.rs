//! The JSON files of a reassignment, and the assignments that are printed in the same form.
//!
//! `log_dirs` names a directory for each replica, or `any`. Highwater moves no replica between the
//! directories of a broker; so a directory is only taken where the broker has no other.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::super::moves::PartitionName;

/// Stands for whatever directory the broker chooses.
const ANY: &str = "any";

/// Brokers of each partition.
pub type Assignment = BTreeMap<PartitionName, Vec<i32>>;
/// Directories of replicas, by partition and broker.
pub type Directories = BTreeMap<(PartitionName, i32), String>;

/// A read `--reassignment-json-file`.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Plan {
    pub partitions: Assignment,
    /// Those that are named.
    pub directories: Directories,
}

/// Reads `{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[1,2],"log_dirs":["any","any"]}]}`.
pub fn parse(text: &str) -> Result<Plan, String> {
    let json = parse_version_1(text)?;
    let mut plan = Plan::default();
    for row in json
        .get("partitions")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        let topic = row.get("topic").and_then(Value::as_str);
        let partition = row.get("partition").and_then(number);
        let replicas = row.get("replicas").and_then(Value::as_array);
        let replicas = replicas.and_then(|ids| ids.iter().map(number).collect::<Option<Vec<_>>>());
        let (Some(topic), Some(partition), Some(replicas)) = (topic, partition, replicas) else {
            return Err(format!("{row}: topic, partition and replicas are needed"));
        };
        let name = (topic.to_owned(), partition);
        let directories = directories(row, replicas.len())?;
        let named = replicas
            .iter()
            .zip(directories)
            .filter(|(_, directory)| directory != ANY);
        plan.directories
            .extend(named.map(|(broker, directory)| ((name.clone(), *broker), directory)));
        if plan.partitions.insert(name, replicas).is_some() {
            return Err(format!(
                "Partition reassignment contains duplicate topic partitions: {topic}-{partition}"
            ));
        }
    }
    Ok(plan)
}

/// The directories of a row; `any` for each replica where the row does not say.
fn directories(row: &Value, replicas: usize) -> Result<Vec<String>, String> {
    let Some(named) = row.get("log_dirs") else {
        return Ok(vec![ANY.to_owned(); replicas]);
    };
    let named = named.as_array().and_then(|names| {
        let names = names.iter().map(|name| name.as_str().map(str::to_owned));
        names.collect::<Option<Vec<_>>>()
    });
    let named = named.ok_or_else(|| format!("{row}: log_dirs is a list of names"))?;
    if named.len() == replicas {
        Ok(named)
    } else {
        Err(format!(
            "{row}: Size of replicas list is different from size of log dirs list"
        ))
    }
}

/// What a plan must hold before anything is moved by it.
pub fn check(plan: &Plan) -> Result<(), String> {
    if plan.partitions.is_empty() {
        return Err("Partition reassignment list cannot be empty".into());
    }
    for ((topic, partition), replicas) in &plan.partitions {
        if replicas.is_empty() {
            return Err("Partition replica list cannot be empty".into());
        }
        let mut seen = BTreeSet::new();
        if let Some(twice) = replicas.iter().find(|broker| !seen.insert(**broker)) {
            return Err(format!(
                "Partition replica lists may not contain duplicate entries: {topic}-{partition} contains multiple entries for {twice}"
            ));
        }
    }
    Ok(())
}

/// Reads `{"version":1,"topics":[{"topic":"t"}]}`.
pub fn parse_topics(text: &str) -> Result<BTreeSet<String>, String> {
    let json = parse_version_1(text)?;
    let mut topics = BTreeSet::new();
    for row in json.get("topics").and_then(Value::as_array).into_iter().flatten() {
        let topic = row.get("topic").and_then(Value::as_str);
        let topic = topic.ok_or_else(|| format!("{row}: topic is needed"))?;
        if !topics.insert(topic.to_owned()) {
            return Err(format!(
                "List of topics to reassign contains duplicate entries: [{topic}]"
            ));
        }
    }
    Ok(topics)
}

fn parse_version_1(text: &str) -> Result<Value, String> {
    let json: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    match json.get("version").map(Value::as_i64) {
        None | Some(Some(1)) => Ok(json),
        Some(_) => Err(format!("Not supported version field value {}", json["version"])),
    }
}

fn number(value: &Value) -> Option<i32> {
    value.as_i64().and_then(|number| i32::try_from(number).ok())
}

/// The assignment as a file that [`parse`] reads; keys in Kafka's order.
pub fn formatted(assignment: &Assignment, directories: &Directories) -> String {
    let rows = assignment.iter().map(|(name, replicas)| {
        let directory = |broker: &i32| {
            let named = directories.get(&(name.clone(), *broker));
            Value::from(named.map_or(ANY, String::as_str)).to_string()
        };
        let (topic, partition) = (Value::from(name.0.as_str()), name.1);
        let ids = super::super::moves::joined(replicas);
        let directories = replicas.iter().map(directory).collect::<Vec<_>>().join(",");
        format!(
            r#"{{"topic":{topic},"partition":{partition},"replicas":[{ids}],"log_dirs":[{directories}]}}"#
        )
    });
    let rows = rows.collect::<Vec<_>>().join(",");
    format!(r#"{{"version":1,"partitions":[{rows}]}}"#)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r#"{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[1,2],"log_dirs":["any","/d"]}]}"#;

    #[test]
    fn a_plan_is_read_and_written_again() {
        let plan = parse(FILE).unwrap();
        let name = ("t".to_owned(), 0);
        assert_eq!(plan.partitions, Assignment::from([(name.clone(), vec![1, 2])]));
        assert_eq!(
            plan.directories,
            Directories::from([((name, 2), "/d".to_owned())])
        );
        assert_eq!(formatted(&plan.partitions, &plan.directories), FILE);
        assert_eq!(check(&plan), Ok(()));
    }

    #[test]
    fn a_plan_that_cannot_be_is_refused_with_kafkas_words() {
        let refused = |rows: &str| {
            let plan = parse(&format!(r#"{{"partitions":[{rows}]}}"#));
            plan.and_then(|plan| check(&plan)).unwrap_err()
        };
        let row = r#"{"topic":"t","partition":0,"replicas":[1]}"#;
        assert!(refused("").contains("list cannot be empty"));
        assert!(refused(&format!("{row},{row}")).contains("duplicate topic partitions: t-0"));
        assert!(
            refused(r#"{"topic":"t","partition":0,"replicas":[]}"#).contains("replica list cannot be empty")
        );
        assert!(
            refused(r#"{"topic":"t","partition":0,"replicas":[1,1]}"#).contains("multiple entries for 1")
        );
        assert!(refused(r#"{"topic":"t","partition":0}"#).contains("are needed"));
        assert!(
            refused(r#"{"topic":"t","partition":0,"replicas":[1],"log_dirs":[]}"#)
                .contains("different from size of log dirs")
        );
        assert!(
            parse(r#"{"version":2}"#)
                .unwrap_err()
                .contains("version field value 2")
        );
        assert!(parse_topics(r#"{"topics":[{"topic":"t"},{"topic":"t"}]}"#).is_err());
    }
}
