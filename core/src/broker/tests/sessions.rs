//! Fetch sessions as a client lives them.

use super::client::*;
use crate::error::ErrorCode;
use crate::io::ConnId;
use crate::protocol::RequestBody;
use crate::protocol::fetch::{FetchPartition, FetchRequest, FetchResponse, FetchTopic, ForgottenTopic};
use crate::sim::Host;

/// A consumer that keeps a session.
struct Consumer {
    conn: ConnId,
    session: i32,
    epoch: i32,
}

impl Consumer {
    fn poll(&mut self, host: &mut Host, topics: &[(&str, i64)], max_wait_ms: i32) -> Option<FetchResponse> {
        let request = self.request(topics, max_wait_ms);
        let request = host.send(self.conn, FETCH, &RequestBody::Fetch(request));
        self.take(host, request)
    }

    fn take(&mut self, host: &mut Host, request: u64) -> Option<FetchResponse> {
        let answer = fetched(Some(host.answer(self.conn, request)?));
        self.session = answer.session_id;
        self.epoch += 1;
        Some(answer)
    }

    fn request(&self, topics: &[(&str, i64)], max_wait_ms: i32) -> FetchRequest {
        let topics = topics.iter().map(|&(name, fetch_offset)| FetchTopic {
            name: name.into(),
            topic_id: Default::default(),
            partitions: vec![FetchPartition {
                fetch_offset,
                max_bytes: 1 << 20,
                ..FetchPartition::default()
            }],
        });
        FetchRequest {
            max_wait_ms,
            min_bytes: 1,
            session_id: self.session,
            session_epoch: self.epoch,
            topics: topics.collect(),
            ..FetchRequest::default()
        }
    }
}

fn consumer(host: &mut Host) -> Consumer {
    Consumer {
        conn: host.connect(),
        session: 0,
        epoch: 0,
    }
}

fn names(answer: &FetchResponse) -> Vec<String> {
    answer.topics.iter().map(|topic| topic.name.to_string()).collect()
}

fn three_topics() -> Host {
    let mut host = broker();
    for name in ["a", "b", "c"] {
        make_topic(&mut host, name);
    }
    host
}

#[test]
fn only_what_has_news_is_said_again() {
    let mut host = three_topics();
    let mut consumer = consumer(&mut host);
    let all = [("a", 0), ("b", 0), ("c", 0)];
    let first = consumer.poll(&mut host, &all, 0).unwrap();
    assert!(first.session_id > 0);
    assert_eq!(names(&first), ["a", "b", "c"]);
    let quiet = consumer.poll(&mut host, &[], 0).unwrap();
    assert_eq!(names(&quiet), [""; 0]);

    produce(&mut host, "b", &["x"]);
    let news = consumer.poll(&mut host, &[], 0).unwrap();
    assert_eq!(names(&news), ["b"]);
    let again = consumer.poll(&mut host, &[], 0).unwrap();
    assert_eq!(
        names(&again),
        ["b"],
        "the client has not moved on, so it gets them again"
    );
    let read = consumer.poll(&mut host, &[("b", 1)], 0).unwrap();
    assert_eq!(names(&read), [""; 0]);
}

#[test]
fn a_wait_in_a_session_wakes_on_any_of_its_partitions() {
    let mut host = three_topics();
    let mut consumer = consumer(&mut host);
    consumer
        .poll(&mut host, &[("a", 0), ("b", 0), ("c", 0)], 0)
        .unwrap();
    let request = consumer.request(&[], 60_000);
    let request = host.send(consumer.conn, FETCH, &RequestBody::Fetch(request));
    assert_eq!(host.answer(consumer.conn, request), None);
    produce(&mut host, "c", &["x"]);
    let answer = consumer.take(&mut host, request).unwrap();
    assert_eq!(names(&answer), ["c"]);
    assert_eq!(values(&answer.topics[0].partitions[0]), [(0, "x".to_owned())]);
}

