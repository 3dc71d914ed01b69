//! The commands: one file each, one line each in [`Command`] and in [`run`].

mod dump_log;
mod server;
mod up;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

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
    /// Starts a broker with the lab and the book, ready to try.
    Up(up::Arguments),
}

/// What a command failed with: one line for the user, who sees it after "highwater: ".
pub type Failure = Box<dyn std::error::Error>;

/// Runs the command line of this process.
pub fn run() -> ExitCode {
    let result = match Arguments::parse().command {
        Command::Server(arguments) => server::run(&arguments),
        Command::DumpLog(arguments) => dump_log::run(&arguments),
        Command::Up(arguments) => up::run(&arguments),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("highwater: {failure}");
            ExitCode::FAILURE
        }
    }
}
