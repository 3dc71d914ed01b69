//! How many of the mistakes random worlds find, each of them alone: what `--soak` prints.

use crate::mutation;
use crate::ordered::OrderedSet;
use crate::sim::script::{Failure, Player, Script, random};

/// Random worlds in which each mistake was found, of so many.
const SEEDS: u64 = 50;

#[test]
#[ignore = "long: run by --soak"]
fn how_many_random_worlds_find_each_mistake() {
    let sound: Vec<u64> = (1..=SEEDS).filter(|&seed| play_seed(seed).is_ok()).collect();
    println!("report: mistakes found in {} random worlds each:", sound.len());
    let mut found = 0;
    for &mutation in mutation::ALL {
        let by = |&seed: &u64| mutation::with(mutation, || play_seed(seed)).err();
        let failures: Vec<Failure> = sound.iter().filter_map(by).collect();
        let names: OrderedSet<&str> = failures.iter().map(|f| f.invariant.unwrap_or("facts")).collect();
        let names: Vec<&str> = names.into_iter().collect();
        found += usize::from(!failures.is_empty());
        let (count, names) = (failures.len(), names.join(", "));
        println!("report: {count:>4}  {mutation:?}: {names}");
    }
    println!("report: {found} of {} mistakes were found", mutation::ALL.len());
    assert!(found > 0);
}

fn play_seed(seed: u64) -> Result<Script, Failure> {
    let script = Script::parse(&random::script(seed)).unwrap();
    Player::new().comparing().play_all(&script)
}
