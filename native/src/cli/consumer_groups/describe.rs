//! `--describe`: what a group has read, who is in it, how it is.

use std::collections::{BTreeMap, BTreeSet};

use highwater_core::error::ErrorCode;
use highwater_core::protocol::consumer_protocol::Assignment;
use highwater_core::protocol::messages::describe_groups_response::{DescribedGroup, DescribedGroupMember};
use highwater_core::types::TopicPartition;

use super::cluster::{Cluster, Committed, Described, LATEST, describe as in_words};
use super::table::{self, MISSING, line, number, pad, widest};
use super::{Arguments, sorted};
use crate::cli::Failure;
use crate::cli::client::check;
use crate::output::{complain, say};

pub fn run(cluster: &mut Cluster, arguments: &Arguments, groups: Vec<String>) -> Result<(), Failure> {
    // All of them first: what is said of some would hide that others are not there.
    let mut described = Vec::new();
    for group in sorted(groups) {
        let found = described_group(cluster, &group)?;
        described.push((group, found));
    }
    for (group, found) in &described {
        if arguments.members {
            print_members(group, &found.group, arguments.verbose);
        } else if arguments.state.is_some() {
            print_state(group, found, arguments.verbose);
        } else {
            let rows = offset_rows(cluster, group, &found.group)?;
            print_offsets(group, &found.group, &rows, arguments.verbose);
        }
    }
    Ok(())
}

fn described_group(cluster: &mut Cluster, group: &str) -> Result<Described, Failure> {
    let found = cluster.describe(group)?;
    match ErrorCode::from_code(found.group.error_code) {
        Some(code @ ErrorCode::GroupIdNotFound) => {
            let message = found.group.error_message.as_deref();
            return Err(message.unwrap_or(in_words(code)).to_owned().into());
        }
        _ => check(found.group.error_code, found.group.error_message.as_deref())?,
    }
    if !matches!(&*found.group.protocol_type, "" | "consumer") {
        let kind = &*found.group.protocol_type;
        return Err(format!("GroupId {group} is not a consumer group ({kind}).").into());
    }
    Ok(found)
}

/// What a member was given. Members of other kinds than consumers, or that wait, have nothing.
fn assigned(member: &DescribedGroupMember) -> BTreeSet<TopicPartition> {
    let assignment = Assignment::decode(&member.member_assignment);
    let partitions = assignment
        .map(|assignment| assignment.partitions)
        .unwrap_or_default();
    partitions.into_iter().collect()
}

/// Says how the group is; whether there is anything to show.
fn tell_state(group: &str, state: &str, rows: usize) -> bool {
    match state {
        "Dead" => say!("\nError: Consumer group '{group}' does not exist."),
        "Empty" => complain!("\nConsumer group '{group}' has no active members."),
        "PreparingRebalance" | "CompletingRebalance" | "Assigning" | "Reconciling" => {
            complain!("\nWarning: Consumer group '{group}' is rebalancing.");
        }
        _ => {}
    }
    state != "Dead" && rows > 0
}

// ---- offsets

/// How far the group is in a partition, and who reads it.
struct OffsetRow {
    partition: TopicPartition,
    committed: Option<Committed>,
    end: Option<i64>,
    /// Member, host, client.
    owner: Option<(String, String, String)>,
}

impl OffsetRow {
    fn lag(&self) -> Option<i64> {
        Some(self.end? - self.committed?.offset)
    }

    fn owner(&self) -> (&str, &str, &str) {
        let owner = self.owner.as_ref();
        owner.map_or((MISSING, MISSING, MISSING), |(member, host, client)| {
            (member, host, client)
        })
    }
}