#[test]
fn a_forgotten_partition_is_quiet() {
    let mut host = three_topics();
    let mut consumer = consumer(&mut host);
    consumer.poll(&mut host, &[("a", 0), ("b", 0)], 0).unwrap();
    let mut request = consumer.request(&[], 0);
    request.forgotten_topics = vec![ForgottenTopic {
        name: "a".into(),
        topic_id: Default::default(),
        partitions: vec![0],
    }];
    let request = host.send(consumer.conn, FETCH, &RequestBody::Fetch(request));
    consumer.take(&mut host, request).unwrap();
    produce(&mut host, "a", &["x"]);
    produce(&mut host, "b", &["y"]);
    assert_eq!(names(&consumer.poll(&mut host, &[], 0).unwrap()), ["b"]);
}

#[test]
fn a_session_that_is_not_there_or_out_of_step_is_told_so() {
    let mut host = three_topics();
    let mut consumer = consumer(&mut host);
    consumer.session = 99;
    consumer.epoch = 1;
    let code = |answer: Option<FetchResponse>| answer.unwrap().error_code;
    assert_eq!(
        code(consumer.poll(&mut host, &[], 0)),
        ErrorCode::FetchSessionIdNotFound
    );
    (consumer.session, consumer.epoch) = (0, 0);
    let opened = consumer.poll(&mut host, &[("a", 0)], 0).unwrap();
    consumer.epoch = 5;
    assert_eq!(
        code(consumer.poll(&mut host, &[], 0)),
        ErrorCode::InvalidFetchSessionEpoch
    );
    (consumer.session, consumer.epoch) = (opened.session_id, 1);
    assert_eq!(code(consumer.poll(&mut host, &[], 0)), ErrorCode::None);
}

#[test]
fn a_topic_made_again_under_its_name_is_seen() {
    let mut host = three_topics();
    let mut consumer = consumer(&mut host);
    consumer.poll(&mut host, &[("a", 0)], 0).unwrap();
    delete_topic(&mut host, "a");
    let gone = consumer.poll(&mut host, &[], 0).unwrap();
    assert_eq!(
        gone.topics[0].partitions[0].error_code,
        ErrorCode::UnknownTopicOrPartition
    );
    make_topic(&mut host, "a");
    produce(&mut host, "a", &["x"]);
    let back = consumer.poll(&mut host, &[], 0).unwrap();
    assert_eq!(values(&back.topics[0].partitions[0]), [(0, "x".to_owned())]);
}

#[test]
fn partitions_take_turns_when_an_answer_is_full() {
    let mut host = three_topics();
    for name in ["a", "b", "c"] {
        produce(&mut host, name, &["x"]);
    }
    let mut consumer = consumer(&mut host);
    let mut first = consumer.request(&[("a", 0), ("b", 0), ("c", 0)], 0);
    first.max_bytes = 1;
    let request = host.send(consumer.conn, FETCH, &RequestBody::Fetch(first));
    let answer = consumer.take(&mut host, request).unwrap();
    let with_records = |answer: &FetchResponse| {
        let full = |topic: &&FetchTopicResponse| !values(&topic.partitions[0]).is_empty();
        let topics = answer.topics.iter().filter(full);
        topics.map(|topic| topic.name.to_string()).collect::<Vec<_>>()
    };
    use crate::protocol::fetch::FetchTopicResponse;
    assert_eq!(
        with_records(&answer),
        ["a"],
        "the first batch whole, past the limit"
    );
    for (last, next) in [("a", "b"), ("b", "c")] {
        let mut request = consumer.request(&[(last, 1)], 0);
        request.max_bytes = 1;
        let request = host.send(consumer.conn, FETCH, &RequestBody::Fetch(request));
        let answer = consumer.take(&mut host, request).unwrap();
        assert_eq!(with_records(&answer), [next]);
    }
}

#[test]
fn a_session_that_has_forgotten_everything_is_over() {
    let mut host = three_topics();
    let mut consumer = consumer(&mut host);
    consumer.poll(&mut host, &[("a", 0)], 0).unwrap();
    let session = consumer.session;
    let mut request = consumer.request(&[], 0);
    request.forgotten_topics = vec![ForgottenTopic {
        name: "a".into(),
        topic_id: Default::default(),
        partitions: vec![0],
    }];
    let request = host.send(consumer.conn, FETCH, &RequestBody::Fetch(request));
    assert_eq!(consumer.take(&mut host, request).unwrap().session_id, 0);
    consumer.session = session;
    let gone = consumer.poll(&mut host, &[], 0).unwrap();
    assert_eq!(gone.error_code, ErrorCode::FetchSessionIdNotFound);
}
