//! Settings, and what there is besides topics: the cluster, log directories, coordinators.

use super::{Case, case};
use crate::requests::*;

pub fn configs_cases() -> Vec<Case> {
    const V: i16 = 4;
    const KEYS: Option<&[&str]> = Some(&["retention.ms", "cleanup.policy", "max.message.bytes"]);
    let mut cases: Vec<Case> = (1..=V)
        .map(|version| {
            case("settings of a topic", version, |_| {
                describe_configs(&[(TOPIC, "small", KEYS)], false)
            })
        })
        .collect();
    cases.extend([
        case("settings with all that is known of them", V, |_| {
            describe_configs(&[(TOPIC, "small", KEYS)], true)
        }),
        case("an unknown setting", V, |_| {
            describe_configs(&[(TOPIC, "t", Some(&["no.such"]))], false)
        }),
        case("no setting at all", V, |_| {
            describe_configs(&[(TOPIC, "t", Some(&[]))], false)
        }),
        case("no such topic", V, |_| {
            describe_configs(&[(TOPIC, "none", KEYS)], false)
        }),
        case("a name with a slash", V, |_| {
            describe_configs(&[(TOPIC, "a/b", KEYS)], false)
        }),
        case("an empty name", V, |_| {
            describe_configs(&[(TOPIC, "", KEYS)], false)
        }),
        case("settings of a broker", V, |_| {
            describe_configs(
                &[(BROKER, "1", Some(&["log.retention.ms", "num.io.threads"]))],
                true,
            )
        }),
        case("settings of all brokers", V, |_| {
            describe_configs(&[(BROKER, "", Some(&["log.retention.ms"]))], false)
        }),
        case("another broker", V, |_| {
            describe_configs(&[(BROKER, "7", Some(&["log.retention.ms"]))], false)
        }),
        case("a broker that is no number", V, |_| {
            describe_configs(&[(BROKER, "one", Some(&["log.retention.ms"]))], false)
        }),
        case("a resource that does not exist", V, |_| {
            describe_configs(&[(99, "x", None)], false)
        }),
        case("nothing at all", V, |_| describe_configs(&[], false)),
        case("a topic named twice", V, |_| {
            describe_configs(&[(TOPIC, "small", KEYS), (TOPIC, "small", KEYS)], false)
        }),
    ]);
    cases
}

pub fn alter_cases() -> Vec<Case> {
    let mut cases: Vec<Case> = (0..=1)
        .map(|version| {
            case("a setting", version, |_| {
                alter(TOPIC, "late", &[("flush.ms", SET, Some("60000"))], false)
            })
        })
        .collect();
    let change = |name: &str, changes: &'static [Change<'static>]| {
        case(name, 1, move |_| alter(TOPIC, "late", changes, false))
    };
    cases.extend([
        change("back to the default", &[("flush.ms", DELETE, None)]),
        change(
            "one more of a list",
            &[("cleanup.policy", APPEND, Some("compact"))],
        ),
        change(
            "one less of a list",
            &[("cleanup.policy", SUBTRACT, Some("compact"))],
        ),
        change("one more of what is no list", &[("flush.ms", APPEND, Some("1"))]),
        change("an unknown setting", &[("no.such", SET, Some("1"))]),
        change("a value that is no number", &[("flush.ms", SET, Some("soon"))]),
        change(
            "a value out of its range",
            &[("max.message.bytes", SET, Some("-4"))],
        ),
        change("no value", &[("flush.ms", SET, None)]),
        change("an unknown operation", &[("flush.ms", 9, Some("1"))]),
        change(
            "a setting twice",
            &[("flush.ms", SET, Some("1")), ("flush.ms", SET, Some("2"))],
        ),
        change("nothing", &[]),
        case("only checked", 1, |_| {
            alter(TOPIC, "late", &[("flush.ms", SET, Some("5"))], true)
        }),
        case("of no such topic", 1, |_| {
            alter(TOPIC, "none", &[("flush.ms", SET, Some("5"))], false)
        }),
        case("of a name with a slash", 1, |_| {
            alter(TOPIC, "a/b", &[("flush.ms", SET, Some("5"))], false)
        }),
        case("of another broker", 1, |_| {
            alter(BROKER, "7", &[("log.cleaner.threads", SET, Some("2"))], false)
        }),
        case("what a broker cannot change", 1, |_| {
            alter(BROKER, "1", &[("log.dirs", SET, Some("/x"))], false)
        }),
        case("of a broker that is no number", 1, |_| {
            alter(BROKER, "one", &[("log.cleaner.threads", SET, Some("2"))], false)
        }),
        case("of a resource that does not exist", 1, |_| {
            alter(99, "x", &[("a", SET, Some("2"))], false)
        }),
    ]);
    cases.extend((0..=2).map(|version| {
        case("all settings", version, |_| {
            replace_configs(
                TOPIC,
                "late",
                &[("retention.ms", Some("-1")), ("flush.ms", Some("7"))],
            )
        })
    }));
    cases.extend([
        case("an unknown setting", 2, |_| {
            replace_configs(TOPIC, "late", &[("no.such", Some("-1"))])
        }),
        case("a bad value", 2, |_| {
            replace_configs(TOPIC, "late", &[("flush.ms", Some("soon"))])
        }),
        case("no value", 2, |_| {
            replace_configs(TOPIC, "late", &[("flush.ms", None)])
        }),
        case("of no such topic", 2, |_| {
            replace_configs(TOPIC, "none", &[("flush.ms", Some("1"))])
        }),
    ]);
    cases
}

pub fn resources_cases() -> Vec<Case> {
    let of = |name: &str, kinds: &'static [i8]| case(name, 1, move |_| list_resources(kinds));
    vec![
        case("of client metrics", 0, |_| list_resources(&[])),
        of("of every kind", &[]),
        of("topics", &[TOPIC]),
        of("brokers", &[BROKER]),
        of("brokers and topics", &[BROKER, TOPIC]),
        of("a kind named twice", &[BROKER, BROKER]),
        of("client metrics and groups", &[16, 32]),
        of("a kind that does not exist", &[99]),
        of("one that exists and one that does not", &[BROKER, 99]),
        of("of no kind", &[0]),
    ]
}

pub fn cluster_cases() -> Vec<Case> {
    let mut cases: Vec<Case> = (0..=2)
        .map(|version| case("the cluster", version, |_| describe_cluster(1, false)))
        .collect();
    cases.extend([
        case("what the client may do", 2, |_| describe_cluster(1, true)),
        case("the controllers", 2, |_| describe_cluster(2, false)),
        case("endpoints of no kind", 2, |_| describe_cluster(9, false)),
    ]);
    cases.extend((1..=5).map(|version| {
        case("a partition", version, |_| {
            describe_log_dirs(Some(&[("late", &[0])]))
        })
    }));
    cases.extend([
        case("no such topic", 4, |_| describe_log_dirs(Some(&[("none", &[0])]))),
        case("no topic at all", 4, |_| describe_log_dirs(Some(&[]))),
    ]);
    cases.extend(
        (0..=6).map(|version| case("of a group", version, move |_| find_coordinator(version, 0, "g"))),
    );
    cases.extend([
        case("of what does not exist", 4, |_| find_coordinator(4, 9, "g")),
        case("of an empty group", 4, |_| find_coordinator(4, 0, "")),
    ]);
    cases
}
