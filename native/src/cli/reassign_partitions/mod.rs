//! `highwater reassign-partitions`: moves partitions to other brokers, with the options and in the
//! lines of Kafka's `kafka-reassign-partitions.sh`.
//!
//! Not there are throttles and moves between the log directories of one broker: see the page of
//! differences.

mod cluster;
mod plan;

use std::io::Write;
use std::path::PathBuf;

use highwater_core::metadata::placement::{self, Start, UsableBroker};
use highwater_core::types::Rng;

use super::Failure;
use super::client::Client;
use super::moves::{self, PartitionName, joined, named};
use crate::output::{self, say};
use plan::{Assignment, Directories, Plan};

/// The options of `kafka-reassign-partitions.sh`.
#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("action").required(true).args(["generate", "execute", "verify", "cancel", "list"]))]
pub struct Arguments {
    /// The broker to ask, as host:port; several with commas between them.
    #[arg(long)]
    bootstrap_server: String,
    /// Propose where the topics' partitions could be. Moves nothing.
    #[arg(long, requires = "topics_to_move_json_file", requires = "broker_list")]
    generate: bool,
    /// Begin to move partitions as the file says.
    #[arg(long, requires = "reassignment_json_file")]
    execute: bool,
    /// Tell whether the moves of the file are done.
    #[arg(long, requires = "reassignment_json_file")]
    verify: bool,
    /// Call off the moves of the file that are under way.
    #[arg(long, requires = "reassignment_json_file")]
    cancel: bool,
    /// List the moves under way.
    #[arg(long)]
    list: bool,
    /// A JSON file: {"partitions": [{"topic": "foo", "partition": 1, "replicas": [1,2,3]}], "version": 1}
    #[arg(long, value_name = "file", conflicts_with_all = ["generate", "list"])]
    reassignment_json_file: Option<PathBuf>,
    /// A JSON file: {"topics": [{"topic": "foo"}], "version": 1}
    #[arg(long, value_name = "file", requires = "generate")]
    topics_to_move_json_file: Option<PathBuf>,
    /// Brokers that may get the partitions: 0,1,2
    #[arg(long, value_name = "ids", value_delimiter = ',', requires = "generate")]
    broker_list: Vec<i32>,
    /// With --generate: do not look at the brokers' racks.
    #[arg(long, requires = "generate")]
    disable_rack_aware: bool,
    /// With --execute: also while other moves are under way.
    #[arg(long, requires = "execute")]
    additional: bool,
    /// With --verify and --cancel: leave throttles as they are.
    #[arg(long, conflicts_with_all = ["generate", "execute", "list"])]
    preserve_throttles: bool,
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let text = match arguments
        .reassignment_json_file
        .as_ref()
        .or(arguments.topics_to_move_json_file.as_ref())
    {
        Some(file) => {
            std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?
        }
        None => String::new(),
    };
    let mut client = Client::connect(&arguments.bootstrap_server)?;
    if arguments.list {
        return list(&mut client);
    }
    if arguments.generate {
        return generate(&mut client, arguments, &text);
    }
    let plan = plan::parse(&text)?;
    if arguments.execute {
        execute(&mut client, arguments, &plan)
    } else if arguments.verify {
        verify(&mut client, arguments, &plan)
    } else {
        cancel(&mut client, arguments, &plan)
    }
}

fn list(client: &mut Client) -> Result<(), Failure> {
    let moves = moves::under_way(client, None)?;
    if moves.is_empty() {
        say!("No partition reassignments found.");
        return Ok(());
    }
    say!("Current partition reassignments:");
    for (name, moving) in &moves {
        let some = |word: &str, ids: &[i32]| match ids {
            [] => String::new(),
            ids => format!(" {word}: {}.", joined(ids)),
        };
        say!(
            "{}: replicas: {}.{}{}",
            named([name], ""),
            joined(&moving.replicas),
            some("adding", &moving.adding),
            some("removing", &moving.removing)
        );
    }
    Ok(())
}

fn generate(client: &mut Client, arguments: &Arguments, text: &str) -> Result<(), Failure> {
    let topics: Vec<String> = plan::parse_topics(text)?.into_iter().collect();
    let mut wanted = std::collections::BTreeSet::new();
    if let Some(twice) = arguments.broker_list.iter().find(|id| !wanted.insert(**id)) {
        return Err(format!("Broker list contains duplicate entries: [{twice}]").into());
    }
    let current = cluster::assignment_of_topics(client, &topics)?;
    let alive = client.brokers()?.brokers;
    let chosen = alive.iter().filter(|broker| wanted.contains(&broker.node_id));
    let brokers: Vec<UsableBroker> = chosen
        .map(|broker| UsableBroker {
            id: broker.node_id,
            rack: match arguments.disable_rack_aware {
                true => None,
                false => broker.rack.as_deref().map(str::to_owned),
            },
        })
        .collect();
    let racks = brokers.iter().filter(|broker| broker.rack.is_some()).count();
    if racks != 0 && racks != brokers.len() {
        return Err(
            "Not all brokers have rack information. Add --disable-rack-aware in command line to \
                    make replica assignment without rack information."
                .into(),
        );
    }
    let proposed = propose(&current, &topics, &brokers)?;
    let directories = cluster::directories(client, &current)?;
    say!(
        "Current partition replica assignment\n{}\n",
        plan::formatted(&current, &directories)
    );
    say!(
        "Proposed partition reassignment configuration\n{}",
        plan::formatted(&proposed, &Directories::new())
    );
    Ok(())
}