/// The partitions of members, those of the member with most first, and then those that nobody has.
fn offset_rows(cluster: &mut Cluster, name: &str, group: &DescribedGroup) -> Result<Vec<OffsetRow>, Failure> {
    let committed = cluster.committed(name)?;
    let members = group.members.iter().map(|member| (assigned(member), member));
    let mut members: Vec<_> = members.filter(|(assigned, _)| !assigned.is_empty()).collect();
    members.sort_by_key(|(assigned, _)| std::cmp::Reverse(assigned.len()));
    let owned: BTreeSet<&TopicPartition> = members.iter().flat_map(|(assigned, _)| assigned).collect();
    let all: BTreeSet<TopicPartition> = owned
        .iter()
        .map(|partition| (*partition).clone())
        .chain(committed.keys().cloned())
        .collect();
    let ends = ends(cluster, &all)?;
    let row = |partition: &TopicPartition, owner| OffsetRow {
        partition: partition.clone(),
        committed: committed.get(partition).copied(),
        end: ends.get(partition).copied(),
        owner,
    };
    let mut rows = Vec::new();
    for (assigned, member) in &members {
        let owner = (
            member.member_id.to_string(),
            member.client_host.to_string(),
            member.client_id.to_string(),
        );
        rows.extend(
            assigned
                .iter()
                .map(|partition| row(partition, Some(owner.clone()))),
        );
    }
    let unowned = committed.keys().filter(|partition| !owned.contains(partition));
    rows.extend(unowned.map(|partition| row(partition, None)));
    Ok(rows)
}

/// The ends of the partitions that somebody leads.
fn ends(
    cluster: &mut Cluster,
    partitions: &BTreeSet<TopicPartition>,
) -> Result<BTreeMap<TopicPartition, i64>, Failure> {
    let topics = partitions
        .iter()
        .map(|partition| partition.topic.to_string())
        .collect();
    let mut led = BTreeSet::new();
    for (topic, found) in cluster.partitions(&topics)? {
        let found = found?.into_iter().filter(|(_, is_led)| *is_led);
        led.extend(found.map(|(index, _)| TopicPartition::new(topic.as_str(), index)));
    }
    let asked = partitions.intersection(&led).cloned().collect();
    let found = cluster.offsets(&asked, LATEST)?;
    Ok(found
        .into_iter()
        .filter_map(|(partition, end)| Some((partition, end?)))
        .collect())
}

fn print_offsets(name: &str, group: &DescribedGroup, rows: &[OffsetRow], verbose: bool) {
    if !tell_state(name, &group.group_state, rows.len()) {
        return;
    }
    let group_width = widest([name].into_iter(), 15);
    let topic_width = widest(rows.iter().map(|row| &*row.partition.topic), 15);
    let member_width = widest(rows.iter().map(|row| row.owner().0), 15);
    let host_width = widest(rows.iter().map(|row| row.owner().1), 15);
    let print = |cells: [&str; 9], client: &str| {
        let [group, topic, partition, epoch, offset, end, lag, member, host] = cells;
        let mut all = vec![(group, group_width), (topic, topic_width), (partition, 10)];
        if verbose {
            all.push((epoch, 15));
        }
        all.extend([
            (offset, 15),
            (end, 15),
            (lag, 15),
            (member, member_width),
            (host, host_width),
        ]);
        say!("{}", line(&all, client));
    };
    say!();
    print(
        [
            "GROUP",
            "TOPIC",
            "PARTITION",
            "LEADER-EPOCH",
            "CURRENT-OFFSET",
            "LOG-END-OFFSET",
            "LAG",
            "CONSUMER-ID",
            "HOST",
        ],
        "CLIENT-ID",
    );
    for row in rows {
        let epoch = row.committed.map(|committed| i64::from(committed.leader_epoch));
        let (member, host, client) = row.owner();
        print(
            [
                name,
                &row.partition.topic,
                &row.partition.partition.to_string(),
                &number(epoch.filter(|epoch| *epoch >= 0)),
                &number(row.committed.map(|committed| committed.offset)),
                &number(row.end),
                &number(row.lag()),
                member,
                host,
            ],
            client,
        );
    }
}

// ---- members

