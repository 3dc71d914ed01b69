//! How long a follower leaves a partition alone that its leader cannot answer for.

use super::cluster::{Cluster, Logs, name};
use crate::replica::fetcher::{FetcherRequest, TruncateBy};
use crate::types::{Millis, TopicPartition, Uuid};

/// The follower asks, is refused, and pauses; gives how long, and waits for the end of it.
fn pause(cluster: &mut Cluster) -> Millis {
    cluster.fetch(1);
    let node = &mut cluster.nodes[1];
    let fetcher = node.fetcher.as_ref().unwrap();
    let until = fetcher.poll_timeout().expect("a pause");
    std::mem::replace(&mut node.host.now, until)
        .abs_diff(until)
        .cast_signed()
}

#[test]
fn a_follower_asks_soon_again_while_its_leader_has_yet_to_hear_and_is_more_patient_each_time() {
    let mut cluster = Cluster::new(2, 1, TruncateBy::LeaderEpoch);
    cluster.fetch(1);
    for _ in 0..2 {
        // The controller's word reaches the follower first.
        cluster.state.leader_epoch += 1;
        cluster.state.partition_epoch += 1;
        cluster.tell(1);
        let pauses: Vec<Millis> = (0..8).map(|_| pause(&mut cluster)).collect();
        assert_eq!(pauses, [20, 40, 80, 160, 320, 640, 1000, 1000]);
        cluster.tell(0);
        cluster.produce().unwrap();
        cluster.fetch(1);
        assert_eq!(
            cluster.log_end(1),
            cluster.log_end(0),
            "it follows again, and counts anew"
        );
    }
}

#[test]
fn a_pause_that_is_over_while_the_disk_has_to_catch_up_is_due_once() {
    let mut cluster = Cluster::new(2, 1, TruncateBy::LeaderEpoch);
    cluster.fetch(1);
    cluster.produce().unwrap();
    let without_log = TopicPartition::new(&*name().topic, 1);
    let node = &mut cluster.nodes[1];
    let fetcher = node.fetcher.as_mut().unwrap();
    let logs = &mut Logs(&mut node.partition);
    fetcher.add(&mut node.host.cx(), logs, &without_log, Uuid::ZERO, 0);
    let request = fetcher.next_request(&mut node.host.cx(), &node.shared, logs);
    let Some(FetcherRequest::Fetch(request)) = request else {
        panic!("{request:?}");
    };
    let answer = cluster.answer_fetch(&request);
    let node = &mut cluster.nodes[1];
    let fetcher = node.fetcher.as_mut().unwrap();
    let logs = &mut Logs(&mut node.partition);
    let followed = fetcher.fetched(&mut node.host.cx(), logs, answer);
    assert!(followed.iter().any(|followed| followed.wait_for.is_some()));

    let over = fetcher.poll_timeout().expect("a pause");
    node.host.now = over;
    let request = fetcher.next_request(&mut node.host.cx(), &node.shared, logs);
    assert_eq!(request, None, "what it fetched is not written");
    assert_eq!(
        fetcher.poll_timeout(),
        None,
        "the host would wake at {over} again"
    );
}