/// Each topic placed anew, with as many replicas as its first partition has.
fn propose(current: &Assignment, topics: &[String], brokers: &[UsableBroker]) -> Result<Assignment, Failure> {
    // A proposal may differ from call to call, as Kafka's does.
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?;
    let mut rng = Rng::new(now.as_nanos() as u64);
    let mut proposed = Assignment::new();
    for topic in topics {
        let partitions = current.iter().filter(|((name, _), _)| name == topic);
        let partitions: Vec<_> = partitions.collect();
        let factor = partitions.first().map_or(0, |(_, replicas)| replicas.len());
        if factor > brokers.len() {
            let alive = brokers.len();
            return Err(
                format!("Replication factor: {factor} larger than available brokers: {alive}").into(),
            );
        }
        let start = Start::drawn(brokers.len(), &mut rng);
        let placed = placement::assign(brokers, partitions.len(), factor, start);
        let names = partitions.into_iter().map(|(name, _)| name.clone());
        proposed.extend(names.zip(placed));
    }
    Ok(proposed)
}

fn execute(client: &mut Client, arguments: &Arguments, plan: &Plan) -> Result<(), Failure> {
    plan::check(plan)?;
    if !arguments.additional && !moves::under_way(client, None)?.is_empty() {
        return Err(
            "Cannot execute because there is an existing partition assignment.  Use --additional \
                    to override this and create a new partition assignment in addition to the existing one."
                .into(),
        );
    }
    let alive = client.brokers()?.brokers;
    let mut wanted = plan.partitions.values().flatten();
    if let Some(unknown) = wanted.find(|id| !alive.iter().any(|broker| broker.node_id == **id)) {
        return Err(format!("Unknown broker id {unknown}").into());
    }
    cluster::check_directories(client, &plan.directories)?;
    let topics: Vec<String> = moves::by_topic(plan.partitions.keys())
        .into_keys()
        .map(str::to_owned)
        .collect();
    let mut current = cluster::assignment_of_topics(client, &topics)?;
    let missing = plan.partitions.keys().filter(|name| !current.contains_key(*name));
    let missing: Vec<&PartitionName> = missing.collect();
    if !missing.is_empty() {
        return Err(format!("Unable to find partition: {}", named(missing, ", ")).into());
    }
    current.retain(|name, _| plan.partitions.contains_key(name));
    let directories = cluster::directories(client, &current)?;
    say!(
        "Current partition replica assignment\n\n{}\n\nSave this to use as the --reassignment-json-file \
         option during rollback",
        plan::formatted(&current, &directories)
    );
    let targets = plan
        .partitions
        .iter()
        .map(|(name, ids)| (name, Some(ids.as_slice())));
    let errors = cluster::reassign(client, targets)?;
    if !errors.is_empty() {
        return Err(format!("Error reassigning partition(s):\n{}", errors.join("\n")).into());
    }
    let names = named(plan.partitions.keys(), ",");
    say!(
        "Successfully started partition reassignment{} for {names}",
        plural(plan.partitions.len())
    );
    Ok(())
}

fn verify(client: &mut Client, arguments: &Arguments, plan: &Plan) -> Result<(), Failure> {
    let moves = moves::under_way(client, None)?;
    say!("Status of partition reassignment:");
    for (name, target) in &plan.partitions {
        let shown = named([name], "");
        if moves.contains_key(name) {
            say!("Reassignment of partition {shown} is still in progress.");
            continue;
        }
        let current = cluster::assignment_of_topics(client, std::slice::from_ref(&name.0));
        let current = current.unwrap_or_default().remove(name).unwrap_or_default();
        if current == *target {
            say!("Reassignment of partition {shown} is completed.");
        } else {
            say!(
                "There is no active reassignment of partition {shown}, but replica set is {} rather than {}.",
                joined(&current),
                joined(target)
            );
        }
    }
    say!();
    if moves.is_empty() && !arguments.preserve_throttles {
        cluster::clear_throttles(client, &plan.partitions)?;
    }
    Ok(())
}

fn cancel(client: &mut Client, arguments: &Arguments, plan: &Plan) -> Result<(), Failure> {
    let names: Vec<PartitionName> = plan.partitions.keys().cloned().collect();
    let moves = moves::under_way(client, Some(&names))?;
    if moves.is_empty() {
        say!("None of the specified partition reassignments are active.");
    } else {
        let errors = cluster::reassign(client, moves.keys().map(|name| (name, None)))?;
        if !errors.is_empty() {
            let (some, errors) = (plural(errors.len()), errors.join("\n"));
            return Err(format!("Error cancelling partition reassignment{some} for:\n{errors}").into());
        }
        let names = named(moves.keys(), ",");
        say!(
            "Successfully cancelled partition reassignment{} for: {names}",
            plural(moves.len())
        );
    }
    // Kafka leaves this line open.
    write!(output::Said, "None of the specified partition moves are active.")?;
    if arguments.preserve_throttles {
        say!();
    } else {
        cluster::clear_throttles(client, &plan.partitions)?;
    }
    Ok(())
}

fn plural(count: usize) -> &'static str {
    if count == 1 { "" } else { "s" }
}
