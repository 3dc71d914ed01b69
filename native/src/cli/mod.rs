//! The commands: one file each, one line each in [`Command`] and in [`run`].

mod client;
mod configs;
mod console_consumer;
mod console_producer;
mod consumer_groups;
mod consumer_perf_test;
mod datetime;
mod delete_records;
mod describe_topics;
mod dump_log;
mod get_offsets;
mod hosting;
mod include_list;
mod leader_election;
mod moves;
mod numbers;
mod print_metrics;
mod producer_perf_test;
mod properties;
mod reassign_partitions;
mod server;
mod sim;
mod stop;
mod topics;
mod up;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::output::{self, complain};

/// A Kafka-compatible broker that you can watch think, and its tools.
#[derive(Debug, Parser)]
#[command(name = "highwater", version, propagate_version = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Starts a broker from a server.properties file, as kafka-server-start.sh does.
    Server(server::Arguments),
    /// Prints what is in the files of a partition, as kafka-dump-log.sh does.
    DumpLog(dump_log::Arguments),
    /// Creates, lists, describes, alters and deletes topics, as kafka-topics.sh does.
    Topics(topics::Arguments),
    /// Shows and alters settings of topics and brokers, as kafka-configs.sh does.
    Configs(configs::Arguments),
    /// Shows where partitions begin and end, as kafka-get-offsets.sh does.
    GetOffsets(get_offsets::Arguments),
    /// Deletes the records below an offset, as kafka-delete-records.sh does.
    DeleteRecords(delete_records::Arguments),
    /// Prints the records of topics, as kafka-console-consumer.sh does.
    ConsoleConsumer(console_consumer::Arguments),
    /// Sends lines as records, as kafka-console-producer.sh does.
    ConsoleProducer(console_producer::Arguments),
    /// Lists, describes and deletes consumer groups and changes their offsets, as
    /// kafka-consumer-groups.sh does.
    ConsumerGroups(consumer_groups::Arguments),
    /// Measures how fast records are read, as kafka-consumer-perf-test.sh does.
    ConsumerPerfTest(consumer_perf_test::Arguments),
    /// Measures how fast records are written, as kafka-producer-perf-test.sh does.
    ProducerPerfTest(producer_perf_test::Arguments),
    /// Plays a script in a simulated cluster, or searches many random ones for a mistake.
    Sim(sim::Arguments),
    /// Elects leaders of partitions, as kafka-leader-election.sh does.
    LeaderElection(leader_election::Arguments),
    /// Moves partitions to other brokers, as kafka-reassign-partitions.sh does.
    ReassignPartitions(reassign_partitions::Arguments),
    /// Starts a broker with the lab and the book, ready to try.
    Up(up::Arguments),
}

/// What a command failed with: one line for the user, who sees it after "highwater: ".
pub type Failure = Box<dyn std::error::Error>;

/// A command has failed, and has said itself what is wrong.
#[derive(Debug, thiserror::Error)]
#[error("it failed")]
struct AlreadySaid;

/// Runs the command line of this process.
pub fn run() -> ExitCode {
    let result = match Arguments::parse().command {
        Command::Server(arguments) => server::run(&arguments),
        Command::DumpLog(arguments) => dump_log::run(&arguments),
        Command::Topics(arguments) => topics::run(&arguments),
        Command::Configs(arguments) => configs::run(&arguments),
        Command::GetOffsets(arguments) => get_offsets::run(&arguments),
        Command::DeleteRecords(arguments) => delete_records::run(&arguments),
        Command::LeaderElection(arguments) => leader_election::run(&arguments),
        Command::ReassignPartitions(arguments) => reassign_partitions::run(&arguments),
        Command::ConsoleConsumer(arguments) => console_consumer::run(&arguments),
        Command::ConsumerGroups(arguments) => consumer_groups::run(&arguments),
        Command::ConsumerPerfTest(arguments) => consumer_perf_test::run(&arguments),
        Command::ConsoleProducer(arguments) => console_producer::run(&arguments),
        Command::ProducerPerfTest(arguments) => producer_perf_test::run(&arguments),
        Command::Up(arguments) => up::run(&arguments),
        Command::Sim(arguments) => sim::run(&arguments),
    };
    match result {
        Ok(()) => match output::lost() {
            None => ExitCode::SUCCESS,
            Some(error) => {
                complain!("highwater: {error}");
                ExitCode::FAILURE
            }
        },
        Err(failure) if output::is_unread(&*failure) => ExitCode::SUCCESS,
        Err(failure) => {
            if let Some(interrupted) = failure.downcast_ref::<stop::Interrupted>() {
                return interrupted.exit_code().into();
            }
            if !failure.is::<AlreadySaid>() {
                complain!("highwater: {failure}");
            }
            ExitCode::FAILURE
        }
    }
}

/// Reads where HTTP is served.
fn host_and_port(text: &str) -> Result<(String, u16), String> {
    let (host, port) = text.rsplit_once(':').ok_or("it must read HOST:PORT")?;
    let port = port.parse().map_err(|_| format!("'{port}' is not a port"))?;
    Ok((host.trim_matches(['[', ']']).to_owned(), port))
}
