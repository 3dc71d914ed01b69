//! Which brokers hold a new partition (`AdminUtils.assignReplicasToBrokers`).
//!
//! Leaders go round the brokers from a drawn one on. A partition's other replicas lie at a *shift*
//! from its leader, and the shift grows by one each time the leaders have gone round, so that two
//! brokers do not share all their partitions. Partitions added later go on where the first ones
//! stopped.
//!
//! With racks the brokers are first put in an order in which neighbours stand in different racks;
//! then a broker is passed over while it or its rack has a replica already and another has none.
//! When a broker names no rack, racks are not looked at (Kafka's "safe" rack awareness).
//!
//! Invariants
//! - a partition has no broker twice
//! - with racks, a partition has two replicas in one rack only when every rack has one

use crate::ordered::{OrderedMap, OrderedSet};
use crate::types::{BrokerId, Rng};

/// A broker that may hold a replica.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct UsableBroker {
    pub id: BrokerId,
    pub rack: Option<String>,
}

impl UsableBroker {
    pub fn new(id: BrokerId) -> Self {
        Self { id, rack: None }
    }
}

/// Where the going round begins: at a drawn broker, or where a topic's first partition has its leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Start {
    /// Place of the broker in the list.
    pub broker: usize,
    /// First distance between a leader and its followers.
    pub shift: usize,
    /// Number of the first partition to be placed.
    pub partition: usize,
}

impl Start {
    /// For a new topic.
    pub fn drawn(brokers: usize, rng: &mut Rng) -> Self {
        Self {
            broker: rng.below(brokers as u64) as usize,
            shift: rng.below(brokers as u64) as usize,
            partition: 0,
        }
    }

    /// For more partitions of a topic that has `existing`, whose first is led by `first_leader`.
    pub fn after(existing: usize, first_leader: BrokerId, brokers: &[UsableBroker]) -> Self {
        let place = brokers.iter().position(|broker| broker.id == first_leader);
        Self {
            broker: place.unwrap_or(0),
            shift: place.unwrap_or(0),
            partition: existing,
        }
    }
}

/// Replicas of `count` partitions, the preferred leader first. `brokers` are in order of their ids, and
/// at least `factor` many; there is nothing when they are fewer.
pub fn assign(brokers: &[UsableBroker], count: usize, factor: usize, start: Start) -> Vec<Vec<BrokerId>> {
    if brokers.is_empty() || factor > brokers.len() {
        return Vec::new();
    }
    let racks: Option<Vec<(BrokerId, &str)>> = brokers
        .iter()
        .map(|broker| Some((broker.id, broker.rack.as_deref()?)))
        .collect();
    let ring = match &racks {
        Some(racks) => alternate(racks),
        None => brokers.iter().map(|broker| (broker.id, "")).collect(),
    };
    let ring = Ring {
        racks: ring
            .iter()
            .map(|(_, rack)| *rack)
            .collect::<OrderedSet<_>>()
            .len(),
        brokers: ring,
    };
    let mut shift = start.shift;
    (start.partition..start.partition + count)
        .map(|partition| {
            if partition > 0 && partition % ring.brokers.len() == 0 {
                shift += 1;
            }
            ring.replicas(partition + start.broker, shift, factor)
        })
        .collect()
}

/// The brokers with their racks, in the order in which they are gone through.
struct Ring<'a> {
    brokers: Vec<(BrokerId, &'a str)>,
    racks: usize,
}

impl Ring<'_> {
    fn replicas(&self, leader: usize, shift: usize, factor: usize) -> Vec<BrokerId> {
        let count = self.brokers.len();
        let first = leader % count;
        let mut replicas = vec![self.brokers[first].0];
        let mut racks = OrderedSet::from([self.brokers[first].1]);
        // Without racks all are of one rack, and none is passed over for it.
        let mut step = 0;
        while replicas.len() < factor {
            let (broker, rack) = self.brokers[self.follower(first, shift * self.racks, step)];
            step += 1;
            let rack_has_one = racks.contains(rack) && racks.len() < self.racks;
            if !rack_has_one && !replicas.contains(&broker) {
                replicas.push(broker);
                racks.insert(rack);
            }
        }
        replicas
    }

    /// Place of a follower: never the leader's own.
    fn follower(&self, first: usize, shift: usize, step: usize) -> usize {
        let count = self.brokers.len();
        (first + 1 + (shift + step) % (count - 1)) % count
    }
}

