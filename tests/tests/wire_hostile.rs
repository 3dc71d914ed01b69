//! Any bytes on the port of a real broker: the connection is closed with one line that names the
//! likely cause, memory stays where it was, and another connection does not notice.

use std::io::Write;
use std::time::Duration;

use highwater_core::protocol::messages::{ApiVersionsRequest, message};
use highwater_core::protocol::{ApiKey, RequestBody, ResponseBody, encode_request};
use highwater_core::types::Rng;
use highwater_tests::broker::TestBroker;
use highwater_tests::wire::{WireClient, header};

/// What the broker's memory may grow by whatever strangers do: allocator slack, buffers of its own.
const MEMORY_SLACK_BYTES: u64 = 16 << 20;

fn api_versions() -> RequestBody {
    RequestBody::ApiVersions(message(|m: &mut ApiVersionsRequest| {
        m.client_software_name = "highwater-test".into();
        m.client_software_version = "1".into();
    }))
}

/// Proves that the broker serves this connection.
fn is_served(client: &mut WireClient) {
    let ResponseBody::ApiVersions(answer) = client.ask(3, &api_versions()) else {
        panic!("another API's answer");
    };
    assert_eq!(answer.error_code, 0);
    assert!(!answer.api_keys.is_empty());
}

/// `bytes` behind their length.
fn framed(bytes: &[u8]) -> Vec<u8> {
    [&(bytes.len() as i32).to_be_bytes(), bytes].concat()
}

fn request(api: i16, version: i16, body: &[u8]) -> Vec<u8> {
    let head = [
        &api.to_be_bytes()[..],
        &version.to_be_bytes(),
        &7i32.to_be_bytes(),
    ]
    .concat();
    framed(&[&head, body].concat())
}

/// Resident memory of the broker.
fn memory_bytes(broker: &TestBroker) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", broker.pid())).expect("read the status");
    let line = status
        .lines()
        .find(|line| line.starts_with("VmRSS:"))
        .expect("a VmRSS line");
    let kib: u64 = line
        .split_whitespace()
        .nth(1)
        .expect("a number")
        .parse()
        .expect("a number");
    kib * 1024
}

/// Name of a stranger, what it sends, and words of the line that it earns.
fn strangers() -> Vec<(&'static str, Vec<u8>, &'static str)> {
    let tls_hello = [&[0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3][..], &[7; 500]].concat();
    vec![
        (
            "a browser",
            b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".to_vec(),
            "HTTP request (GET)",
        ),
        ("a TLS client", tls_hello, "TLS handshake"),
        ("ssh", b"SSH-2.0-OpenSSH_9.6\r\n".to_vec(), "SSH"),
        (
            "a proxy",
            b"PROXY TCP4 1.2.3.4 5.6.7.8 1 2\r\n".to_vec(),
            "PROXY protocol",
        ),
        (
            "a negative length",
            (-1i32).to_be_bytes().to_vec(),
            "negative length -1",
        ),
        (
            "the greatest length",
            i32::MAX.to_be_bytes().to_vec(),
            "larger than socket.request.max.bytes",
        ),
        ("no length", vec![0; 64], "too short"),
        // Fourteen bytes, of which four claim 2^31 - 1 topics.
        (
            "a giant array",
            request(3, 1, &[0, 0, 0x7f, 0xff, 0xff, 0xff]),
            "cannot be read",
        ),
        (
            "an API that never was",
            request(999, 0, &[0xff, 0xff]),
            "unknown API key 999",
        ),
        (
            "a version long gone",
            request(0, 2, &[0xff, 0xff]),
            "Produce version 2 is not served",
        ),
        (
            "text in a frame",
            framed(b"hello, is this the right port for mail?"),
            "unknown API key",
        ),
        (
            "a string past the end",
            request(3, 1, &[0x7f, 0xff, 1, 2]),
            "ends early",
        ),
        (
            "no UTF-8",
            request(3, 1, &[0, 1, 0xff, 0, 0, 0, 0]),
            "not valid UTF-8",
        ),
    ]
}

