//! `highwater server`: a broker from a properties file.

use std::path::PathBuf;

use highwater_core::config::BrokerConfig;

use super::{Failure, host_and_port};
use crate::output::say;
use crate::{host, logging};

#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The broker's properties, with Kafka's keys.
    file: PathBuf,
    /// A property that counts instead of the file's.
    #[arg(long = "override", value_name = "KEY=VALUE", value_parser = key_and_value)]
    overrides: Vec<(String, String)>,
    /// Where metrics (/metrics), health (/healthz), the lab and the book are served; nowhere if not given.
    #[arg(long, value_name = "HOST:PORT", value_parser = host_and_port)]
    http: Option<(String, u16)>,
}

fn key_and_value(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("it must read KEY=VALUE")?;
    Ok((key.trim().to_owned(), value.trim().to_owned()))
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    logging::start();
    let file = arguments.file.display().to_string();
    let text =
        std::fs::read_to_string(&arguments.file).map_err(|error| format!("cannot read {file}: {error}"))?;
    let loaded = BrokerConfig::load(&file, &text, &arguments.overrides)?;
    for warning in &loaded.warnings {
        tracing::warn!("{warning}");
    }
    if loaded.config.node_id < 0 {
        return Err(format!("{file}: broker.id is not set; give each broker a number of its own").into());
    }
    let plan = host::Plan {
        coordination: PathBuf::from(loaded.config.log_dirs.first().cloned().unwrap_or_default()),
        brokers: std::slice::from_ref(&loaded.config),
        page: arguments.http.clone(),
    };
    host::run(&plan, |addresses| {
        for listener in addresses.brokers.iter().flatten() {
            say!("listening on {}:{}", listener.host, listener.port);
        }
        if let Some(http) = addresses.page {
            say!("metrics on http://{http}/metrics");
        }
    })?;
    Ok(())
}
