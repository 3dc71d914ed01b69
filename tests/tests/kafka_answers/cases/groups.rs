//! Groups, in every state that they have: what is checked of a request, and in which order.
//!
//! `g` has the members A and B, `s` the static member S, `old` was joined by old clients, `simple` only stores
//! offsets; `none` is no group.

use highwater_core::protocol::RequestBody;
use highwater_core::protocol::messages::{LeaveGroupRequest, WireUuid, message};
use highwater_core::types::Uuid;

use super::{Case, NOBODY, case};
use crate::client::Asker;
use crate::group_requests::*;
use crate::requests::find_coordinator;

const JOIN: i16 = 9;
const SYNC: i16 = 5;
const HEARTBEAT: i16 = 4;
const LEAVE: i16 = 5;
const COMMIT: i16 = 9;
const FETCH: i16 = 9;
/// Nobody of this id is a member of anything.
const STRANGER: &str = "a-stranger";

/// Of `g`, as it stands when these are asked: the member A joins, and its share is stored.
pub fn joining_cases() -> Vec<Case> {
    let mut cases = vec![case("of a group to come", 4, |_| find_coordinator(4, 0, "g"))];
    cases.extend(refused_joins());
    cases.extend([
        case("a new member", JOIN, |_| join("g", "", |_| ())).of_member("A"),
        case("a member that comes with its id", JOIN, |asker| {
            join("g", asker.member("A"), |body| {
                body.protocols.push(protocol("roundrobin", OF_A));
            })
        })
        .of_member("A"),
    ]);
    cases.extend(before_the_share());
    cases.extend(refused_syncs());
    cases.push(case("the leader shares out", SYNC, |asker| {
        let member = asker.member("A");
        sync("g", member, 1, |body| assign(body, &[member]))
    }));
    cases.extend(in_a_stable_group());
    cases.extend((0..=3).map(|version| {
        case("a member of an old client", version, move |_| {
            join(&format!("old-{version}"), "", |body| {
                // Version 0 has no such field.
                body.rebalance_timeout_ms = if version == 0 { -1 } else { SESSION_MS };
            })
        })
        .of_member("old")
    }));
    cases
}

fn refused_joins() -> Vec<Case> {
    vec![
        case("a group without a name", JOIN, |_| join("", "", |_| ())),
        case("too short a session", JOIN, |_| {
            join("none", "", |body| body.session_timeout_ms = 1)
        }),
        case("too long a session", JOIN, |_| {
            join("none", "", |body| body.session_timeout_ms = 10_000_000)
        }),
        case("a stranger", JOIN, |_| join("none", STRANGER, |_| ())),
        case("no protocol", JOIN, |_| {
            join("none", "", |body| body.protocols.clear())
        }),
        case("no protocol type", JOIN, |_| {
            join("none", "", |body| body.protocol_type = "".into())
        }),
        case("an instance without a name", JOIN, |_| {
            join("odd", "", |body| body.group_instance_id = Some("".into()))
        })
        .of_member("odd"),
    ]
}

fn before_the_share() -> Vec<Case> {
    vec![
        case("before the share", HEARTBEAT, |asker| {
            heartbeat("g", asker.member("A"), 1, None)
        }),
        case("before the share", COMMIT, |asker| {
            commit("g", (asker.member("A"), 1), ("t", 0), |_| ())
        }),
        case("before the share", 5, |_| describe(&["g"], false)),
        case("the same member before the share", JOIN, |asker| {
            join("g", asker.member("A"), |body| {
                body.protocols.push(protocol("roundrobin", OF_A));
            })
        }),
        case("another protocol type before the share", JOIN, |_| {
            join("g", "", |body| body.protocol_type = "connect".into())
        }),
    ]
}

