//! A controller that was deposed and does not know it yet.

use highwater_core::error::ErrorCode;
use highwater_tests::cluster::{TestCluster, until};
use highwater_tests::requests::*;

/// What a controller that was elected after it leaves behind: a later `/controller_epoch`. It is not watched, so that
/// the write itself meets it.
#[test]
fn a_deposed_controller_fails_its_first_write_and_resigns() {
    let cluster = TestCluster::start(3);
    let controller = cluster.await_controller(None);
    cluster.zookeeper.set("/controller_epoch", "2");
    let request = create_replicated_request("refused", 1, 3);
    let refused = created(cluster.client(controller).ask(CREATE_TOPICS, &request));
    assert_eq!(refused, Err(ErrorCode::NotController));
    let line = cluster
        .broker(controller)
        .wait_for_line("is no longer the controller");
    assert!(line.contains("another controller was elected since"), "{line}");

    // Whoever is in office after it, in a later epoch, can write; the refused topic was never made.
    until("a topic of the next controller", || {
        let next = cluster.await_controller(None);
        let request = create_replicated_request("made", 1, 3);
        created(cluster.client(next).ask(CREATE_TOPICS, &request)).map_err(|error| error.to_string())
    });
    cluster.await_whole("made", 0);
    let mut lines = cluster
        .running()
        .into_iter()
        .map(|id| cluster.broker(id).whole_log());
    assert!(lines.any(|log| log.contains("epoch 3")), "a later epoch");
    for id in cluster.running() {
        assert_eq!(topic_id(&mut cluster.client(id), "refused"), None, "broker {id}");
    }
}