/// One broker of each rack in turn, racks by name, brokers of a rack by id.
fn alternate<'a>(racks: &[(BrokerId, &'a str)]) -> Vec<(BrokerId, &'a str)> {
    let mut by_rack: OrderedMap<&str, Vec<BrokerId>> = OrderedMap::new();
    for (broker, rack) in racks {
        by_rack.entry(rack).or_default().push(*broker);
    }
    let rounds = by_rack.values().map(Vec::len).max().unwrap_or(0);
    (0..rounds)
        .flat_map(|round| {
            by_rack
                .iter()
                .filter_map(move |(rack, brokers)| Some((*brokers.get(round)?, *rack)))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(count: i32) -> Vec<UsableBroker> {
        (0..count).map(UsableBroker::new).collect()
    }

    fn at(broker: usize, shift: usize) -> Start {
        Start {
            broker,
            shift,
            partition: 0,
        }
    }

    #[test]
    fn leaders_go_round_and_the_shift_grows() {
        // The worked example that AdminUtils is explained by: 5 brokers, 10 partitions, 3 replicas.
        let expected = [
            [0, 1, 2],
            [1, 2, 3],
            [2, 3, 4],
            [3, 4, 0],
            [4, 0, 1],
            [0, 2, 3],
            [1, 3, 4],
            [2, 4, 0],
            [3, 0, 1],
            [4, 1, 2],
        ];
        assert_eq!(assign(&plain(5), 10, 3, at(0, 0)), expected);
    }

    #[test]
    fn racks_alternate() {
        let rack = |id, rack: &str| UsableBroker {
            id,
            rack: Some(rack.to_owned()),
        };
        let brokers = [
            rack(0, "rack1"),
            rack(1, "rack3"),
            rack(2, "rack3"),
            rack(3, "rack2"),
            rack(4, "rack2"),
            rack(5, "rack1"),
        ];
        let named: Vec<_> = brokers
            .iter()
            .map(|b| (b.id, b.rack.as_deref().unwrap()))
            .collect();
        let order: Vec<i32> = alternate(&named).into_iter().map(|(id, _)| id).collect();
        assert_eq!(order, [0, 3, 1, 5, 4, 2]);
        // As Kafka's own test of six brokers in three racks has it.
        let expected = [[0, 3, 1], [3, 1, 5], [1, 5, 4], [5, 4, 2], [4, 2, 0], [2, 0, 3]];
        assert_eq!(assign(&brokers, 6, 3, at(0, 0)), expected);
        for replicas in assign(&brokers, 60, 4, at(2, 1)) {
            let racks: OrderedSet<_> = replicas
                .iter()
                .map(|id| brokers[*id as usize].rack.clone())
                .collect();
            assert_eq!(
                racks.len(),
                3,
                "four replicas reach all three racks: {replicas:?}"
            );
        }
    }

    #[test]
    fn more_partitions_go_on_where_the_first_stopped() {
        let brokers = plain(4);
        let all = assign(&brokers, 9, 2, at(1, 1));
        let more = assign(&brokers, 4, 2, Start::after(5, all[0][0], &brokers));
        let leaders = |part: &[Vec<i32>]| part.iter().map(|r| r[0]).collect::<Vec<_>>();
        assert_eq!(leaders(&more), leaders(&all[5..]));
    }

    #[test]
    fn too_few_brokers_place_nothing() {
        assert!(assign(&plain(2), 1, 3, at(0, 0)).is_empty());
        assert!(assign(&[], 1, 0, at(0, 0)).is_empty());
        assert_eq!(assign(&plain(1), 2, 1, at(0, 5)), [[0], [0]]);
    }

    #[cfg(not(target_arch = "wasm32"))]
    proptest::proptest! {
        #[test]
        fn no_broker_twice_and_every_broker_leads(
            brokers in 1_i32..9, factor in 1_usize..9, racks in 1_i32..4, has_racks: bool, seed: u64,
        ) {
            let all: Vec<_> = (0..brokers)
                .map(|id| UsableBroker { id, rack: has_racks.then(|| (id % racks).to_string()) })
                .collect();
            let factor = factor.min(all.len());
            let placed = assign(&all, 3 * all.len(), factor, Start::drawn(all.len(), &mut Rng::new(seed)));
            let mut led = OrderedMap::new();
            for replicas in &placed {
                let distinct: OrderedSet<_> = replicas.iter().collect();
                proptest::prop_assert_eq!(distinct.len(), factor);
                *led.entry(replicas[0]).or_insert(0) += 1;
            }
            proptest::prop_assert!(led.values().all(|count| *count == 3) && led.len() == all.len());
        }
    }
}