fn refused_syncs() -> Vec<Case> {
    vec![
        case("a group without a name", SYNC, |_| sync("", "", 1, |_| ())),
        case("a group that is not there", SYNC, |_| {
            sync("none", STRANGER, 1, |_| ())
        }),
        case("a stranger", SYNC, |_| sync("g", STRANGER, 1, |_| ())),
        case("a generation to come", SYNC, |asker| {
            sync("g", asker.member("A"), 2, |_| ())
        }),
        case("another protocol type", SYNC, |asker| {
            sync("g", asker.member("A"), 1, |body| {
                body.protocol_type = Some("connect".into());
            })
        }),
        case("another protocol", SYNC, |asker| {
            sync("g", asker.member("A"), 1, |body| {
                body.protocol_name = Some("roundrobin".into());
            })
        }),
        case("no protocol", SYNC, |asker| {
            sync("g", asker.member("A"), 1, |body| body.protocol_name = None)
        }),
        case("an instance that is not there", SYNC, |asker| {
            sync("g", asker.member("A"), 1, |body| {
                body.group_instance_id = Some("i".into());
            })
        }),
    ]
}

fn in_a_stable_group() -> Vec<Case> {
    let mut cases = vec![
        case("a member asks again", SYNC, |asker| {
            sync("g", asker.member("A"), 1, |_| ())
        }),
        case("a member", HEARTBEAT, |asker| {
            heartbeat("g", asker.member("A"), 1, None)
        }),
        case("a generation to come", HEARTBEAT, |asker| {
            heartbeat("g", asker.member("A"), 2, None)
        }),
        case("a stranger", HEARTBEAT, |_| heartbeat("g", STRANGER, 1, None)),
        case("nobody", HEARTBEAT, |_| heartbeat("g", "", 1, None)),
        case("a group without a name", HEARTBEAT, |_| {
            heartbeat("", STRANGER, 1, None)
        }),
        case("a group that is not there", HEARTBEAT, |_| {
            heartbeat("none", STRANGER, 1, None)
        }),
        case("an instance that is not there", HEARTBEAT, |asker| {
            heartbeat("g", asker.member("A"), 1, Some("i"))
        }),
        case("another protocol type", JOIN, |_| {
            join("g", "", |body| body.protocol_type = "connect".into())
        }),
        case("no protocol that all have", JOIN, |_| {
            join("g", "", |body| body.protocols = vec![protocol("sticky", OF_B)])
        }),
        case("a stranger among members", JOIN, |_| join("g", STRANGER, |_| ())),
    ];
    cases.extend(
        (0..=6).map(|version| case("a stable group", version, move |_| describe(&["g"], version >= 3))),
    );
    cases
}

/// B joins `g`: its answer comes when A has come again.
pub fn two_members_cases() -> Vec<Case> {
    vec![
        case("a second member", JOIN, |_| join("g", "", |_| ())).of_member("B"),
        case("a second member that comes with its id", JOIN, |asker| {
            join("g", asker.member("B"), |body| {
                body.protocols = vec![protocol("range", OF_B)];
            })
        })
        .answered_after(7),
        case("during a rebalance", HEARTBEAT, |asker| {
            heartbeat("g", asker.member("A"), 1, None)
        }),
        case("during a rebalance", SYNC, |asker| {
            sync("g", asker.member("A"), 1, |_| ())
        }),
        case("during a rebalance", COMMIT, |asker| {
            commit("g", (asker.member("A"), 1), ("t", 0), |_| ())
        }),
        case("of a generation to come during a rebalance", COMMIT, |asker| {
            commit("g", (asker.member("A"), 2), ("t", 0), |_| ())
        }),
        case("during a rebalance", 6, |_| describe(&["g"], false)),
        case("during a rebalance", 5, |_| list(&[], &[])),
        case("the first member comes again", JOIN, |asker| {
            join("g", asker.member("A"), |_| ())
        }),
        case("a member waits for its share", SYNC, |asker| {
            sync("g", asker.member("B"), 2, |_| ())
        })
        .answered_after(1),
        case("the leader shares out among two", SYNC, |asker| {
            let (one, other) = (asker.member("A"), asker.member("B"));
            sync("g", one, 2, |body| assign(body, &[one, other]))
        }),
        case("a follower comes again with nothing new", JOIN, |asker| {
            join("g", asker.member("B"), |body| {
                body.protocols = vec![protocol("range", OF_B)];
            })
        }),
        case("two members", 6, |_| describe(&["g"], false)),
    ]
}