#[test]
fn strangers_are_closed_with_one_line_that_names_them_and_leave_no_trace() {
    let broker = TestBroker::start(&[]);
    let mut bystander = WireClient::connect(&broker.address());
    is_served(&mut bystander);
    let mut before = None;
    for round in 0..50 {
        for (name, bytes, words) in strangers() {
            let mut stranger = WireClient::connect(&broker.address());
            let from = format!("from {}:", stranger.own_address());
            stranger.send_raw(&bytes);
            stranger.wait_until_closed();
            let line = broker.wait_for_line(&from);
            assert!(line.contains(words), "{name}: {line}");
            is_served(&mut bystander);
            if round == 0 {
                let log = broker.log();
                assert_eq!(
                    log.lines().filter(|line| line.contains(&from)).count(),
                    1,
                    "{name}:\n{log}"
                );
            }
        }
        before.get_or_insert_with(|| memory_bytes(&broker));
    }
    let (before, after) = (before.expect("a round"), memory_bytes(&broker));
    assert!(
        after <= before + MEMORY_SLACK_BYTES,
        "memory went from {before} to {after} bytes"
    );
}

#[test]
fn a_promised_frame_takes_no_memory_before_its_bytes_come() {
    let broker = TestBroker::start(&[]);
    let mut bystander = WireClient::connect(&broker.address());
    is_served(&mut bystander);
    let before = memory_bytes(&broker);
    let mut waiting: Vec<_> = (0..100).map(|_| WireClient::connect(&broker.address())).collect();
    for client in &mut waiting {
        // A hundred million bytes are allowed and promised; twenty come.
        client.send_raw(&100_000_000i32.to_be_bytes());
        client.send_raw(&[0; 20]);
        is_served(&mut bystander);
    }
    let after = memory_bytes(&broker);
    assert!(
        after <= before + MEMORY_SLACK_BYTES,
        "memory went from {before} to {after} bytes"
    );
}

#[test]
fn a_request_that_comes_byte_by_byte_is_answered_and_holds_up_nobody() {
    let broker = TestBroker::start(&[]);
    let mut bystander = WireClient::connect(&broker.address());
    let mut slow: Vec<_> = (0..20).map(|_| WireClient::connect(&broker.address())).collect();
    let bytes = encode_request(&header(ApiKey::ApiVersions, 3, 9), &api_versions()).expect("a request");
    for byte in bytes {
        for client in &mut slow {
            client.send_raw(&[byte]);
        }
        is_served(&mut bystander);
    }
    for client in &mut slow {
        let answer = client.read_frame().expect("an answer");
        assert_eq!(answer[..4], 9i32.to_be_bytes());
    }
}

#[test]
fn garbage_of_any_kind_ends_no_broker() {
    let broker = TestBroker::start(&[]);
    let mut bystander = WireClient::connect(&broker.address());
    let mut rng = Rng::new(3);
    for round in 0..300 {
        let mut bytes: Vec<u8> = (0..rng.below(400)).map(|_| rng.next_u64() as u8).collect();
        // A third as it is, a third behind a right length, a third behind the head of a served request.
        if round % 3 > 0 {
            bytes = framed(&bytes);
        }
        if round % 3 > 1 && bytes.len() > 16 {
            let served = highwater_core::protocol::api::SERVED;
            let api = served[rng.below(served.len() as u64) as usize];
            bytes[4..8].copy_from_slice(&[0, api.api.code() as u8, 0, api.max as u8]);
            bytes[12..14].copy_from_slice(&[0xff, 0xff]);
        }
        let mut stranger = WireClient::connect(&broker.address());
        stranger.send_raw(&bytes);
        stranger.end_sending();
        stranger.wait_until_closed();
        is_served(&mut bystander);
    }
}

#[test]
fn half_a_frame_then_silence_is_closed_when_it_has_been_idle_long_enough() {
    let broker = TestBroker::start(&["connections.max.idle.ms=500"]);
    let mut silent = WireClient::connect(&broker.address());
    silent.send_raw(&[0, 0, 0, 100, 1, 2, 3]);
    let mut quiet = WireClient::connect(&broker.address());
    is_served(&mut quiet);
    let froms = [&silent, &quiet].map(|client| format!("from {}:", client.own_address()));
    // A third keeps asking all the while and is left alone.
    let mut busy = WireClient::connect(&broker.address());
    let idle = std::thread::spawn(move || {
        silent.wait_until_closed();
        quiet.wait_until_closed();
    });
    while !idle.is_finished() {
        is_served(&mut busy);
    }
    idle.join().expect("both are closed");
    for from in froms {
        let line = broker.wait_for_line(&from);
        assert!(line.contains("connections.max.idle.ms"), "{line}");
    }
    is_served(&mut busy);
}

