//! `highwater consumer-groups`: lists, describes and deletes consumer groups and changes their offsets,
//! with the options and in the lines of Kafka's `kafka-consumer-groups.sh`.

mod cluster;
mod csv;
mod delete;
mod describe;
mod list;
mod partitions;
mod reset;
mod table;

use super::Failure;
use crate::output::say;
use cluster::Cluster;

/// The options of `kafka-consumer-groups.sh`.
#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("action").required(true).args(["list", "describe", "delete", "reset_offsets", "delete_offsets", "validate_regex"]))]
#[command(group = clap::ArgGroup::new("groups").args(["group", "all_groups"]))]
#[command(group = clap::ArgGroup::new("described").args(["members", "offsets"]))]
#[command(group = clap::ArgGroup::new("scenario").args(["to_offset", "to_earliest", "to_latest", "to_current", "shift_by", "to_datetime", "by_duration", "from_file"]))]
#[command(group = clap::ArgGroup::new("scope").multiple(true).args(["topic", "all_topics"]))]
pub struct Arguments {
    /// The broker to ask, as host:port; several with commas between them.
    #[arg(long, required_unless_present = "validate_regex")]
    bootstrap_server: Option<String>,
    /// List all groups.
    #[arg(long, conflicts_with_all = ["group", "topic"])]
    list: bool,
    /// Show offsets (or members, or the state) of groups.
    #[arg(long, requires = "groups", conflicts_with = "topic")]
    describe: bool,
    /// Delete groups with all that is known of them.
    #[arg(long, requires = "groups", conflicts_with = "topic")]
    delete: bool,
    /// Change the offsets of groups that nobody is in, by one of --to-offset, --to-earliest, --to-latest,
    /// --to-current, --shift-by, --to-datetime, --by-duration and --from-file.
    #[arg(long, requires = "groups", requires = "scenario")]
    reset_offsets: bool,
    /// Delete a group's offsets in topics.
    #[arg(long, requires = "group", requires = "topic", conflicts_with = "all_groups")]
    delete_offsets: bool,
    /// Say whether a regular expression is one.
    #[arg(long, value_name = "regex")]
    validate_regex: Option<String>,
    /// A group. May be given again.
    #[arg(long)]
    group: Vec<String>,
    /// All groups.
    #[arg(long)]
    all_groups: bool,
    /// A topic, or with its partitions topic:0,1,2. May be given again.
    #[arg(long)]
    topic: Vec<String>,
    /// All topics that the group has offsets of.
    #[arg(long)]
    all_topics: bool,
    /// With --describe: the members, and how many partitions each has.
    #[arg(long, requires = "describe")]
    members: bool,
    /// With --describe: the offsets, which is what is shown anyway.
    #[arg(long, requires = "describe")]
    offsets: bool,
    /// With --describe: the state of the group. With --list: the state of each group, or only the groups in
    /// these states.
    #[arg(long, value_name = "states", num_args = 0..=1, conflicts_with = "described")]
    state: Option<Option<String>>,
    /// With --list: the type of each group, or only the groups of these types.
    #[arg(long = "type", value_name = "types", num_args = 0..=1, requires = "list")]
    of_type: Option<Option<String>>,
    /// With --describe: show more.
    #[arg(long, requires = "describe")]
    verbose: bool,
    /// With --reset-offsets: only show what would be done, which is what is done anyway.
    #[arg(long, conflicts_with = "execute")]
    dry_run: bool,
    /// With --reset-offsets: do it.
    #[arg(long)]
    execute: bool,
    /// With --reset-offsets: print the new offsets as lines for --from-file.
    #[arg(long)]
    export: bool,
    /// The new offset.
    #[arg(long, value_name = "offset", allow_hyphen_values = true)]
    to_offset: Option<i64>,
    /// To the first record that is there.
    #[arg(long)]
    to_earliest: bool,
    /// To the end.
    #[arg(long)]
    to_latest: bool,
    /// To where it is.
    #[arg(long)]
    to_current: bool,
    /// So many records on, or back.
    #[arg(long, value_name = "number", allow_hyphen_values = true)]
    shift_by: Option<i64>,
    /// To the first record of that time: YYYY-MM-DDThh:mm:ss.sss, in UTC unless a zone follows.
    #[arg(long, value_name = "datetime")]
    to_datetime: Option<String>,
    /// To the first record that is at most so old: PnDTnHnMnS.
    #[arg(long, value_name = "duration", allow_hyphen_values = true)]
    by_duration: Option<String>,
    /// To what stands in the file: lines of topic,partition,offset or group,topic,partition,offset.
    #[arg(long, value_name = "FILE")]
    from_file: Option<String>,
    /// How long to wait for a coordinator that is not there yet, in ms.
    #[arg(long, value_name = "ms", default_value_t = 5000)]
    timeout: u64,
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    if let Some(pattern) = &arguments.validate_regex {
        return validate(pattern);
    }
    if arguments.describe && matches!(arguments.state, Some(Some(_))) {
        return Err("Option [describe] does not take a value for [state]".into());
    }
    let bootstrap = arguments.bootstrap_server.as_deref().unwrap_or_default();
    let mut cluster = Cluster::connect(bootstrap, arguments.timeout)?;
    if arguments.list {
        return list::run(&mut cluster, arguments);
    }
    let groups = match arguments.all_groups {
        true => list::names(&mut cluster)?,
        false => arguments.group.clone(),
    };
    if arguments.describe {
        describe::run(&mut cluster, arguments, groups)
    } else if arguments.delete {
        delete::groups(&mut cluster, groups)
    } else if arguments.delete_offsets {
        let group = groups.last().map(String::as_str).unwrap_or_default();
        delete::offsets(&mut cluster, group, &arguments.topic)
    } else {
        reset::run(&mut cluster, arguments, groups)
    }
}

/// Brokers read such expressions as RE2 does, and so does this.
fn validate(pattern: &str) -> Result<(), Failure> {
    match regex::Regex::new(pattern) {
        Ok(_) => say!("The regular expression `{pattern}` is valid."),
        Err(error) => {
            let text = error.to_string();
            let why = text
                .lines()
                .last()
                .unwrap_or_default()
                .trim_start_matches("error: ");
            say!("The regular expression `{pattern}` is invalid: {why}.");
        }
    }
    Ok(())
}

/// The groups, each once and in order.
fn sorted(mut groups: Vec<String>) -> Vec<String> {
    groups.sort();
    groups.dedup();
    groups
}