/// S of `s`, who dies and comes back.
pub fn static_member_cases() -> Vec<Case> {
    let joins = |name: &str, member: fn(&Asker) -> &str| {
        case(name, JOIN, move |asker| {
            join("s", member(asker), |body| {
                body.group_instance_id = Some("i".into());
            })
        })
    };
    vec![
        joins("a static member", |_| "").of_member("S"),
        case("a static member shares out", SYNC, |asker| {
            let member = asker.member("S");
            sync("s", member, 1, |body| {
                body.group_instance_id = Some("i".into());
                assign(body, &[member]);
            })
        }),
        case("a static member", HEARTBEAT, |asker| {
            heartbeat("s", asker.member("S"), 1, Some("i"))
        }),
        joins("a static member is back", |_| "").of_member("S again"),
        case("a static member's former life", HEARTBEAT, |asker| {
            heartbeat("s", asker.member("S"), 1, Some("i"))
        }),
        joins("a static member's former life", |asker| asker.member("S")),
        case("a static member's former life", SYNC, |asker| {
            sync("s", asker.member("S"), 1, |body| {
                body.group_instance_id = Some("i".into());
            })
        }),
        case("a static member's former life", COMMIT, |asker| {
            commit("s", (asker.member("S"), 1), ("t", 0), |body| {
                body.group_instance_id = Some("i".into());
            })
        }),
        case("a static member's former life", LEAVE, |asker| {
            leave("s", &[(asker.member("S"), Some("i"))])
        }),
        case("a static member's present life", HEARTBEAT, |asker| {
            heartbeat("s", asker.member("S again"), 1, Some("i"))
        }),
        case("a static member without its instance", HEARTBEAT, |asker| {
            heartbeat("s", asker.member("S again"), 1, None)
        }),
        case("a static member", 6, |_| describe(&["s"], false)),
    ]
}

