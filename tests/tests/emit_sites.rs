//! Each kind of fact names the line of code that emitted it, and that line builds it: what the lab's code panel
//! marks. Told by every scenario and by random worlds.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use highwater_core::sim::script::player::Look;
use highwater_core::sim::script::{fact_names, pattern, random};
use highwater_core::sim::{Player, Script};
use highwater_lab::code;
use highwater_tests::repository;

/// Worlds that chance writes, besides the scenarios.
const SEEDS: std::ops::Range<u64> = 1..40;

/// What no scenario comes to.
const MORE: [&str; 6] = [
    // A segment is rolled and retained no longer.
    "brokers 1
setting log.retention.check.interval.ms=1000
topic t partitions 1 replicas 1 config segment.ms=1000 config retention.ms=3000
produce t-0 1 acks=all
run 2s
produce t-0 1 acks=all
run 10s",
    // A group is left, and forgotten.
    "brokers 1
setting offsets.topic.num.partitions=1
setting offsets.topic.replication.factor=1
setting offsets.retention.minutes=1
setting offsets.retention.check.interval.ms=1000
topic t partitions 1 replicas 1
produce t-0 3 acks=all
consumer one group.id=g auto.offset.reset=earliest enable.auto.commit=false commits=after
subscribe one t
step until Committed
unsubscribe one
run 2s
close one
run 100s",
    // A member without a common assignor, and a share that comes too late.
    "brokers 1
setting offsets.topic.num.partitions=1
setting offsets.topic.replication.factor=1
topic t partitions 1 replicas 1
consumer one group.id=g partition.assignment.strategy=range
consumer two group.id=g partition.assignment.strategy=range
consumer other group.id=g partition.assignment.strategy=roundrobin
subscribe one t
delay 9s SyncGroup
subscribe two t
run 20s
subscribe other t
run 5s",
    // A coordinator that has to give its groups up.
    "brokers 3
setting offsets.topic.num.partitions=1
setting zookeeper.session.timeout.ms=2000
topic t partitions 1 replicas 3
consumer one group.id=g
subscribe one t
run 5s
crash leader:__consumer_offsets-0
run 5s
restart all
run 5s
elect preferred __consumer_offsets-0
run 5s",
    // A producer that waits too long for its id.
    "brokers 1
topic t partitions 1 replicas 1
producer p acks=all request.timeout.ms=1000
delay 5s InitProducerId
try produce t-0 1 by p
run 15s",
    // A batch that the broker finds too large.
    "brokers 1
topic t partitions 1 replicas 1 config max.message.bytes=400
producer p acks=all linger.ms=50 bytes=100
produce t-0 6 by p
run 5s",
];
/// What no broker of ours brings about: nothing is throttled here.
const ELSEWHERE: [&str; 1] = ["Throttled"];

/// Where facts were emitted, by the facts' names: file and line.
type Sites = BTreeMap<String, BTreeSet<(&'static str, u32)>>;

fn scripts(dir: &Path, found: &mut Vec<Script>) {
    for entry in fs::read_dir(dir).expect("read a folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            scripts(&path, found);
        } else if path.extension().is_none() {
            let text = fs::read_to_string(&path).expect("read a script");
            found.push(Script::parse(&text).expect("a script"));
        }
    }
}

fn sites() -> Sites {
    let mut all = Vec::new();
    scripts(&repository().join("tests/scenarios"), &mut all);
    all.extend(SEEDS.map(|seed| Script::parse(&random::script(seed)).expect("a script")));
    all.extend(MORE.map(|text| Script::parse(text).expect("a script")));
    let mut sites = Sites::new();
    for script in &all {
        let mut player = Player::new().looking(Look::Nowhere);
        for line in &script.lines {
            // What breaks or is refused is told elsewhere; here the facts count.
            let _ = player.play_line(line);
        }
        let Some(world) = player.world() else {
            continue;
        };
        for event in world.trace().iter() {
            let name = pattern::name_of(&event.fact);
            let place = event
                .site
                .0
                .unwrap_or_else(|| panic!("{name} does not say where it was emitted"));
            sites
                .entry(name.to_owned())
                .or_default()
                .insert((place.file(), place.line()));
        }
    }
    sites
}

/// Whether some line of the core emits it.
fn is_emitted(folder: &Path, name: &str) -> bool {
    let entries = fs::read_dir(folder).expect("read a folder").flatten();
    entries.map(|entry| entry.path()).any(|path| {
        if path.is_dir() {
            return is_emitted(&path, name);
        }
        let source = fs::read_to_string(&path).expect("read a source file");
        let emits = |(_, line): &(usize, &str)| line.contains("emit(");
        let mut places = (1..).zip(source.lines()).filter(emits);
        places.any(|(line, _)| code::excerpt(&source, line, name).is_some())
    })
}

#[test]
fn every_kind_of_fact_names_the_line_that_emits_it() {
    let sites = sites();
    let unreached: Vec<&str> = fact_names().filter(|name| !sites.contains_key(*name)).collect();
    let mut wrong = Vec::new();
    for (name, places) in &sites {
        for (file, line) in places {
            let source = fs::read_to_string(repository().join(file)).expect("read a source file");
            if code::excerpt(&source, *line as usize, name).is_none() {
                wrong.push(format!("{file}:{line} does not name {name}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(unreached, ELSEWHERE, "no script reaches the former");
    for name in ELSEWHERE {
        assert!(is_emitted(&repository().join("core/src"), name), "{name}");
    }
}