#[test]
fn a_request_above_socket_request_max_bytes_is_refused() {
    let broker = TestBroker::start(&["socket.request.max.bytes=1000"]);
    let mut client = WireClient::connect(&broker.address());
    is_served(&mut client);
    let from = format!("from {}:", client.own_address());
    client.send_raw(&framed(&[0; 1001]));
    client.wait_until_closed();
    let line = broker.wait_for_line(&from);
    assert!(
        line.contains("1001 bytes is larger than socket.request.max.bytes (1000)"),
        "{line}"
    );
}

#[test]
fn no_more_than_max_connections_are_served_at_once() {
    let broker = TestBroker::start(&["max.connections=3"]);
    let mut served: Vec<_> = (0..3).map(|_| WireClient::connect(&broker.address())).collect();
    served.iter_mut().for_each(is_served);
    let mut one_too_many = WireClient::connect(&broker.address());
    one_too_many.wait_until_closed();
    let line = broker.wait_for_line(&one_too_many.own_address().to_string());
    assert!(line.contains("max.connections (3)"), "{line}");
    served.iter_mut().for_each(is_served);

    // The broker sees that one has gone when it has nothing more to read from it.
    let mut leaver = served.pop().expect("three are served");
    leaver.end_sending();
    leaver.wait_until_closed();
    is_served(&mut WireClient::connect(&broker.address()));
}

#[test]
fn requests_that_never_end_share_one_budget_and_do_not_lock_the_others_out() {
    let (budget, largest) = (16 << 20, 20 << 20);
    let broker = TestBroker::start(&[
        &format!("queued.max.request.bytes={budget}"),
        &format!("socket.request.max.bytes={largest}"),
    ]);
    let mut bystander = WireClient::connect(&broker.address());
    is_served(&mut bystander);
    let before = memory_bytes(&broker);
    let greedy: Vec<_> = (0..10).map(|_| WireClient::connect(&broker.address())).collect();
    for client in &greedy {
        // All but the last byte, or as many as are taken.
        let mut stream = client.stream();
        stream
            .set_write_timeout(Some(STUCK_AFTER))
            .expect("set a time limit");
        let _ = stream.write_all(&framed(&vec![0; largest])[..largest]);
    }
    // One request may go past the budget, or several begun ones could wait for each other for ever.
    let (allowed, after) = (before + budget + largest as u64, memory_bytes(&broker));
    assert!(
        after <= allowed + MEMORY_SLACK_BYTES,
        "memory went from {before} to {after} bytes"
    );
    is_served(&mut bystander);
}

#[test]
fn a_client_that_asks_and_never_reads_holds_little_memory() {
    let broker = TestBroker::start(&[]);
    let mut bystander = WireClient::connect(&broker.address());
    is_served(&mut bystander);
    let before = memory_bytes(&broker);
    let question = encode_request(&header(ApiKey::ApiVersions, 3, 1), &api_versions()).expect("a request");
    let questions = question.repeat(1000);
    let deaf: Vec<_> = (0..10).map(|_| WireClient::connect(&broker.address())).collect();
    for client in &deaf {
        // Ask until the broker takes no more: its answers are stuck, so it has stopped reading.
        let mut stream = client.stream();
        stream
            .set_write_timeout(Some(STUCK_AFTER))
            .expect("set a time limit");
        while stream.write_all(&questions).is_ok() {}
        is_served(&mut bystander);
    }
    let after = memory_bytes(&broker);
    assert!(
        after <= before + MEMORY_SLACK_BYTES,
        "memory went from {before} to {after} bytes"
    );
}

/// A broker that has taken nothing for so long has stopped reading. If it had not, the asking would
/// not end, and the test neither.
const STUCK_AFTER: Duration = Duration::from_millis(200);
