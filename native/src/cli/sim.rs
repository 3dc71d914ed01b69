//! `highwater sim`: plays a script in the terminal, or many random worlds in search of a mistake.

mod play;
mod search;
mod speed;

use std::path::PathBuf;

use super::Failure;

#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The script to play; the book has its words. A story beside it (FILE.story) is told with it.
    #[arg(required_unless_present_any = ["seeds", "speed"], conflicts_with_all = ["seeds", "speed"])]
    script: Option<PathBuf>,
    /// Wait for Enter at each command and each moment of the story.
    #[arg(long, requires = "script")]
    step: bool,
    /// Print every fact, and every moment of the story, as one line of JSON; with --speed, the figures.
    #[arg(long, conflicts_with = "seeds")]
    json: bool,
    /// Say after each command, and at each moment of the story, what the lab's stage shows.
    #[arg(long, requires = "script")]
    describe: bool,
    /// Write the brokers' disks there as files when the script is over.
    #[arg(long, value_name = "DIR", requires = "script")]
    dump_dir: Option<PathBuf>,
    /// Play so many random worlds.
    #[arg(long, value_name = "N")]
    seeds: Option<u64>,
    /// The first world's seed.
    #[arg(long, value_name = "S", default_value_t = 1, requires = "seeds")]
    from: u64,
    /// Measure how fast worlds are played here.
    #[arg(long, conflicts_with = "seeds")]
    speed: bool,
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    match (&arguments.script, arguments.seeds) {
        _ if arguments.speed => speed::measure(arguments.json),
        (_, Some(seeds)) => search::worlds(arguments.from, seeds),
        (Some(script), None) => play::play(script, arguments),
        (None, None) => Ok(()),
    }
}
