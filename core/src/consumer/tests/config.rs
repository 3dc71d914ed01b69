//! Settings: Kafka's defaults, and one line for each that cannot be.

use crate::client::testing::settings;
use crate::consumer::assignor::RebalanceProtocol;
use crate::consumer::config::{CONSUMER_KEYS, KEYS};
use crate::consumer::{ConsumerConfig, IsolationLevel, ResetStrategy};

fn read(pairs: &[(&str, &str)]) -> Result<ConsumerConfig, String> {
    let mut all = settings(&[
        ("bootstrap.servers", "a:1"),
        ("partition.assignment.strategy", "range"),
    ]);
    all.extend(settings(pairs));
    ConsumerConfig::read(&all).map_err(|error| error.to_string())
}

#[test]
fn what_is_not_set_is_kafkas_default() {
    let config = read(&[("group.id", "g")]).unwrap();
    assert_eq!(config.auto_offset_reset, ResetStrategy::Latest);
    assert_eq!(config.isolation_level, IsolationLevel::ReadUncommitted);
    assert_eq!(
        (
            config.fetch_min_bytes,
            config.fetch_max_wait_ms,
            config.fetch_max_bytes
        ),
        (1, 500, 50 << 20)
    );
    assert_eq!(
        (config.max_partition_fetch_bytes, config.max_poll_records),
        (1 << 20, 500)
    );
    assert!(config.check_crcs && config.exclude_internal_topics && config.allow_auto_create_topics);
    assert_eq!(&*config.client.client_id, "consumer-g-1");
    let group = config.group.unwrap();
    assert_eq!(
        (
            group.heartbeat_interval_ms,
            group.session_timeout_ms,
            group.max_poll_interval_ms
        ),
        (3_000, 45_000, 300_000)
    );
    assert!(group.auto_commit && group.auto_commit_interval_ms == 5_000);
    assert_eq!(group.protocol, RebalanceProtocol::Eager);
}

#[test]
fn without_a_group_nothing_is_committed() {
    assert!(read(&[]).unwrap().group.is_none());
    assert!(read(&[("enable.auto.commit", "false")]).unwrap().group.is_none());
}

#[test]
fn what_cannot_be_is_said_in_one_line() {
    let cases: [(&[(&str, &str)], &str); 14] = [
        (
            &[("group.id", "")],
            "The configured group.id should not be an empty string or whitespace.",
        ),
        (
            &[("group.id", "  ")],
            "The configured group.id should not be an empty string or whitespace.",
        ),
        (
            &[("enable.auto.commit", "true")],
            "enable.auto.commit cannot be set to true when default group id (null) is used.",
        ),
        (
            &[("group.protocol", "consumer")],
            "group.protocol=consumer is not known here: set group.protocol=classic, which every broker knows",
        ),
        (
            &[("group.id", "g"), ("group.remote.assignor", "uniform")],
            "group.remote.assignor cannot be set when group.protocol=CLASSIC",
        ),
        (
            &[("group.id", "g"), ("session.timeout.ms", "3000")],
            "Heartbeat must be set lower than the session timeout",
        ),
        (
            &[("group.id", "g"), ("group.instance.id", "a b")],
            "Group instance id is invalid: 'a b' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'",
        ),
        (
            &[("group.id", "g"), ("group.instance.id", "..")],
            "Group instance id is invalid: '..' is not allowed",
        ),
        (
            &[("group.id", "g"), ("group.instance.id", "")],
            "Invalid value  for configuration group.instance.id: String must be non-empty",
        ),
        (
            &[("auto.offset.reset", "smallest")],
            "Invalid value smallest for configuration auto.offset.reset: Invalid value `smallest` for configuration \
             auto.offset.reset. The value must be either 'earliest', 'latest', 'none' or of the format \
             'by_duration:<PnDTnHnMn.nS.>'.",
        ),
        (
            &[("max.poll.records", "0")],
            "Invalid value 0 for configuration max.poll.records: Value must be at least 1",
        ),
        (
            &[("isolation.level", "serializable")],
            "Invalid value serializable for configuration isolation.level: String must be one of: read_committed, \
             read_uncommitted",
        ),
        (
            &[("fetch.min.bytes", "few")],
            "Invalid value few for configuration fetch.min.bytes: Not a number of type INT",
        ),
        (
            &[("group.id", "g"), ("partition.assignment.strategy", "best")],
            "partition.assignment.strategy: there is no assignor 'best'",
        ),
    ];
    for (pairs, line) in cases {
        let said = read(pairs).unwrap_err();
        assert!(said.starts_with(line), "{said}");
        assert!(!said.contains('\n'));
    }
}

#[test]
fn the_table_is_sorted_documented_and_agrees_with_itself() {
    assert!(CONSUMER_KEYS.windows(2).all(|pair| pair[0].name < pair[1].name));
    for key in KEYS.iter().flat_map(|table| table.iter()) {
        assert!(key.doc.ends_with('.'), "{}", key.name);
        if let Some(default) = key.default {
            assert_eq!(key.parse(default).unwrap().to_string(), default, "{}", key.name);
        }
    }
}
