//! `--reset-offsets`: where a group shall go on, shown or done. Only a group that nobody is in can be moved.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{SystemTime, UNIX_EPOCH};

use highwater_core::consumer::ResetStrategy;
use highwater_core::error::ErrorCode;
use highwater_core::types::TopicPartition;

use super::cluster::{Cluster, EARLIEST, LATEST};
use super::csv::{self, Plan};
use super::table::{line, widest};
use super::{Arguments, partitions, sorted};
use crate::cli::client::check;
use crate::cli::{AlreadySaid, Failure, datetime};
use crate::output::{complain, say};

type Offsets = BTreeMap<TopicPartition, i64>;

/// Where to.
enum Scenario {
    Offset(i64),
    /// An end of the log.
    End(i64),
    Shift(i64),
    /// The first record that is not older.
    Time(i64),
    Plan(Plan),
    Current,
}

pub fn run(cluster: &mut Cluster, arguments: &Arguments, groups: Vec<String>) -> Result<(), Failure> {
    if !arguments.dry_run && !arguments.execute {
        complain!(
            "WARN: No action will be performed as the --execute option is missing. In version 5.0, this command \
             will require either --dry-run or --execute to be specified. You should add the --dry-run option \
             explicitly if you are scripting this command and want to keep the current default behavior without \
             prompting."
        );
    }
    let scenario = scenario(arguments)?;
    let is_one = groups.len() == 1;
    let mut plan = Plan::new();
    let mut is_whole = true;
    for group in sorted(groups) {
        let offsets = match refusal(cluster, &group)? {
            Some(why) => {
                say!("\nError: {why}");
                is_whole = false;
                Offsets::new()
            }
            None => prepared(cluster, arguments, &scenario, &group)?,
        };
        if arguments.execute && !offsets.is_empty() {
            cluster.commit(&group, &offsets)?;
        }
        plan.insert(group, offsets);
    }
    match arguments.export {
        true => say!("{}", csv::write(&plan, !is_one)),
        false => print(&plan),
    }
    match is_whole {
        true => Ok(()),
        false => Err(AlreadySaid.into()),
    }
}

fn scenario(arguments: &Arguments) -> Result<Scenario, Failure> {
    let has_scope = arguments.all_topics || !arguments.topic.is_empty();
    if !has_scope && arguments.from_file.is_none() {
        return Err("One of the reset scopes should be defined: --all-topics, --topic.".into());
    }
    Ok(match arguments {
        Arguments {
            to_offset: Some(offset),
            ..
        } => Scenario::Offset(*offset),
        Arguments {
            to_earliest: true, ..
        } => Scenario::End(EARLIEST),
        Arguments { to_latest: true, .. } => Scenario::End(LATEST),
        Arguments {
            shift_by: Some(shift),
            ..
        } => Scenario::Shift(*shift),
        Arguments {
            to_datetime: Some(text),
            ..
        } => {
            let time = datetime::parse(text);
            let bad =
                || format!("--to-datetime {text}: it reads YYYY-MM-DDThh:mm:ss.sss, with a zone or in UTC");
            Scenario::Time(time.ok_or_else(bad)?)
        }
        Arguments {
            by_duration: Some(text),
            ..
        } => {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            let now = i64::try_from(now.as_millis()).unwrap_or(i64::MAX);
            let ago = ResetStrategy::parse(&format!("by_duration:{text}"));
            let time = ago.and_then(|ago| ago.timestamp(now));
            let bad = || format!("--by-duration {text}: it reads PnDTnHnMnS");
            Scenario::Time(time.ok_or_else(bad)?)
        }
        Arguments {
            from_file: Some(file),
            ..
        } => {
            let text =
                std::fs::read_to_string(file).map_err(|error| format!("cannot read {file}: {error}"))?;
            let only = match arguments.group.as_slice() {
                [only] => Some(only.as_str()),
                _ => None,
            };
            Scenario::Plan(csv::read(file, &text, only)?)
        }
        _ => Scenario::Current,
    })
}

/// Why the group cannot be moved. One that is not known yet can.
fn refusal(cluster: &mut Cluster, group: &str) -> Result<Option<String>, Failure> {
    let found = cluster.describe(group)?.group;
    if found.error_code == ErrorCode::GroupIdNotFound.code() {
        return Ok(None);
    }
    check(found.error_code, found.error_message.as_deref())?;
    let state = &*found.group_state;
    let why = || {
        format!(
            "Assignments can only be reset if the group '{group}' is inactive, but the current state is {state}."
        )
    };
    Ok((!matches!(state, "Empty" | "Dead")).then(why))
}