pub fn commit_cases() -> Vec<Case> {
    let mut cases: Vec<Case> = (2..=9)
        .map(|version| {
            case("of a member", version, move |asker| {
                commit("g", (asker.member("A"), 2), ("t", 0), |body| {
                    if version >= 5 {
                        body.retention_time_ms = -1;
                    }
                    if version < 6 {
                        body.topics[0].partitions[0].committed_leader_epoch = -1;
                    }
                })
            })
        })
        .collect();
    cases.extend([
        case("of a member, the topic by its id", 10, |asker| {
            let id = WireUuid::from_bytes(asker.id("t").0);
            commit("g", (asker.member("A"), 2), ("", 0), |body| {
                body.topics[0].topic_id = id;
            })
        }),
        case("of an unknown id", 10, |asker| {
            let id = WireUuid::from_bytes(NOBODY.0);
            commit("g", (asker.member("A"), 2), ("", 0), |body| {
                body.topics[0].topic_id = id;
            })
        }),
        case("of a client that only stores offsets", COMMIT, |_| {
            commit("simple", ("", -1), ("t", 1), |_| ())
        }),
        case("of nobody in a group with members", COMMIT, |_| {
            commit("g", ("", -1), ("t", 0), |_| ())
        }),
        case("of a stranger", COMMIT, |_| {
            commit("g", (STRANGER, 2), ("t", 0), |_| ())
        }),
        case("of a former generation", COMMIT, |asker| {
            commit("g", (asker.member("A"), 1), ("t", 0), |_| ())
        }),
        case("of an instance that is not there", COMMIT, |asker| {
            commit("g", (asker.member("A"), 2), ("t", 0), |body| {
                body.group_instance_id = Some("i".into());
            })
        }),
        case("of a member of no group", COMMIT, |_| {
            commit("none", (STRANGER, 1), ("t", 0), |_| ())
        }),
        case("of a member of no group", 8, |_| {
            commit("none", (STRANGER, 1), ("t", 0), |_| ())
        }),
        case("of a group without a name", COMMIT, |_| {
            commit("", ("", -1), ("t", 0), |_| ())
        }),
        case("of a topic that is not there", COMMIT, |asker| {
            commit("g", (asker.member("A"), 2), ("none", 0), |_| ())
        }),
        case("of a partition that is not there", COMMIT, |asker| {
            commit("g", (asker.member("A"), 2), ("t", 9), |_| ())
        }),
        case("with too long a remark", COMMIT, |asker| {
            commit("g", (asker.member("A"), 2), ("t", 0), |body| {
                body.topics[0].partitions[0].committed_metadata = Some("m".repeat(4097).into());
            })
        }),
        case("with no remark", COMMIT, |asker| {
            commit("g", (asker.member("A"), 2), ("t", 1), |body| {
                body.topics[0].partitions[0].committed_metadata = None;
            })
        }),
        case("below the first offset", COMMIT, |asker| {
            commit("g", (asker.member("A"), 2), ("t", 1), |body| {
                body.topics[0].partitions[0].committed_offset = -7;
            })
        }),
        case("of no topic", COMMIT, |asker| {
            commit("g", (asker.member("A"), 2), ("t", 0), |body| body.topics.clear())
        }),
    ]);
    cases
}

pub fn fetch_cases() -> Vec<Case> {
    let mut cases: Vec<Case> = (1..=7)
        .map(|version| {
            case("partitions of a group", version, |_| {
                fetch_old("g", Some(&[("t", &[0, 1, 9]), ("none", &[0])]), false)
            })
        })
        .collect();
    cases.extend((2..=7).map(|version| {
        case("all that a group has", version, |_| {
            fetch_old("simple", None, false)
        })
    }));
    cases.extend([
        case("a group that is not there", 7, |_| {
            fetch_old("none", Some(&[("t", &[0])]), true)
        }),
        case("a group without a name", 7, |_| {
            fetch_old("", Some(&[("t", &[0])]), false)
        }),
        case("all of a group that is not there", 7, |_| {
            fetch_old("none", None, false)
        }),
        case("several groups", 8, |_| {
            fetch(&[
                ("g", Some(&[("t", Uuid::ZERO, &[0])])),
                ("simple", None),
                ("none", Some(&[("t", Uuid::ZERO, &[0])])),
            ])
        }),
        case("no group", 8, |_| fetch(&[])),
        case("a group without a name", FETCH, |_| fetch(&[("", None)])),
        case("all that a group has", FETCH, |_| fetch(&[("simple", None)])),
        case("topics by their ids", 10, |asker| {
            let (known, unknown) = (asker.id("t"), NOBODY);
            fetch(&[("g", Some(&[("", known, &[0]), ("", unknown, &[0])]))])
        }),
        case("all, with ids", 10, |_| fetch(&[("simple", None)])),
    ]);
    cases
}