fn print_members(name: &str, group: &DescribedGroup, verbose: bool) {
    let members = &group.members;
    tell_state(name, &group.group_state, members.len());
    let shares: Vec<(usize, String)> = members.iter().map(|member| share(&assigned(member))).collect();
    let instance =
        |member: &DescribedGroupMember| member.group_instance_id.as_deref().unwrap_or("").to_owned();
    let has_instances = members.iter().any(|member| !instance(member).is_empty());
    let group_width = widest(members.iter().map(|_| name), 15);
    let id_width = widest(members.iter().map(|member| &*member.member_id), 15);
    let instances: Vec<String> = members.iter().map(instance).collect();
    let instance_width = widest(instances.iter().map(String::as_str), 17);
    let host_width = widest(members.iter().map(|member| &*member.client_host), 15);
    let client_width = widest(members.iter().map(|member| &*member.client_id), 15);
    let share_width = widest(shares.iter().map(|(_, share)| share.as_str()), 20);
    let print = |cells: [&str; 6], more: [&str; 4]| {
        let [group, id, instance, host, client, count] = cells;
        let mut all = vec![(group, group_width), (id, id_width)];
        if has_instances {
            all.push((instance, instance_width));
        }
        all.extend([(host, host_width), (client, client_width), (count, 15)]);
        let [epoch, current, target_epoch, target] = more;
        match verbose {
            true => {
                all.extend([(epoch, 15), (current, share_width), (target_epoch, 15)]);
                say!("{}", line(&all, &pad(target, 20)));
            }
            false => say!("{}", line(&all, "")),
        }
    };
    say!();
    print(
        [
            "GROUP",
            "CONSUMER-ID",
            "GROUP-INSTANCE-ID",
            "HOST",
            "CLIENT-ID",
            "#PARTITIONS",
        ],
        [
            "CURRENT-EPOCH",
            "CURRENT-ASSIGNMENT",
            "TARGET-EPOCH",
            "TARGET-ASSIGNMENT",
        ],
    );
    for ((member, instance), (count, share)) in members.iter().zip(&instances).zip(&shares) {
        print(
            [
                name,
                &member.member_id,
                instance,
                &member.client_host,
                &member.client_id,
                &count.to_string(),
            ],
            // Epochs and targets are of the newer group protocol.
            [MISSING, share, MISSING, MISSING],
        );
    }
}

/// How many partitions, and which: `a:0,1;b:2`.
fn share(partitions: &BTreeSet<TopicPartition>) -> (usize, String) {
    let mut topics: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for partition in partitions {
        let topic = topics.entry(&partition.topic).or_default();
        topic.push(partition.partition.to_string());
    }
    let shown = topics
        .iter()
        .map(|(topic, indexes)| format!("{topic}:{}", indexes.join(",")));
    let mut shown: Vec<String> = shown.collect();
    shown.sort();
    let text = match shown.is_empty() {
        true => MISSING.to_owned(),
        false => shown.join(";"),
    };
    (partitions.len(), text)
}

// ---- state

fn print_state(name: &str, found: &Described, verbose: bool) {
    let (group, at) = (&found.group, &found.coordinator);
    if !tell_state(name, &group.group_state, 1) {
        return;
    }
    let coordinator = format!("{}:{}  ({})", &*at.host, at.port, at.node_id);
    let assignor = match &*group.protocol_data {
        "" => MISSING,
        assignor => assignor,
    };
    let group_width = table::width(name).max(15);
    let coordinator_width = table::width(&coordinator).max(25);
    let print = |cells: [&str; 4], epochs: [&str; 2], members: &str| {
        let [group, coordinator, assignor, state] = cells;
        let mut all = vec![
            (group, group_width),
            (coordinator, coordinator_width),
            (assignor, 20),
            (state, 20),
        ];
        if verbose {
            all.extend([(epochs[0], 15), (epochs[1], 25)]);
        }
        say!("{}", line(&all, members));
    };
    say!();
    print(
        ["GROUP", "COORDINATOR (ID)", "ASSIGNMENT-STRATEGY", "STATE"],
        ["GROUP-EPOCH", "TARGET-ASSIGNMENT-EPOCH"],
        "#MEMBERS",
    );
    print(
        [name, &coordinator, assignor, &group.group_state],
        [MISSING, MISSING],
        &group.members.len().to_string(),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_shown_by_topic() {
        let partitions =
            [("b", 2), ("a", 10), ("a", 2)].map(|(topic, index)| TopicPartition::new(topic, index));
        assert_eq!(share(&partitions.into()), (3, "a:2,10;b:2".to_owned()));
        assert_eq!(share(&BTreeSet::new()), (0, "-".to_owned()));
    }
}
