//! The thin thread: name a topic, produce, fetch, stop, start, fetch again.

use super::client::*;
use crate::error::ErrorCode;
use crate::protocol::messages::MetadataResponse;

#[test]
fn what_was_produced_is_fetched_and_found_again_after_a_stop() {
    let mut host = broker();
    assert!(host.ready);
    let metadata = make_topic(&mut host, "t");
    assert_eq!(metadata.topics[0].error_code, 0);
    assert_eq!(metadata.topics[0].partitions[0].leader_id, 1);
    let answer = produce(&mut host, "t", &["a", "b"]);
    assert_eq!((answer.error_code, answer.base_offset), (ErrorCode::None, 0));
    assert_eq!(produce(&mut host, "t", &["c"]).base_offset, 2);
    assert_eq!(read_all(&mut host, "t"), ["a", "b", "c"]);

    host.shut_down();
    assert_eq!(host.stopped, Some(None));
    host.boot();
    assert!(host.ready);
    assert_eq!(read_all(&mut host, "t"), ["a", "b", "c"]);
    assert_eq!(produce(&mut host, "t", &["d"]).base_offset, 3);
    let again = make_topic(&mut host, "t");
    assert_eq!(again.topics[0].topic_id, metadata.topics[0].topic_id);
    assert_eq!(again.cluster_id, metadata.cluster_id);
}

#[test]
fn who_names_a_topic_hears_that_it_is_unknown_and_finds_it_the_next_time() {
    let mut host = broker();
    let of_first = |answer: &MetadataResponse| {
        let topic = &answer.topics[0];
        (ErrorCode::from_code(topic.error_code), topic.partitions.len())
    };
    let first = name_topic(&mut host, "t");
    assert_eq!(of_first(&first), (Some(ErrorCode::UnknownTopicOrPartition), 0));
    let again = name_topic(&mut host, "t");
    assert_eq!(of_first(&again), (Some(ErrorCode::None), 1));
}