/// The new offsets of the group.
fn prepared(
    cluster: &mut Cluster,
    arguments: &Arguments,
    scenario: &Scenario,
    group: &str,
) -> Result<Offsets, Failure> {
    let chosen = match arguments.all_topics {
        true => cluster.committed(group)?.into_keys().collect(),
        false => partitions::chosen(cluster, &arguments.topic)?,
    };
    partitions::check(cluster, &chosen)?;
    let all = |offset: i64| {
        chosen
            .iter()
            .map(|partition| (partition.clone(), offset))
            .collect()
    };
    match scenario {
        Scenario::Offset(offset) => within(cluster, all(*offset)),
        Scenario::End(end) => found(cluster, &chosen, *end),
        Scenario::Shift(by) => {
            let wanted = shifted(cluster, group, &chosen, *by)?;
            within(cluster, wanted)
        }
        Scenario::Time(time) => at_time(cluster, &chosen, *time),
        Scenario::Plan(plan) => match plan.get(group) {
            Some(offsets) => within(cluster, offsets.clone()),
            None => {
                say!("\nError: No reset plan for group {group} found.");
                Ok(Offsets::new())
            }
        },
        Scenario::Current => {
            let committed = cluster.committed(group)?;
            let (with, without): (BTreeSet<_>, BTreeSet<_>) = chosen
                .into_iter()
                .partition(|partition| committed.contains_key(partition));
            let mut offsets = found(cluster, &without, LATEST)?;
            let committed = committed
                .into_iter()
                .filter(|(partition, _)| with.contains(partition));
            offsets.extend(committed.map(|(partition, committed)| (partition, committed.offset)));
            Ok(offsets)
        }
    }
}

fn shifted(
    cluster: &mut Cluster,
    group: &str,
    chosen: &BTreeSet<TopicPartition>,
    by: i64,
) -> Result<Offsets, Failure> {
    let committed = cluster.committed(group)?;
    let shift = |partition: &TopicPartition| {
        let at = committed.get(partition).ok_or_else(|| {
            format!(
                "Cannot shift offset for partition {partition} since there is no current committed offset"
            )
        })?;
        Ok((partition.clone(), at.offset.saturating_add(by)))
    };
    let shifted: Result<Offsets, String> = chosen.iter().map(shift).collect();
    Ok(shifted?)
}

/// An end of each partition.
fn found(cluster: &mut Cluster, partitions: &BTreeSet<TopicPartition>, end: i64) -> Result<Offsets, Failure> {
    let found = cluster.offsets(partitions, end)?;
    let offset = |(partition, offset): (TopicPartition, Option<i64>)| (partition, offset.unwrap_or(0));
    Ok(found.into_iter().map(offset).collect())
}

/// The first record that is not older; the end where there is none.
fn at_time(
    cluster: &mut Cluster,
    partitions: &BTreeSet<TopicPartition>,
    time: i64,
) -> Result<Offsets, Failure> {
    let looked_up = cluster.offsets(partitions, time)?;
    let is_missing = |(_, offset): &(&TopicPartition, &Option<i64>)| offset.is_none();
    let late = looked_up.iter().filter(is_missing);
    let late: BTreeSet<TopicPartition> = late.map(|(partition, _)| partition.clone()).collect();
    for TopicPartition { topic, partition } in &late {
        say!(
            "\nWarn: Partition {partition} from topic {topic} is empty. Falling back to latest known offset."
        );
    }
    let mut offsets = found(cluster, &late, LATEST)?;
    offsets.extend(
        looked_up
            .into_iter()
            .filter_map(|(partition, offset)| Some((partition, offset?))),
    );
    Ok(offsets)
}

/// The wanted offsets, none before the first record or behind the end.
fn within(cluster: &mut Cluster, wanted: Offsets) -> Result<Offsets, Failure> {
    let partitions: BTreeSet<TopicPartition> = wanted.keys().cloned().collect();
    let starts = found(cluster, &partitions, EARLIEST)?;
    let ends = found(cluster, &partitions, LATEST)?;
    let bounded = |(partition, offset): (TopicPartition, i64)| {
        let start = starts.get(&partition).copied().unwrap_or(offset);
        let end = ends.get(&partition).copied().unwrap_or(offset);
        let (than, bound) = match offset {
            _ if offset > end => ("higher than latest", end),
            _ if offset < start => ("lower than earliest", start),
            _ => return (partition, offset),
        };
        complain!(
            "highwater: New offset ({offset}) is {than} offset for topic partition {partition}. Value will be set \
             to {bound}."
        );
        (partition, bound)
    };
    Ok(wanted.into_iter().map(bounded).collect())
}

fn print(plan: &Plan) {
    let partitions = || plan.values().flat_map(|offsets| offsets.keys());
    let group_width = widest(plan.keys().map(String::as_str), 15);
    let topic_width = widest(partitions().map(|partition| &*partition.topic), 15);
    let print = |group: &str, topic: &str, partition: &str, offset: &str| {
        say!(
            "{}",
            line(
                &[(group, group_width), (topic, topic_width), (partition, 10)],
                offset
            )
        );
    };
    say!();
    print("GROUP", "TOPIC", "PARTITION", "NEW-OFFSET");
    for (group, offsets) in plan {
        for (partition, offset) in offsets {
            print(
                group,
                &partition.topic,
                &partition.partition.to_string(),
                &offset.to_string(),
            );
        }
    }
}
