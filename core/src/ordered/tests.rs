//! The sorted vectors answer as the standard library's trees do.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use proptest::prelude::*;

use super::map::SortedMap;
use super::set::SortedSet;

#[derive(Clone, Debug)]
enum Step {
    Insert(u8, u16),
    Remove(u8),
    AddTo(u8, u16),
    Retain(u8),
    PopFirst,
    PopLast,
    SplitOff(u8),
    ExtractBetween(u8, u8),
    Append(Vec<(u8, u16)>),
}

fn step() -> impl Strategy<Value = Step> {
    let key = 0..24_u8;
    prop_oneof![
        6 => (key.clone(), any::<u16>()).prop_map(|(key, value)| Step::Insert(key, value)),
        3 => key.clone().prop_map(Step::Remove),
        3 => (key.clone(), 0..9_u16).prop_map(|(key, value)| Step::AddTo(key, value)),
        1 => (1..5_u8).prop_map(Step::Retain),
        1 => Just(Step::PopFirst),
        1 => Just(Step::PopLast),
        1 => key.clone().prop_map(Step::SplitOff),
        1 => (key.clone(), key.clone()).prop_map(|(one, other)| Step::ExtractBetween(one.min(other), one.max(other))),
        1 => proptest::collection::vec((key, any::<u16>()), 0..6).prop_map(Step::Append),
    ]
}

/// What a step answers, said alike by both.
macro_rules! answer_of_map {
    ($map:expr, $step:expr, $new:ty) => {
        match $step {
            Step::Insert(key, value) => format!("{:?}", $map.insert(*key, *value)),
            Step::Remove(key) => format!("{:?}", $map.remove(key)),
            Step::AddTo(key, more) => {
                let entry = $map.entry(*key).and_modify(|value| *value /= 2);
                let value = entry.or_insert(1);
                *value = value.wrapping_add(*more);
                *$map.entry(key.wrapping_add(1)).or_default() |= 1;
                format!("{:?}", $map.get(key))
            }
            Step::Retain(of) => {
                $map.retain(|key, value| {
                    *value ^= 1;
                    key % of == 0
                });
                String::new()
            }
            Step::PopFirst => format!("{:?}", $map.pop_first()),
            Step::PopLast => format!("{:?}", $map.pop_last()),
            Step::SplitOff(key) => format!("{:?}", $map.split_off(key)),
            Step::ExtractBetween(from, to) => {
                let taken = $map.extract_if(*from..*to, |key, _| key % 2 == 0);
                format!("{:?}", taken.collect::<Vec<_>>())
            }
            Step::Append(pairs) => {
                let mut more: $new = pairs.iter().copied().collect();
                $map.append(&mut more);
                format!("{:?}", more.len())
            }
        }
    };
}

proptest! {
    #[test]
    fn a_map_answers_as_a_tree(steps in proptest::collection::vec(step(), 0..60), at in 0..24_u8, width in 0..9_u8) {
        let (mut tree, mut sorted) = (BTreeMap::<u8, u16>::new(), SortedMap::<u8, u16>::new());
        for step in &steps {
            let expected = answer_of_map!(tree, step, BTreeMap<u8, u16>);
            prop_assert_eq!(answer_of_map!(sorted, step, SortedMap<u8, u16>), expected);
        }
        prop_assert!(sorted.iter().eq(tree.iter()));
        prop_assert!(sorted.iter().rev().eq(tree.iter().rev()));
        prop_assert!(sorted.keys().eq(tree.keys()) && sorted.values().eq(tree.values()));
        prop_assert_eq!(sorted.first_key_value(), tree.first_key_value());
        prop_assert_eq!(sorted.last_key_value(), tree.last_key_value());
        prop_assert_eq!((sorted.len(), sorted.is_empty()), (tree.len(), tree.is_empty()));
        prop_assert_eq!(sorted.contains_key(&at), tree.contains_key(&at));
        let to = at + width;
        prop_assert!(sorted.range(at..to).eq(tree.range(at..to)));
        prop_assert!(sorted.range(at..=to).eq(tree.range(at..=to)));
        let behind = (Bound::Excluded(at), Bound::Unbounded);
        prop_assert!(sorted.range(behind).eq(tree.range(behind)));
        prop_assert!(sorted.range_mut(..to).eq(tree.range_mut(..to)));
        prop_assert_eq!(format!("{sorted:?}"), format!("{tree:?}"));
        let text = serde_json::to_string(&sorted).unwrap();
        prop_assert_eq!(&text, &serde_json::to_string(&tree).unwrap());
        prop_assert_eq!(serde_json::from_str::<SortedMap<u8, u16>>(&text).unwrap(), sorted);
    }

    #[test]
    fn a_set_answers_as_a_tree(
        one in proptest::collection::vec(0..20_u8, 0..20),
        other in proptest::collection::vec(0..20_u8, 0..20),
        at in 0..20_u8,
    ) {
        let mut tree: BTreeSet<u8> = one.iter().copied().collect();
        let mut sorted: SortedSet<u8> = one.iter().copied().collect();
        prop_assert_eq!(sorted.insert(at), tree.insert(at));
        let (tree_too, sorted_too): (BTreeSet<u8>, SortedSet<u8>) =
            (other.iter().copied().collect(), other.iter().copied().collect());
        prop_assert!(sorted.union(&sorted_too).eq(tree.union(&tree_too)));
        prop_assert!(sorted.difference(&sorted_too).eq(tree.difference(&tree_too)));
        prop_assert!(sorted.intersection(&sorted_too).eq(tree.intersection(&tree_too)));
        prop_assert_eq!(sorted.is_subset(&sorted_too), tree.is_subset(&tree_too));
        prop_assert_eq!(sorted.is_superset(&sorted_too), tree.is_superset(&tree_too));
        prop_assert_eq!(sorted.is_disjoint(&sorted_too), tree.is_disjoint(&tree_too));
        prop_assert_eq!(sorted.cmp(&sorted_too), tree.cmp(&tree_too));
        prop_assert!(sorted.range(at..).eq(tree.range(at..)));
        prop_assert_eq!((sorted.first(), sorted.last()), (tree.first(), tree.last()));
        prop_assert_eq!((sorted.take(&at), sorted.remove(&at)), (tree.take(&at), tree.remove(&at)));
        let (mut rest, mut tree_rest) = (sorted.split_off(&at), tree.split_off(&at));
        prop_assert!(rest.iter().eq(&tree_rest) && sorted.iter().rev().eq(tree.iter().rev()));
        sorted.append(&mut rest);
        tree.append(&mut tree_rest);
        sorted.retain(|item| item % 3 > 0);
        tree.retain(|item| item % 3 > 0);
        prop_assert_eq!(serde_json::to_string(&sorted).unwrap(), serde_json::to_string(&tree).unwrap());
        prop_assert_eq!((sorted.pop_first(), sorted.pop_last()), (tree.pop_first(), tree.pop_last()));
        prop_assert!(sorted.into_iter().eq(tree));
    }
}

#[test]
#[should_panic(expected = "slice index starts at")]
fn a_range_that_ends_before_it_begins_is_a_fault() {
    let map: SortedMap<u8, ()> = [(1, ()), (2, ()), (3, ())].into();
    #[expect(clippy::reversed_empty_ranges, reason = "this is what is tested")]
    map.range(3..1);
}
