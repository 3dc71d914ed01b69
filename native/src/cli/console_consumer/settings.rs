//! What the options make of the settings of the consumer and of the formatter.

use std::collections::BTreeSet;
use std::hash::{BuildHasher, RandomState};

use highwater_core::config::Settings;

use super::Arguments;
use crate::cli::Failure;
use crate::cli::properties::settings;

const GROUP: &str = "group.id";
const RESET: &str = "auto.offset.reset";
const ISOLATION: &str = "isolation.level";
/// Groups that are made for one run have such a number.
const MOST_GROUPS: u64 = 100_000;

/// The settings of the consumer, with what options say over those that were given as settings.
pub fn consumer(arguments: &Arguments) -> Result<Settings, Failure> {
    let mut all = settings(arguments.command_config.as_deref(), &arguments.command_property)?;
    let file = settings(arguments.command_config.as_deref(), &[])?;
    let named = arguments
        .group
        .iter()
        .chain(file.get(GROUP))
        .chain(all.get(GROUP));
    let groups: BTreeSet<String> = named.cloned().collect();
    set_group(&mut all, groups, arguments.partition.is_some())?;
    match all.get(RESET) {
        Some(reset) if arguments.from_beginning && reset != "earliest" => {
            return Err(format!(
                "Can't simultaneously specify --from-beginning and 'auto.offset.reset={reset}', please remove \
                 one option"
            )
            .into());
        }
        Some(_) => {}
        None => {
            let reset = if arguments.from_beginning {
                "earliest"
            } else {
                "latest"
            };
            set(&mut all, RESET, reset);
        }
    }
    set(&mut all, "bootstrap.servers", &arguments.bootstrap_server);
    let client_id = all.entry("client.id".to_owned());
    client_id.or_insert_with(|| "console-consumer".to_owned());
    if let Some(level) = &arguments.isolation_level {
        set(&mut all, ISOLATION, level);
    }
    Ok(all)
}

/// The group by whatever way it is named; or one for this run alone.
fn set_group(all: &mut Settings, groups: BTreeSet<String>, by_hand: bool) -> Result<(), Failure> {
    if groups.len() > 1 {
        let groups: Vec<String> = groups.iter().map(|group| format!("'{group}'")).collect();
        return Err(format!(
            "The group ids provided in different places (directly using '--group', via '--consumer-property', or \
             via '--consumer.config') do not match. Detected group ids: {}",
            groups.join(", ")
        )
        .into());
    }
    match groups.into_iter().next() {
        Some(_) if by_hand => Err("Options group and partition cannot be specified together.".into()),
        Some(group) => {
            set(all, GROUP, &group);
            Ok(())
        }
        None => {
            let number = RandomState::new().hash_one(0) % MOST_GROUPS;
            set(all, GROUP, &format!("console-consumer-{number}"));
            // Nobody will come back for its offsets.
            let commits = all.entry("enable.auto.commit".to_owned());
            commits.or_insert_with(|| "false".to_owned());
            Ok(())
        }
    }
}

fn set(all: &mut Settings, key: &str, value: &str) {
    all.insert(key.to_owned(), value.to_owned());
}

/// The settings of the formatter.
pub fn formatter(arguments: &Arguments) -> Result<Settings, Failure> {
    let mut all = settings(arguments.formatter_config.as_deref(), &[])?;
    let deserializers = [
        ("key.deserializer", &arguments.key_deserializer),
        ("value.deserializer", &arguments.value_deserializer),
    ];
    for (key, class) in deserializers {
        if let Some(class) = class.as_deref().filter(|class| !class.is_empty()) {
            set(&mut all, key, class);
        }
    }
    all.extend(settings(None, &arguments.formatter_property)?);
    Ok(all)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        arguments: Arguments,
    }

    fn arguments(options: &str) -> Arguments {
        let words = format!("console-consumer --bootstrap-server a:1 --topic t {options}");
        Command::parse_from(words.split_whitespace()).arguments
    }

    fn read(options: &str) -> Result<Settings, String> {
        consumer(&arguments(options)).map_err(|failure| failure.to_string())
    }

    #[test]
    fn without_a_group_one_is_made_that_commits_nothing() {
        let settings = read("").unwrap();
        assert!(settings["group.id"].starts_with("console-consumer-"));
        assert_eq!(settings["enable.auto.commit"], "false");
        assert_eq!(settings["auto.offset.reset"], "latest");
        assert_eq!(settings["client.id"], "console-consumer");
        let settings = read("--command-property enable.auto.commit=true --from-beginning").unwrap();
        assert_eq!(settings["enable.auto.commit"], "true");
        assert_eq!(settings["auto.offset.reset"], "earliest");
    }

    #[test]
    fn a_group_is_named_in_one_way() {
        for options in [
            "--group g",
            "--consumer-property group.id=g",
            "--group g --command-property group.id=g",
        ] {
            let settings = read(options).unwrap();
            assert_eq!(settings["group.id"], "g");
            assert!(!settings.contains_key("enable.auto.commit"));
        }
        let line = read("--group g --command-property group.id=h").unwrap_err();
        assert!(line.ends_with("Detected group ids: 'g', 'h'"), "{line}");
        let line = read("--group g --partition 0").unwrap_err();
        assert_eq!(line, "Options group and partition cannot be specified together.");
    }

    #[test]
    fn the_beginning_and_another_reset_do_not_go_together() {
        let line = read("--from-beginning --command-property auto.offset.reset=latest").unwrap_err();
        assert!(line.contains("'auto.offset.reset=latest'"), "{line}");
        assert!(read("--from-beginning --command-property auto.offset.reset=earliest").is_ok());
    }

    #[test]
    fn options_say_more_than_settings() {
        let settings = read("--isolation-level read_committed --command-property isolation.level=x").unwrap();
        assert_eq!(settings["isolation.level"], "read_committed");
        let given = arguments("--key-deserializer a --value-deserializer b --property value.deserializer=c");
        let settings = formatter(&given).unwrap();
        assert_eq!(settings["key.deserializer"], "a");
        assert_eq!(settings["value.deserializer"], "c");
    }
}
