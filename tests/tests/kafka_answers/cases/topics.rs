//! Topics and partitions: made, described, deleted.

use highwater_core::protocol::RequestBody;
use highwater_core::types::Uuid;

use super::{Case, NOBODY, case};
use crate::requests::*;

pub fn create_topics_cases() -> Vec<Case> {
    const KEPT: (&str, Option<&str>) = ("retention.ms", Some("-1"));
    const V: i16 = 7;
    let mut cases: Vec<Case> = (2..=7)
        .map(|version| {
            case("a topic", version, move |_| {
                create_topics(vec![new_topic(&format!("made-v{version}"), 1, 1, &[KEPT])], false)
            })
        })
        .collect();
    cases.extend([
        case("several, with settings", V, |_| {
            let late = [KEPT, ("message.timestamp.type", Some("LogAppendTime"))];
            let keyed = [KEPT, ("cleanup.policy", Some("compact"))];
            let small = [KEPT, ("max.message.bytes", Some("200"))];
            create_topics(
                vec![
                    new_topic("t", 2, 1, &[KEPT]),
                    new_topic("late", 1, 1, &late),
                    new_topic("keyed", 1, 1, &keyed),
                    new_topic("small", 1, 1, &small),
                ],
                false,
            )
        }),
        case("one that is there", V, |_| {
            create_topics(vec![new_topic("made-v2", 1, 1, &[])], false)
        }),
        case("no topic at all", V, |_| create_topics(vec![], false)),
        case("an empty name", V, |_| {
            create_topics(vec![new_topic("", 1, 1, &[])], false)
        }),
        case("a dot for a name", V, |_| {
            create_topics(vec![new_topic(".", 1, 1, &[])], false)
        }),
        case("a name with a slash", V, |_| {
            create_topics(vec![new_topic("a/b", 1, 1, &[])], false)
        }),
        case("a name of 250 letters", V, |_| {
            create_topics(vec![new_topic(&"x".repeat(250), 1, 1, &[])], false)
        }),
        case("a name that only differs by a dot", V, |_| {
            create_topics(
                vec![new_topic("made_v2", 1, 1, &[]), new_topic("made.v2", 1, 1, &[])],
                true,
            )
        }),
        case("no partitions", V, |_| {
            create_topics(vec![new_topic("x", 0, 1, &[])], false)
        }),
        case("fewer than none", V, |_| {
            create_topics(vec![new_topic("x", -7, 1, &[])], false)
        }),
        case("no replicas", V, |_| {
            create_topics(vec![new_topic("x", 1, 0, &[])], false)
        }),
        case("more replicas than brokers", V, |_| {
            create_topics(vec![new_topic("x", 1, 3, &[])], false)
        }),
        case("the broker's own numbers, only checked", V, |_| {
            create_topics(vec![new_topic("x", -1, -1, &[])], true)
        }),
        case("the same topic twice", V, |_| {
            create_topics(vec![new_topic("x", 1, 1, &[]), new_topic("x", 1, 1, &[])], false)
        }),
        case("an unknown setting", V, |_| {
            create_topics(vec![new_topic("x", 1, 1, &[("no.such", Some("1"))])], false)
        }),
        case("a setting that is no number", V, |_| {
            create_topics(
                vec![new_topic("x", 1, 1, &[("retention.ms", Some("soon"))])],
                false,
            )
        }),
        case("a setting out of its range", V, |_| {
            create_topics(vec![new_topic("x", 1, 1, &[("segment.bytes", Some("1"))])], false)
        }),
        case("a setting without a value", V, |_| {
            create_topics(vec![new_topic("x", 1, 1, &[("retention.ms", None)])], false)
        }),
        case("brokers and numbers", V, |_| {
            let mut topic = assigned_topic("x", &[(0, &[1])]);
            topic.num_partitions = 1;
            topic.replication_factor = 1;
            create_topics(vec![topic], false)
        }),
        case("a broker that is not there", V, |_| {
            create_topics(vec![assigned_topic("x", &[(0, &[7])])], false)
        }),
        case("a broker twice", V, |_| {
            create_topics(vec![assigned_topic("x", &[(0, &[1, 1])])], false)
        }),
        case("partitions with a gap", V, |_| {
            create_topics(vec![assigned_topic("x", &[(0, &[1]), (2, &[1])])], false)
        }),
        case("a partition without brokers", V, |_| {
            create_topics(vec![assigned_topic("x", &[(0, &[])])], false)
        }),
        case("only checked, with brokers", V, |_| {
            create_topics(vec![assigned_topic("x", &[(0, &[1]), (1, &[1])])], true)
        }),
    ]);
    if let Some(last) = cases.last_mut() {
        last.settle = Some(&["t", "late", "keyed", "small", "made-v7"]);
    }
    cases
}

