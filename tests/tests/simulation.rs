//! Random worlds: none may break an invariant, all together must meet everything, and each must be
//! the same every time.

use std::fs;
use std::path::Path;

use highwater_core::sim::script::hashes;
use highwater_core::sim::script::search::{self, Exercised, Found};

/// The searches run on as many threads as there are processors. All that is found is said, not only the first
/// of each thread.
fn search(seeds: std::ops::Range<u64>) -> Exercised {
    let threads = std::thread::available_parallelism().map_or(1, usize::from) as u64;
    let parts: Vec<(Exercised, Vec<Box<Found>>)> = std::thread::scope(|scope| {
        let handles: Vec<_> = (0..threads)
            .map(|thread| {
                let own = seeds.clone().filter(move |seed| seed % threads == thread);
                scope.spawn(move || {
                    let mut exercised = Exercised::new();
                    let found = own.filter_map(|seed| search::play_seed(seed, &mut exercised).err());
                    let found = found.collect();
                    (exercised, found)
                })
            })
            .collect();
        handles.into_iter().map(|handle| handle.join().unwrap()).collect()
    });
    let mut all = Exercised::new();
    let mut said = Vec::new();
    for (exercised, found) in parts {
        for (name, count) in exercised {
            *all.entry(name).or_insert(0) += count;
        }
        said.extend(found.iter().map(|found| kept(found)));
    }
    assert!(said.is_empty(), "{}", said.join("\n"));
    all
}

/// Writes what was found into a file; what is said of it.
fn kept(found: &Found) -> String {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(found.file_name());
    fs::write(&path, found.to_string()).unwrap();
    format!("{found}`highwater sim {}` plays it again", path.display())
}

#[test]
fn five_hundred_random_worlds_hold_and_meet_everything() {
    let exercised = search(1..501);
    assert_eq!(search::missing(&exercised), [""; 0], "{exercised:#?}");
}

#[test]
#[ignore = "long: run by --soak"]
fn ten_thousand_random_worlds_hold() {
    search(1_000..11_000);
}

#[test]
fn the_same_seed_gives_the_same_facts() {
    assert_eq!(hashes::list().unwrap(), hashes::list().unwrap());
}

#[test]
fn small_worlds_tell_what_is_listed() {
    let once = hashes::list().unwrap();
    if once != hashes::LIST && std::env::var_os("HIGHWATER_WRITE").is_some() {
        let list = Path::new(env!("CARGO_MANIFEST_DIR")).join("../core/src/sim/script/hashes.txt");
        return fs::write(list, once).unwrap();
    }
    assert_eq!(
        once,
        hashes::LIST,
        "if this is meant, HIGHWATER_WRITE=1 writes the list anew"
    );
}
