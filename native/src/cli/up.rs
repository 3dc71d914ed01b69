//! `highwater up`: a cluster to try, with the page.

use std::path::PathBuf;

use highwater_core::config::{BrokerConfig, Setting};

use super::{Failure, host_and_port};
use crate::output::say;
use crate::{host, logging};

/// Internal topics get so many replicas at most.
const MOST_INTERNAL_REPLICAS: u16 = 3;

#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// How many brokers.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=9))]
    brokers: u16,
    /// Where everything is kept.
    #[arg(long, default_value = "highwater-data", value_name = "DIR")]
    data: PathBuf,
    /// The port for Kafka clients; further brokers take the ports behind it.
    #[arg(long, default_value_t = 9092)]
    port: u16,
    /// Where the lab and the book are served.
    #[arg(long, default_value = "127.0.0.1:8080", value_name = "HOST:PORT", value_parser = host_and_port)]
    http: (String, u16),
}

impl Arguments {
    /// What differs from `server` with an empty file, so that one machine works at once.
    fn differences(&self) -> Vec<(&'static str, String)> {
        let replicas = self.brokers.min(MOST_INTERNAL_REPLICAS).to_string();
        let mut differences = vec![
            ("offsets.topic.replication.factor", replicas.clone()),
            ("transaction.state.log.replication.factor", replicas),
            ("group.initial.rebalance.delay.ms", "0".to_owned()),
        ];
        if self.brokers > 1 {
            // All stop together: nobody is left to hand leadership over to.
            differences.push(("controlled.shutdown.enable", "false".to_owned()));
        }
        differences
    }

    /// Whether the data directory is that of so many brokers: one alone has its logs in other places.
    fn check_data(&self) -> Result<(), Failure> {
        let holds = |name: &str| self.data.join(name).exists();
        let (whose, instead) = match self.brokers {
            1 if holds("broker-1") => ("several brokers", "--brokers 3"),
            2.. if holds("meta.properties") => ("one broker", "--brokers 1"),
            _ => return Ok(()),
        };
        let data = self.data.display();
        Err(
            format!("{data} holds the data of {whose}; start with {instead}, or choose another --data")
                .into(),
        )
    }

    /// The settings of the broker of this number, from 1.
    fn broker(&self, number: u16) -> Result<BrokerConfig, Failure> {
        // One broker keeps its logs where it always did; several have a directory each.
        let logs = match self.brokers {
            1 => self.data.clone(),
            _ => self.data.join(format!("broker-{number}")),
        };
        let port = match self.port {
            0 => 0,
            port => port
                .checked_add(number - 1)
                .ok_or_else(|| format!("there are not {} ports from {port} on", self.brokers))?,
        };
        let own = vec![
            ("broker.id", number.to_string()),
            ("listeners", format!("PLAINTEXT://127.0.0.1:{port}")),
            ("log.dirs", logs.display().to_string()),
        ];
        let settings = own.into_iter().chain(self.differences());
        let settings = settings.map(|(key, value)| Setting {
            key: key.to_owned(),
            value,
            place: "highwater up".to_owned(),
        });
        Ok(BrokerConfig::from_settings(settings.collect())?.config)
    }
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    logging::start();
    arguments.check_data()?;
    let brokers = (1..=arguments.brokers)
        .map(|number| arguments.broker(number))
        .collect::<Result<Vec<_>, _>>()?;
    let plan = host::Plan {
        brokers: &brokers,
        coordination: arguments.data.clone(),
        page: Some(arguments.http.clone()),
    };
    host::run(&plan, |addresses| announce(addresses, arguments))?;
    Ok(())
}

fn announce(addresses: &host::Addresses, arguments: &Arguments) {
    let listeners = addresses.brokers.iter().flatten();
    let listeners: Vec<String> = listeners
        .map(|listener| format!("{}:{}", listener.host, listener.port))
        .collect();
    say!(
        "Kafka clients  {}  (listening, data in {})",
        listeners.join(", "),
        arguments.data.display()
    );
    if let Some(first) = listeners.first() {
        say!("try            echo hello | kcat -b {first} -t greetings -P");
        say!("               kcat -b {first} -t greetings -C -o beginning -e");
    }
    if let Some(page) = addresses.page {
        say!("lab            http://{page}/");
        say!("book           http://{page}/book/");
    }
    let differences: Vec<String> = arguments
        .differences()
        .into_iter()
        .map(|(key, value)| format!("{key}={value}"))
        .collect();
    say!("unlike server  {}", differences.join(", "));
    say!("stop           Ctrl-C");
}
