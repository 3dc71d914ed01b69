//! Operations drawn from a seed, asked without waiting, on both services.

use highwater::clock::Clock;
use highwater::coordination::Embedded;
use highwater_core::coordination::{CoordinationEvent, CoordinationOp, Multi, Read};
use highwater_core::types::Rng;
use highwater_tests::zookeeper::TestZooKeeper;

use super::broker::{Broker, look};
use super::names::Names;

/// Steps drawn from a seed over a few paths, so that most of them meet something; nobody waits before the
/// next is asked.
fn random_steps(seed: u64) -> Vec<(usize, CoordinationOp)> {
    const PATHS: [&str; 6] = ["/a", "/a/b", "/a/b/c", "/d", "/d/e", "/a/f"];
    let mut rng = Rng::new(seed);
    let mut draw = move |bound: u64| rng.below(bound);
    let mut steps = Vec::new();
    for _ in 0..400 {
        let who = draw(2) as usize;
        if draw(3) == 0 {
            let reads = (0..=draw(2)).map(|_| {
                let (path, watch) = (PATHS[draw(6) as usize].into(), draw(2) == 0);
                match draw(2) {
                    0 => Read::Data { path, watch },
                    _ => Read::Children { path, watch },
                }
            });
            steps.push((who, CoordinationOp::Read(reads.collect())));
            continue;
        }
        let mut multi = Multi::new();
        for _ in 0..=draw(3) {
            let path = PATHS[draw(6) as usize];
            let version = [None, Some(0), Some(1)][draw(3) as usize];
            multi = match draw(8) {
                0..=2 => multi.create(path, draw(10).to_string()),
                3 => multi.create_ephemeral(path, "mine"),
                4 => multi.create_sequential(format!("{path}/n"), ""),
                5 => multi.set(path, draw(10).to_string(), version),
                6 => multi.delete(path, version),
                _ => multi.check(path, version),
            };
        }
        steps.push((who, CoordinationOp::Multi(multi)));
    }
    steps
}

/// Plays drawn steps. The two brokers' connections race, so after each run of steps of one of them its
/// last answer is awaited, and the other takes a look.
fn play_random(seed: u64, mut brokers: [Broker; 2]) -> Vec<Vec<String>> {
    let mut names = Names::default();
    names.sessions = brokers.iter().map(|broker| broker.open(1)).collect();
    let mut told = Vec::new();
    for run in random_steps(seed).chunk_by(|one, next| one.0 == next.0) {
        let (who, mut last) = (run[0].0, 0);
        for (_, op) in run {
            last = brokers[who].ask(op.clone());
        }
        told.push(brokers[who].until_answer(last));
        let barrier = brokers[1 - who].ask(look("/barrier", false));
        told.push(brokers[1 - who].until_answer(barrier));
    }
    told.iter().flatten().for_each(|event| names.note(event));
    let plain = |events: Vec<CoordinationEvent>| events.into_iter().map(|event| names.plain(event)).collect();
    told.into_iter().map(plain).collect()
}

/// The answers in order, and each watch event with the number of answers that came before it.
fn apart(events: &[String]) -> (Vec<&String>, Vec<(&String, usize)>) {
    let (mut answers, mut watches) = (Vec::new(), Vec::new());
    for event in events {
        if event.starts_with("Watch {") {
            watches.push((event, answers.len()));
        } else {
            answers.push(event);
        }
    }
    watches.sort();
    (answers, watches)
}

#[test]
fn drawn_operations_asked_without_waiting_are_answered_as_zookeeper_does() {
    let server = TestZooKeeper::start();
    for seed in 1..=5 {
        let connect = format!("{}/seed-{seed}", server.address());
        let theirs = play_random(seed, [(); 2].map(|()| Broker::of_zookeeper(&connect, 30_000)));
        let directory = tempfile::tempdir().unwrap();
        let service = Embedded::open(directory.path(), Embedded::options(), Clock::system()).unwrap();
        let ours = play_random(seed, [(); 2].map(|()| Broker::of_embedded(&service)));
        assert_eq!(ours.len(), theirs.len(), "seed {seed}");
        for (number, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
            let (our_answers, our_watches) = apart(ours);
            let (their_answers, their_watches) = apart(theirs);
            assert_eq!(our_answers, their_answers, "seed {seed}, run {number}");
            let mut left = their_watches;
            for (our, at) in &our_watches {
                // Ours comes right before the answer that shows the change; theirs may overtake answers.
                let same = left
                    .iter()
                    .position(|(their, earlier)| their == our && earlier <= at);
                let same =
                    same.unwrap_or_else(|| panic!("seed {seed}, run {number}: {our} did not come in time"));
                left.remove(same);
            }
            // Who has looked twice before a change may hear of it twice.
            for (their, _) in left {
                let is_repeated = our_watches.iter().any(|(our, _)| *our == their);
                assert!(is_repeated, "seed {seed}, run {number}: {their} is one too many");
            }
        }
        let count = |what: &str| ours.iter().flatten().filter(|event| event.contains(what)).count();
        let (watches, done) = (count("Watch {"), count("Ok(Multi"));
        assert!(
            watches > 20 && done > 20,
            "seed {seed}: {watches} watches, {done} multis happened"
        );
    }
}
