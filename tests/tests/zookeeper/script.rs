//! One script that asks everything, played on both services.

use highwater::clock::Clock;
use highwater::coordination::Embedded;
use highwater_core::coordination::{CoordinationOp, Multi, NodeKind};
use highwater_tests::zookeeper::TestZooKeeper;

use super::broker::{Broker, look, look_all};
use super::names::Names;

/// One thing that happens in the script.
enum Step {
    Ask(&'static str, CoordinationOp),
    /// Of the first broker, for good.
    CloseA,
}

/// Everything that two brokers can ask, and every way to be refused.
fn script() -> Vec<Step> {
    use NodeKind::{EphemeralSequential, PersistentSequential};
    use Step::{Ask, CloseA};
    let multi = |broker, multi| Ask(broker, CoordinationOp::Multi(multi));
    let new = Multi::new;
    vec![
        Ask("a", look_all(&["/ids", "/absent"], &["/", "/ids"])),
        multi("b", new().create("/ids", "parent").create("/ids/x", "")),
        Ask("a", look_all(&["/ids", "/ids/x"], &["/", "/ids", "/ids/x"])),
        Ask("b", look_all(&["/ids", "/ids"], &["/ids"])),
        multi(
            "a",
            new()
                .create_ephemeral("/ids/a", "me")
                .set("/ids", "changed", Some(0)),
        ),
        multi(
            "b",
            new()
                .set("/ids", "again", None)
                .check("/ids", Some(2))
                .delete("/ids/x", Some(0)),
        ),
        Ask("a", look_all(&["/ids", "/ids/a", "/ids/x"], &["/ids"])),
        // Refused, each for its own reason, after operations that would have worked.
        multi("b", new().create("/new", "").create("/ids", "")),
        multi("b", new().create("/new", "").create("/no/child", "")),
        multi("b", new().create("/ids/a/child", "")),
        multi("b", new().create_as(EphemeralSequential, "/ids/a/n", "")),
        multi("b", new().set("/ids", "x", Some(1))),
        multi("b", new().set("/none", "x", None)),
        multi("b", new().delete("/ids", None)),
        multi("b", new().delete("/ids", Some(7))),
        multi("b", new().delete("/none", None)),
        multi("b", new().check("/ids", Some(9)).create("/new", "")),
        multi("b", new().check("/none", None)),
        multi("b", new().create("no slash", "")),
        multi("b", new().create("/a//b", "")),
        multi("b", new().create("/a/../b", "")),
        multi("b", new().create("/x", vec![b'x'; 2_000_000])),
        Ask("b", look("no slash", true)),
        Ask("a", look("/new", false)),
        // Numbers count what ever came, not what is there.
        multi(
            "a",
            new().create("/q", "").create_sequential("/q/n_", "0").create_as(
                EphemeralSequential,
                "/q/e_",
                "1",
            ),
        ),
        multi(
            "b",
            new()
                .delete("/q/n_0000000000", None)
                .create_as(PersistentSequential, "/q/n_", "2"),
        ),
        multi(
            "b",
            new()
                .create_sequential("/q/", "3")
                .create("/q/plain", "4")
                .create_sequential("/q/n_", "5"),
        ),
        Ask("b", look_all(&["/q", "/q/n_0000000002"], &["/q"])),
        multi(
            "a",
            new()
                .delete("/q/plain", None)
                .create("/q/plain", "")
                .delete("/q/plain", None),
        ),
        Ask("b", look_all(&["/q"], &["/q"])),
        // A multi that undoes itself is seen all the same.
        multi(
            "a",
            new()
                .create("/brief", "")
                .set("/brief", "x", Some(0))
                .delete("/brief", Some(1)),
        ),
        Ask(
            "b",
            look_all(&["/brief", "/ids/a", "/q/e_0000000001"], &["/", "/ids", "/q"]),
        ),
        multi("a", new().create("/brief", "").delete("/brief", None)),
        // A session's end takes its nodes, under one change.
        CloseA,
        Ask(
            "b",
            look_all(&["/ids/a", "/q/e_0000000001", "/ids", "/q"], &["/", "/ids", "/q"]),
        ),
        multi(
            "b",
            new().create_ephemeral("/ids/a", "b's").check("/ids/a", Some(0)),
        ),
        Ask("b", look("/ids/a", false)),
        multi("b", new().delete("/ids/a", None).delete("/ids", None)),
        Ask("b", look_all(&["/ids"], &["/ids", "/"])),
        multi("b", new()),
    ]
}

/// Plays the script with two brokers; answers what each was told after each step, in a form in which
/// session and change numbers are those of their first appearance.
fn play(brokers: [Broker; 2]) -> Vec<String> {
    let mut names = Names::default();
    let [mut a, mut b] = brokers;
    names.sessions.push(a.open(1));
    names.sessions.push(b.open(1));
    let mut told = Vec::new();
    let mut a_is_open = true;
    for (number, step) in script().into_iter().enumerate() {
        let is_close = matches!(step, Step::CloseA);
        match step {
            Step::Ask(who, op) => {
                let broker = if who == "a" { &mut a } else { &mut b };
                let id = broker.ask(op);
                told.extend(
                    broker
                        .until_answer(id)
                        .into_iter()
                        .map(|event| (number, who, event)),
                );
            }
            Step::CloseA => {
                a.host.close(1);
                let settled = a.host.settled();
                match &a.runtime {
                    Some(runtime) => runtime.block_on(settled),
                    None => tokio::runtime::Builder::new_current_thread()
                        .build()
                        .unwrap()
                        .block_on(settled),
                }
                a_is_open = false;
            }
        }
        // Behind an answer to a read there is no watch event that the read's tree would have fired.
        for (who, broker) in [("a", &mut a), ("b", &mut b)] {
            if who == "a" && !a_is_open {
                continue;
            }
            let id = broker.ask(look("/barrier", false));
            let mut events = broker.until_answer(id);
            events.pop();
            // In which of its nodes a session's end begins is left to chance there.
            if is_close {
                events.sort_by_key(|event| format!("{event:?}"));
            }
            told.extend(events.into_iter().map(|event| (number, who, event)));
        }
    }
    for (_, _, event) in &told {
        names.note(event);
    }
    let told = told.into_iter();
    told.map(|(number, who, event)| format!("{number} {who}: {}", names.plain(event)))
        .collect()
}

#[test]
fn our_own_service_answers_as_zookeeper_does() {
    let server = TestZooKeeper::start();
    let connect = format!("{}/a/chroot", server.address());
    let theirs = play([(); 2].map(|()| Broker::of_zookeeper(&connect, 30_000)));
    let directory = tempfile::tempdir().unwrap();
    let service = Embedded::open(directory.path(), Embedded::options(), Clock::system()).unwrap();
    let ours = play([(); 2].map(|()| Broker::of_embedded(&service)));
    assert!(theirs.len() > 50, "the script has become short: {}", theirs.len());
    for (ours, theirs) in ours.iter().zip(&theirs) {
        assert_eq!(ours, theirs);
    }
    assert_eq!(ours.len(), theirs.len());
}