pub fn operator_cases() -> Vec<Case> {
    let mut cases: Vec<Case> = (0..=5)
        .map(|version| case("all", version, |_| list(&[], &[])))
        .collect();
    cases.extend([
        case("stable ones", 4, |_| list(&["Stable"], &[])),
        case("in small letters", 5, |_| list(&["stable", "empty"], &[])),
        case("in a state that does not exist", 5, |_| list(&["Tired"], &[])),
        case("classic ones", 5, |_| list(&[], &["classic"])),
        case("in large letters", 5, |_| list(&[], &["CLASSIC"])),
        case("of the new protocol", 5, |_| list(&[], &["consumer"])),
        case("of a kind that does not exist", 5, |_| list(&[], &["tired"])),
        case("one that is not there", 5, |_| describe(&["none"], false)),
        case("one that is not there", 6, |_| describe(&["none"], false)),
        case("one without a name", 6, |_| describe(&[""], false)),
        case("one that only stores offsets", 6, |_| describe(&["simple"], true)),
        case("none", 6, |_| describe(&[], false)),
        case("of a topic that is read", 0, |_| {
            delete_offsets("g", &[("t", &[0, 9])])
        }),
        case("of a group that is not there", 0, |_| {
            delete_offsets("none", &[("t", &[0])])
        }),
        case("of a group without a name", 0, |_| {
            delete_offsets("", &[("t", &[0])])
        }),
        case("of a topic that is not there", 0, |_| {
            delete_offsets("simple", &[("none", &[0])])
        }),
        case("of partitions", 0, |_| {
            delete_offsets("simple", &[("t", &[0, 1, 9])])
        }),
        case("of no topic", 0, |_| delete_offsets("simple", &[])),
    ]);
    cases
}

/// Those of `g` and of `s` leave.
pub fn leaving_cases() -> Vec<Case> {
    let alone = |name: &str, version: i16, group: &'static str, member: fn(&Asker) -> String| {
        case(name, version, move |asker| {
            RequestBody::LeaveGroup(message(|body: &mut LeaveGroupRequest| {
                body.group_id = group.into();
                body.member_id = member(asker).into();
            }))
        })
    };
    let mut cases: Vec<Case> = (0..=2)
        .map(|version| alone("a stranger", version, "g", |_| STRANGER.to_owned()))
        .collect();
    cases.extend([
        case("a group without a name", LEAVE, |_| {
            leave("", &[(STRANGER, None)])
        }),
        case("a group that is not there", LEAVE, |_| {
            leave("none", &[(STRANGER, None)])
        }),
        case("a stranger", LEAVE, |_| leave("g", &[(STRANGER, None)])),
        case("nobody", LEAVE, |_| leave("g", &[])),
        case("an instance that is not there", LEAVE, |_| {
            leave("g", &[("", Some("j"))])
        }),
        alone("a member", 2, "g", |asker| asker.member("B").to_owned()),
        case("a member, and one that has left", 4, |asker| {
            leave("g", &[(asker.member("A"), None), (asker.member("B"), None)])
        }),
        case("an instance by its name", LEAVE, |_| {
            leave("s", &[("", Some("i"))])
        }),
        case("a group of nobody", HEARTBEAT, |asker| {
            heartbeat("g", asker.member("A"), 2, None)
        }),
        case("a group of nobody", SYNC, |asker| {
            sync("g", asker.member("A"), 2, |_| ())
        }),
        case("a group of nobody", JOIN, |asker| {
            join("g", asker.member("A"), |_| ())
        }),
        case("of a member that has left", COMMIT, |asker| {
            commit("g", (asker.member("A"), 2), ("t", 0), |_| ())
        }),
        case("of nobody in a group of nobody", COMMIT, |_| {
            commit("g", ("", -1), ("t", 0), |_| ())
        }),
        case("a group of nobody", 6, |_| describe(&["g"], false)),
        case("those of nobody", 5, |_| list(&["Empty"], &[])),
    ]);
    cases
}

pub fn deleting_cases() -> Vec<Case> {
    vec![
        case("one without a name", 2, |_| delete(&[""])),
        case("one that is not there", 2, |_| delete(&["none"])),
        case("one with members", 2, |_| delete(&["old-3"])),
        case("several", 2, |_| delete(&["g", "simple", "s", "none"])),
        case("none", 2, |_| delete(&[])),
        case("what is left", 5, |_| list(&[], &[])),
        case("one that was deleted", 2, |_| delete(&["g"])),
    ]
}
