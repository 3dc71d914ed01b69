//! Any schedule of appends, fetches, lost answers, lags, elections within the ISR and restarts: what
//! was acknowledged under acks=all stays, HW does not fall within an epoch, and the logs meet.

use proptest::prelude::*;

use super::cluster::{Cluster, LAG_MS};
use crate::replica::fetcher::TruncateBy;
use crate::types::{BrokerId, LeaderEpoch, Offset};

#[derive(Clone, Debug)]
enum Step {
    Produce,
    Fetch(usize),
    LoseAnswer(usize),
    Lag,
    /// The member at this place of the ISR leads.
    Elect(usize),
    /// A broker dies and comes back; the controller sees both.
    Bounce(usize),
    ControllerAway(bool),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => Just(Step::Produce),
        12 => (0..3usize).prop_map(Step::Fetch),
        3 => (0..3usize).prop_map(Step::LoseAnswer),
        2 => Just(Step::Lag),
        2 => (0..3usize).prop_map(Step::Elect),
        1 => (0..3usize).prop_map(Step::Bounce),
        1 => any::<bool>().prop_map(Step::ControllerAway),
    ]
}

fn bounce(cluster: &mut Cluster, id: usize) {
    let high_watermark = cluster.high_watermark(id);
    let others: Vec<BrokerId> = cluster
        .state
        .isr
        .iter()
        .copied()
        .filter(|&member| member != id as BrokerId)
        .collect();
    if others.is_empty() {
        return;
    }
    cluster.kill(id);
    cluster.state.isr = others;
    let leader = match cluster.leader() == id {
        true => cluster.state.isr[0],
        false => cluster.state.leader,
    };
    cluster.elect(leader);
    cluster.start(id, high_watermark / 2);
    cluster.tell(id);
}

fn run(cluster: &mut Cluster, step: &Step) {
    match *step {
        Step::Produce => _ = cluster.produce(),
        Step::Fetch(id) => cluster.fetch(id),
        Step::LoseAnswer(id) => cluster.fetch_and_lose_the_answer(id),
        Step::Lag => {
            cluster.wait(LAG_MS / 2 + 1);
            cluster.shrink();
        }
        Step::Elect(at) => {
            let at = at % cluster.state.isr.len();
            cluster.elect(cluster.state.isr[at]);
        }
        Step::Bounce(id) => bounce(cluster, id),
        Step::ControllerAway(away) => cluster.controller_is_away = away,
    }
    cluster.wait(100);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn acknowledged_records_stay_and_logs_meet(
        steps in prop::collection::vec(step(), 1..80),
        min_isr in 1..3u32,
        by_request in any::<bool>(),
    ) {
        let by = if by_request { TruncateBy::OffsetForLeaderEpoch } else { TruncateBy::LeaderEpoch };
        let mut cluster = Cluster::new(3, min_isr, by);
        let mut last: (LeaderEpoch, Offset) = (0, 0);
        for step in &steps {
            run(&mut cluster, step);
            let leader = cluster.leader();
            let log = cluster.log_of(leader);
            for record in &cluster.acknowledged {
                prop_assert!(log.contains(record), "{step:?} lost {record:?} of {log:?}");
            }
            let now = (cluster.state.leader_epoch, cluster.high_watermark(leader));
            prop_assert!(now.0 != last.0 || now.1 >= last.1, "{step:?}: HW fell to {now:?} from {last:?}");
            prop_assert!(now.1 <= cluster.log_end(leader));
            last = now;
        }
        cluster.controller_is_away = false;
        cluster.elect(cluster.state.leader);
        cluster.catch_up();
        cluster.catch_up();
        let leader = cluster.leader();
        let log = cluster.log_of(leader);
        for id in 0..3 {
            prop_assert_eq!(cluster.log_of(id), log.clone(), "broker {}", id);
        }
        prop_assert_eq!(cluster.state.isr.len(), 3);
        prop_assert_eq!(cluster.high_watermark(leader), cluster.log_end(leader));
    }
}
