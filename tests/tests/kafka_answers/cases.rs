//! What is asked, in this order: each answer may depend on what was asked before.
//!
//! Topics: `t` has two partitions of which the second stays empty, `late` takes the broker's time, `keyed`
//! is compacted, `small` takes small batches only, `made-vN` were made with CreateTopics N.

use bytes::Bytes;
use highwater_core::protocol::RequestBody;
use highwater_core::protocol::fetch::FetchPartition;
use highwater_core::protocol::messages::{ApiVersionsRequest, message};
use highwater_core::record::{BatchBuilder, Codec};
use highwater_core::types::Uuid;

use crate::client::Asker;
use crate::requests::*;

/// One request.
pub struct Case {
    pub name: String,
    pub version: i16,
    /// Some requests name topics by their ids.
    pub ask: Box<dyn Fn(&Asker) -> RequestBody>,
    /// The topics that there must be before the next.
    pub settle: Option<&'static [&'static str]>,
}

fn case(name: &str, version: i16, ask: impl Fn(&Asker) -> RequestBody + 'static) -> Case {
    Case {
        name: name.to_owned(),
        version,
        ask: Box::new(ask),
        settle: None,
    }
}

const NOBODY: Uuid = Uuid([7; 16]);

pub fn all() -> Vec<Case> {
    let groups = [
        api_versions(),
        create_topics_cases(),
        create_partitions_cases(),
        metadata_cases(),
        describe_partitions_cases(),
        produce_cases(),
        fetch_cases(),
        list_offsets_cases(),
        epoch_cases(),
        producer_id_cases(),
        delete_records_cases(),
        configs_cases(),
        alter_cases(),
        cluster_cases(),
        delete_topics_cases(),
    ];
    groups.into_iter().flatten().collect()
}

fn api_versions() -> Vec<Case> {
    vec![case("a client's name with a blank in it", 4, |_| {
        RequestBody::ApiVersions(message(|request: &mut ApiVersionsRequest| {
            request.client_software_name = "a b".into();
            request.client_software_version = "1".into();
        }))
    })]
}

