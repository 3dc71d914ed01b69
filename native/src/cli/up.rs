//! `highwater up`: a broker to try, with the page.

use std::path::PathBuf;

use highwater_core::config::{BrokerConfig, Setting};

use super::{Failure, host_and_port, say};
use crate::{host, logging};

/// What differs from `server` with an empty file, so that one machine with one broker works at once.
const DIFFERENCES: [(&str, &str); 3] = [
    ("offsets.topic.replication.factor", "1"),
    ("transaction.state.log.replication.factor", "1"),
    ("group.initial.rebalance.delay.ms", "0"),
];

#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// How many brokers; more than one is not available yet.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1))]
    brokers: u16,
    /// Where everything is kept.
    #[arg(long, default_value = "highwater-data", value_name = "DIR")]
    data: PathBuf,
    /// The port for Kafka clients.
    #[arg(long, default_value_t = 9092)]
    port: u16,
    /// Where the lab and the book are served.
    #[arg(long, default_value = "127.0.0.1:8080", value_name = "HOST:PORT", value_parser = host_and_port)]
    http: (String, u16),
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    logging::start();
    let data = &arguments.data;
    let settings = [
        ("broker.id", "1".to_owned()),
        ("listeners", format!("PLAINTEXT://127.0.0.1:{}", arguments.port)),
        ("log.dirs", data.display().to_string()),
    ];
    let differences = DIFFERENCES.map(|(key, value)| (key, value.to_owned()));
    let settings = settings
        .into_iter()
        .chain(differences)
        .map(|(key, value)| Setting {
            key: key.to_owned(),
            value,
            place: "highwater up".to_owned(),
        });
    let loaded = BrokerConfig::from_settings(settings.collect())?;
    host::run(&loaded.config, Some(arguments.http.clone()), |addresses| {
        announce(addresses, data);
    })?;
    Ok(())
}

fn announce(addresses: &host::Addresses, data: &std::path::Path) {
    for listener in &addresses.listeners {
        let address = format!("{}:{}", listener.host, listener.port);
        say(&format!(
            "Kafka clients  {address}  (listening, data in {})",
            data.display()
        ));
        say(&format!(
            "try            echo hello | kcat -b {address} -t greetings -P"
        ));
        say(&format!(
            "               kcat -b {address} -t greetings -C -o beginning -e"
        ));
    }
    if let Some(page) = addresses.page {
        say(&format!("lab            http://{page}/"));
        say(&format!("book           http://{page}/book/"));
    }
    let differences = DIFFERENCES.map(|(key, value)| format!("{key}={value}"));
    say(&format!("unlike server  {}", differences.join(", ")));
    say("stop           Ctrl-C");
}