pub fn create_partitions_cases() -> Vec<Case> {
    const V: i16 = 3;
    let mut cases: Vec<Case> = (0..=3)
        .map(|version| {
            case("one more", version, move |_| {
                create_partitions(&[(&format!("made-v{}", version + 2), 2, None)], false)
            })
        })
        .collect();
    cases.extend([
        case("as many as there are", V, |_| {
            create_partitions(&[("t", 2, None)], false)
        }),
        case("fewer than there are", V, |_| {
            create_partitions(&[("t", 1, None)], false)
        }),
        case("fewer than none", V, |_| {
            create_partitions(&[("t", -1, None)], false)
        }),
        case("of no such topic", V, |_| {
            create_partitions(&[("none", 2, None)], false)
        }),
        case("of an empty name", V, |_| {
            create_partitions(&[("", 2, None)], false)
        }),
        case("of a topic named twice", V, |_| {
            create_partitions(&[("t", 3, None), ("t", 4, None)], false)
        }),
        case("too few brokers", V, |_| {
            create_partitions(&[("t", 4, Some(&[1]))], false)
        }),
        case("a broker that is not there", V, |_| {
            create_partitions(&[("t", 3, Some(&[7]))], false)
        }),
        case("only checked", V, |_| {
            create_partitions(&[("t", 3, Some(&[1]))], true)
        }),
    ]);
    if let Some(last) = cases.last_mut() {
        last.settle = Some(&["t"]);
    }
    cases
}

pub fn metadata_cases() -> Vec<Case> {
    const NO_ID: Uuid = Uuid::ZERO;
    const V: i16 = 13;
    let ask = |topics: &[Named<'_>]| RequestBody::Metadata(metadata(Some(topics), false));
    let mut cases: Vec<Case> = (0..=V)
        .flat_map(|version| {
            [
                case("one topic", version, move |_| ask(&[(Some("t"), NO_ID)])),
                case("one that is not there", version, move |_| {
                    ask(&[(Some("none"), NO_ID)])
                }),
            ]
        })
        .collect();
    cases.extend([
        case("no topic at all", V, move |_| ask(&[])),
        case("an id", V, move |asker| ask(&[(None, asker.id("t"))])),
        case("an unknown id", V, move |_| ask(&[(None, NOBODY)])),
        case("neither name nor id", V, move |_| ask(&[(None, NO_ID)])),
        case("an id before its time", 11, move |asker| {
            ask(&[(None, asker.id("t"))])
        }),
        case("an id and a name", V, move |asker| {
            ask(&[(Some("late"), NO_ID), (None, asker.id("t"))])
        }),
        case("a name with a slash", V, move |_| ask(&[(Some("a/b"), NO_ID)])),
        case("an empty name", V, move |_| ask(&[(Some(""), NO_ID)])),
        case("a topic named twice", V, move |_| {
            ask(&[(Some("t"), NO_ID), (Some("t"), NO_ID)])
        }),
        case("what the client may do", V, |_| {
            RequestBody::Metadata(metadata(Some(&[(Some("t"), NO_ID), (Some("none"), NO_ID)]), true))
        }),
        case("what the client may do with the cluster", 10, |_| {
            let mut request = metadata(Some(&[]), false);
            request.include_cluster_authorized_operations = true;
            RequestBody::Metadata(request)
        }),
    ]);
    cases
}

pub fn describe_partitions_cases() -> Vec<Case> {
    vec![
        case("a topic", 0, |_| describe_partitions(&["t"], 100, None)),
        case("one that is not there", 0, |_| {
            describe_partitions(&["none"], 100, None)
        }),
        case("a name with a slash", 0, |_| {
            describe_partitions(&["a/b"], 100, None)
        }),
        case("one partition and no more", 0, |_| {
            describe_partitions(&["late", "t"], 1, None)
        }),
        case("from a partition on", 0, |_| {
            describe_partitions(&["late", "t"], 100, Some(("t", 1)))
        }),
        case("from a topic that was not asked for", 0, |_| {
            describe_partitions(&["late", "t"], 100, Some(("s", 0)))
        }),
        case("from before the first partition", 0, |_| {
            describe_partitions(&["t"], 100, Some(("t", -1)))
        }),
        case("from behind the last partition", 0, |_| {
            describe_partitions(&["t"], 100, Some(("t", 9)))
        }),
        case("a limit of none", 0, |_| describe_partitions(&["t"], 0, None)),
    ]
}

pub fn delete_topics_cases() -> Vec<Case> {
    let mut cases: Vec<Case> = (1..=5)
        .map(|version| {
            case("a topic", version, move |_| {
                delete_names(&[&format!("made-v{}", version + 1)])
            })
        })
        .collect();
    cases.extend([
        case("one that is gone", 5, |_| delete_names(&["none"])),
        case("an id", 6, |asker| delete_topics(&[(None, asker.id("small"))])),
        case("an unknown id", 6, |_| delete_topics(&[(None, NOBODY)])),
        case("neither name nor id", 6, |_| delete_topics(&[(None, Uuid::ZERO)])),
        case("a name and an id", 6, |asker| {
            delete_topics(&[(Some("t"), asker.id("t"))])
        }),
        case("a name twice", 6, |_| {
            delete_topics(&[(Some("made-v7"), Uuid::ZERO), (Some("made-v7"), Uuid::ZERO)])
        }),
        case("a name with a slash", 6, |_| {
            delete_topics(&[(Some("a/b"), Uuid::ZERO)])
        }),
        case("nothing", 6, |_| delete_topics(&[])),
    ]);
    cases
}