fn create_topics_cases() -> Vec<Case> {
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

fn create_partitions_cases() -> Vec<Case> {
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

fn metadata_cases() -> Vec<Case> {
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

fn describe_partitions_cases() -> Vec<Case> {
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

fn produce_cases() -> Vec<Case> {
    const V: i16 = 12;
    let by_name = |topic: &'static str, records: Option<Bytes>| {
        RequestBody::Produce(produce(topic, Uuid::ZERO, &[(0, records)]))
    };
    let one = || Some(batch(&["a", "b"]));
    let mut cases: Vec<Case> = (3..=V)
        .map(|version| case("a batch", version, move |_| by_name("t", one())))
        .collect();
    let of_producer = |epoch: i16, sequence: i32| {
        let made = BatchBuilder::new(Codec::None).producer(4242, epoch, sequence);
        Some(filled(made, &["x"]))
    };
    cases.extend([
        case("a batch, by id", 13, move |asker| {
            RequestBody::Produce(produce("", asker.id("t"), &[(0, one())]))
        }),
        case("an unknown id", 13, move |_| {
            RequestBody::Produce(produce("", NOBODY, &[(0, one())]))
        }),
        case("no such topic", V, move |_| by_name("none", one())),
        case("no such partition", V, move |_| {
            RequestBody::Produce(produce("t", Uuid::ZERO, &[(9, one())]))
        }),
        case("no topic at all", V, |_| {
            let mut request = produce("t", Uuid::ZERO, &[]);
            request.topics.clear();
            RequestBody::Produce(request)
        }),
        case("acks of 2", V, move |_| {
            let mut request = produce("t", Uuid::ZERO, &[(0, one())]);
            request.acks = 2;
            RequestBody::Produce(request)
        }),
        case("null records", V, move |_| by_name("t", None)),
        case("a batch whose checksum is wrong", V, move |_| {
            let mut bytes = batch(&["a"]).to_vec();
            if let Some(last) = bytes.last_mut() {
                *last ^= 1;
            }
            by_name("t", Some(bytes.into()))
        }),
        case("two batches", V, move |_| {
            by_name("t", Some([batch(&["a"]), batch(&["b"])].concat().into()))
        }),
        case("a control batch", V, move |_| {
            by_name(
                "t",
                Some(filled(BatchBuilder::new(Codec::None).control(true), &["a"])),
            )
        }),
        case("records without keys where they need one", V, move |_| {
            let mut unkeyed = BatchBuilder::new(Codec::None);
            unkeyed.append(TIME, None, Some(b"a"), &[]);
            by_name("keyed", Some(unkeyed.build()))
        }),
        case("a batch that is too large", V, move |_| {
            by_name("small", Some(batch(&[&"x".repeat(300)])))
        }),
        case("a batch with a gzip body", V, move |_| {
            by_name("t", Some(filled(BatchBuilder::new(Codec::Gzip), &["a", "b"])))
        }),
        case("a batch of a transaction that nobody began", V, move |_| {
            let made = BatchBuilder::new(Codec::None)
                .producer(4242, 0, 0)
                .transactional(true);
            let mut request = produce("t", Uuid::ZERO, &[(0, Some(filled(made, &["x"])))]);
            request.transactional_id = Some("nobody".into());
            RequestBody::Produce(request)
        }),
        case("a first batch of a producer", V, move |_| {
            by_name("t", of_producer(1, 0))
        }),
        case("the same batch of a producer again", V, move |_| {
            by_name("t", of_producer(1, 0))
        }),
        case("a batch of a producer with a gap before it", V, move |_| {
            by_name("t", of_producer(1, 9))
        }),
        case("a batch of a producer's older epoch", V, move |_| {
            by_name("t", of_producer(0, 0))
        }),
        case("a new epoch of a producer that does not begin", V, move |_| {
            by_name("t", of_producer(2, 5))
        }),
        case("a partition named twice", V, move |_| {
            let both = [(1, Some(batch(&["first"]))), (1, Some(batch(&["second"])))];
            RequestBody::Produce(produce("made-v2", Uuid::ZERO, &both))
        }),
    ]);
    cases
}

fn fetch_cases() -> Vec<Case> {
    const V: i16 = 12;
    let of = |parts: Vec<FetchPartition>| RequestBody::Fetch(fetch("t", Uuid::ZERO, parts));
    let mut cases: Vec<Case> = (4..=12)
        .map(|version| {
            case("two batches", version, move |_| {
                let mut part = part(0, 0);
                part.max_bytes = 180;
                of(vec![part])
            })
        })
        .collect();
    cases.extend((13..=18).map(|version| {
        case("the last batches", version, move |asker| {
            RequestBody::Fetch(fetch("", asker.id("t"), vec![part(0, 24)]))
        })
    }));
    cases.extend([
        case("an unknown id", 17, |_| {
            RequestBody::Fetch(fetch("", NOBODY, vec![part(0, 0)]))
        }),
        case("no such topic", V, |_| {
            RequestBody::Fetch(fetch("none", Uuid::ZERO, vec![part(0, 0)]))
        }),
        case("no such partition", V, move |_| of(vec![part(9, 0)])),
        case("an empty partition", V, move |_| of(vec![part(1, 0)])),
        case("an offset within a batch", V, move |_| {
            let mut part = part(0, 1);
            part.max_bytes = 1;
            of(vec![part])
        }),
        case("the end", V, move |_| of(vec![part(0, 10_000)])),
        case("an offset below all", V, move |_| of(vec![part(0, -1)])),
        case("a leader epoch to come", V, move |_| {
            let mut part = part(0, 0);
            part.current_leader_epoch = 5;
            of(vec![part])
        }),
        case("a last fetched epoch to come", V, move |_| {
            let mut part = part(0, 2);
            part.last_fetched_epoch = 5;
            of(vec![part])
        }),
        case(
            "a last fetched epoch with an offset beyond its end",
            V,
            move |_| {
                let mut part = part(0, 9_999);
                part.last_fetched_epoch = 0;
                of(vec![part])
            },
        ),
        case("a limit of no bytes", V, move |_| {
            let mut request = fetch("t", Uuid::ZERO, vec![part(0, 0)]);
            request.max_bytes = 0;
            RequestBody::Fetch(request)
        }),
        case("a limit below none", V, move |_| {
            let mut request = fetch("t", Uuid::ZERO, vec![part(0, 0)]);
            request.max_bytes = -1;
            RequestBody::Fetch(request)
        }),
        case("a partition's limit below none", V, move |_| {
            let mut part = part(0, 0);
            part.max_bytes = -1;
            of(vec![part])
        }),
        case("committed records only", V, move |_| {
            let mut request = fetch("t", Uuid::ZERO, vec![part(0, 24)]);
            request.isolation_level = 1;
            RequestBody::Fetch(request)
        }),
        case("an isolation level that does not exist", V, move |_| {
            let mut request = fetch("t", Uuid::ZERO, vec![part(0, 24)]);
            request.isolation_level = 7;
            RequestBody::Fetch(request)
        }),
        case("an unknown session", V, move |_| {
            let mut request = fetch("t", Uuid::ZERO, vec![part(0, 0)]);
            (request.session_id, request.session_epoch) = (99, 1);
            RequestBody::Fetch(request)
        }),
        case("a new session", V, move |_| {
            let mut request = fetch("t", Uuid::ZERO, vec![part(1, 0)]);
            request.session_epoch = 0;
            RequestBody::Fetch(request)
        }),
        case("a partition named twice", V, move |_| {
            of(vec![part(1, 0), part(1, 0)])
        }),
        case("nothing at all", V, |_| {
            let mut request = fetch("t", Uuid::ZERO, vec![]);
            request.topics.clear();
            RequestBody::Fetch(request)
        }),
    ]);
    cases
}

fn list_offsets_cases() -> Vec<Case> {
    const V: i16 = 11;
    let of = |partitions: &[(i32, i32, i64)]| RequestBody::ListOffsets(list_offsets("t", partitions));
    let mut cases: Vec<Case> = (1..=V)
        .map(|version| case("latest", version, move |_| of(&[(0, -1, -1)])))
        .collect();
    for special in -7..=-2 {
        let name = format!("special {special}");
        cases.push(case(&name, V, move |_| of(&[(0, -1, special)])));
        cases.push(case(&format!("special {special}, nothing there"), V, move |_| {
            of(&[(1, -1, special)])
        }));
    }
    cases.extend([
        case("a time", V, move |_| of(&[(0, -1, TIME + 1)])),
        case("a time before all", V, move |_| of(&[(0, -1, 0)])),
        case("a time after all", V, move |_| of(&[(0, -1, TIME * 2)])),
        case("a time, nothing there", V, move |_| of(&[(1, -1, TIME)])),
        case("a special before its time", 6, move |_| of(&[(0, -1, -3)])),
        case("no such partition", V, move |_| of(&[(9, -1, -1)])),
        case("no such topic", V, |_| {
            RequestBody::ListOffsets(list_offsets("none", &[(0, -1, -1)]))
        }),
        case("a leader epoch to come", V, move |_| of(&[(0, 5, -1)])),
        case("the leader epoch", V, move |_| of(&[(0, 0, -1)])),
        case("a partition named twice", V, move |_| {
            of(&[(0, -1, -1), (0, -1, -2)])
        }),
        case("committed records only", V, move |_| {
            let mut request = list_offsets("t", &[(0, -1, -1)]);
            request.isolation_level = 1;
            RequestBody::ListOffsets(request)
        }),
        case("an isolation level that does not exist", V, move |_| {
            let mut request = list_offsets("t", &[(0, -1, -1)]);
            request.isolation_level = 7;
            RequestBody::ListOffsets(request)
        }),
    ]);
    cases
}

fn epoch_cases() -> Vec<Case> {
    let mut cases: Vec<Case> = (2..=4)
        .map(|version| case("the epoch", version, |_| epoch_ends("t", &[(0, -1, 0)])))
        .collect();
    cases.extend([
        case("an epoch to come", 4, |_| epoch_ends("t", &[(0, -1, 5)])),
        case("no epoch", 4, |_| epoch_ends("t", &[(0, -1, -1)])),
        case("an empty partition", 4, |_| epoch_ends("t", &[(1, -1, 0)])),
        case("an epoch to come of an empty partition", 4, |_| {
            epoch_ends("t", &[(1, -1, 5)])
        }),
        case("a leader epoch to come", 4, |_| epoch_ends("t", &[(0, 5, 0)])),
        case("no such partition", 4, |_| epoch_ends("t", &[(9, -1, 0)])),
        case("no such topic", 4, |_| epoch_ends("none", &[(0, -1, 0)])),
    ]);
    cases
}

fn producer_id_cases() -> Vec<Case> {
    let mut cases: Vec<Case> = (0..=6)
        .map(|version| case("a new producer", version, |_| init_producer_id(None, -1, -1)))
        .collect();
    cases.extend([
        case("a producer without an epoch", 4, |_| {
            init_producer_id(None, 5, -1)
        }),
        case("a known producer without a transaction", 4, |_| {
            init_producer_id(None, 5, 3)
        }),
        case("an empty transactional id", 4, |_| {
            init_producer_id(Some(""), -1, -1)
        }),
    ]);
    cases
}

fn delete_records_cases() -> Vec<Case> {
    let mut cases: Vec<Case> = (0..=2)
        .map(|version| {
            case("below an offset", version, move |_| {
                delete_records("t", &[(0, 1 + i64::from(version))])
            })
        })
        .collect();
    cases.extend([
        case("below what is gone", 2, |_| delete_records("t", &[(0, 1)])),
        case("all of an empty partition", 2, |_| {
            delete_records("t", &[(1, -1)])
        }),
        case("beyond the end", 2, |_| delete_records("t", &[(0, 100_000)])),
        case("an offset below -1", 2, |_| delete_records("t", &[(0, -2)])),
        case("no such partition", 2, |_| delete_records("t", &[(9, 0)])),
        case("no such topic", 2, |_| delete_records("none", &[(0, 0)])),
        case("a partition named twice", 2, |_| {
            delete_records("t", &[(1, 0), (1, 0)])
        }),
    ]);
    cases
}

fn configs_cases() -> Vec<Case> {
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

fn alter_cases() -> Vec<Case> {
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

fn cluster_cases() -> Vec<Case> {
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

fn delete_topics_cases() -> Vec<Case> {
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
