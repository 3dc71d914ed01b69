//! Both ends on loopback: what a broker hears of peers that behave, die, keep silent or talk nonsense.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use highwater_core::broker::AnswerBody;
use highwater_core::error::ErrorCode;
use highwater_core::io::Output;
use highwater_core::protocol::control::{ControlledShutdownRequest, ControlledShutdownResponse};
use highwater_core::protocol::{
    ApiKey, RequestBody, RequestHeader, ResponseBody, decode_request, encode_request, encode_response,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Handle;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::*;
use crate::clock::Clock;
use crate::disk::Disk;
use crate::driver::{Driver, Machine};
use crate::outbound::Outgoing;
use crate::server::{self, Connections};

const SENT: SentAs = SentAs {
    api: ApiKey::ControlledShutdown,
    version: 3,
};
const LONG: Duration = Duration::from_secs(60);
const SHORT: Duration = Duration::from_millis(30);

/// What a test's connections are bounded by.
struct Bounds {
    fetch_timeout: Duration,
    controller_timeout: Duration,
    max_idle: Option<Duration>,
}

fn bounds() -> Bounds {
    Bounds {
        fetch_timeout: LONG,
        controller_timeout: LONG,
        max_idle: None,
    }
}

fn start(peers: &Peers, bounds: &Bounds, report: impl Fn(Input) + Send + Sync + 'static) {
    let caller = PeerCaller {
        fetch_timeout: bounds.fetch_timeout,
        controller_timeout: bounds.controller_timeout,
        report: Box::new(report),
    };
    let limits = Limits {
        connect_timeout: LONG,
        max_idle: bounds.max_idle,
        answer_max_bytes: 1 << 20,
    };
    peers.start(caller, limits, vec![Handle::current()]);
}

fn peers(bounds: &Bounds) -> (Peers, UnboundedReceiver<Input>) {
    let (sender, inputs) = unbounded_channel();
    let peers = Peers::default();
    start(&peers, bounds, move |input| drop(sender.send(input)));
    (peers, inputs)
}

async fn listen() -> (TcpListener, Peer) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("bind");
    let peer = Peer {
        broker: 2,
        host: "127.0.0.1".into(),
        port: listener.local_addr().expect("address").port(),
        lane: PeerLane::Requests,
    };
    (listener, peer)
}

fn request(id: SendId) -> Bytes {
    let header = RequestHeader {
        api: SENT.api,
        version: SENT.version,
        correlation_id: id as i32,
        client_id: Some("broker-1".into()),
    };
    let body = RequestBody::ControlledShutdown(ControlledShutdownRequest {
        broker_id: 1,
        broker_epoch: 7,
    });
    encode_request(&header, &body).expect("encode")
}

fn send(peers: &Peers, to: &Peer, id: SendId) {
    peers
        .send(to.clone(), outgoing(id, SENT, request(id)))
        .expect("sent");
}

fn outgoing(id: SendId, sent: SentAs, frame: Bytes) -> Outgoing {
    Outgoing {
        id,
        sent,
        answered: true,
        frame,
    }
}

fn answer(id: SendId) -> Vec<u8> {
    let body = ControlledShutdownResponse {
        error_code: ErrorCode::None,
        remaining_partitions: vec![],
    };
    let parts = encode_response(id as i32, SENT.version, &body.into()).expect("encode");
    let bytes = parts.iter().flat_map(|part| match part {
        highwater_core::io::Part::Bytes(bytes) => bytes.to_vec(),
        highwater_core::io::Part::File { .. } => panic!("a file range"),
    });
    bytes.collect()
}

/// The other broker's end of a connection.
struct Broker(TcpStream);

impl Broker {
    async fn accept(listener: &TcpListener) -> Self {
        Self(listener.accept().await.expect("accept").0)
    }

    /// The correlation id of the next request.
    async fn hear(&mut self) -> SendId {
        self.hear_or_end().await.expect("a request")
    }

    async fn hear_or_end(&mut self) -> std::io::Result<SendId> {
        let length = self.0.read_i32().await?;
        let mut frame = vec![0; length as usize];
        self.0.read_exact(&mut frame).await?;
        let request = decode_request(frame.into()).expect("a request");
        Ok(request.header.correlation_id as SendId)
    }

    async fn say(&mut self, bytes: &[u8]) {
        self.0.write_all(bytes).await.expect("write");
        self.0.flush().await.expect("flush");
    }

    async fn hears_the_end(&mut self) {
        let mut rest = Vec::new();
        // A reset ends it as well as a close.
        let _ = self.0.read_to_end(&mut rest).await;
        assert_eq!(rest, b"");
    }
}

async fn answered(inputs: &mut UnboundedReceiver<Input>) -> SendId {
    match inputs.recv().await {
        Some(Input::Response { id, answer }) => {
            assert!(matches!(
                answer.body,
                AnswerBody::Other(ResponseBody::ControlledShutdown(_))
            ));
            id
        }
        other => panic!("{other:?}"),
    }
}

async fn failed(inputs: &mut UnboundedReceiver<Input>) -> (SendId, String) {
    match inputs.recv().await {
        Some(Input::SendFailed { id, why }) => (id, why),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn requests_go_and_answers_come_in_order_on_one_connection() {
    let (peers, mut inputs) = peers(&bounds());
    let (listener, peer) = listen().await;
    for id in 0..3 {
        send(&peers, &peer, id);
    }
    let mut broker = Broker::accept(&listener).await;
    for id in 0..3 {
        assert_eq!(broker.hear().await, id);
    }
    // In pieces that keep to no frame.
    let all: Vec<u8> = (0..3).flat_map(answer).collect();
    for piece in all.chunks(5) {
        broker.say(piece).await;
    }
    for id in 0..3 {
        assert_eq!(answered(&mut inputs).await, id);
    }
    send(&peers, &peer, 3);
    assert_eq!(broker.hear().await, 3);
    broker.say(&answer(3)).await;
    assert_eq!(answered(&mut inputs).await, 3);
    assert_eq!(peers.count(), 1);
}

#[tokio::test]
async fn a_slow_lane_keeps_no_other_waiting() {
    let (peers, mut inputs) = peers(&bounds());
    let (listener, peer) = listen().await;
    send(&peers, &peer, 0);
    let mut slow = Broker::accept(&listener).await;
    assert_eq!(slow.hear().await, 0);
    let fetch = Peer {
        lane: PeerLane::Fetch(0),
        ..peer
    };
    send(&peers, &fetch, 1);
    let mut quick = Broker::accept(&listener).await;
    assert_eq!(quick.hear().await, 1);
    quick.say(&answer(1)).await;
    assert_eq!(answered(&mut inputs).await, 1);
    assert_eq!(peers.count(), 2);
}

#[tokio::test]
async fn a_peer_that_dies_within_an_answer_fails_all_under_way_and_is_tried_anew() {
    let (peers, mut inputs) = peers(&bounds());
    let (listener, peer) = listen().await;
    for id in 0..3 {
        send(&peers, &peer, id);
    }
    let mut broker = Broker::accept(&listener).await;
    for _ in 0..3 {
        broker.hear().await;
    }
    broker.say(&answer(0)).await;
    broker.say(&answer(1)[..7]).await;
    assert_eq!(answered(&mut inputs).await, 0);
    drop(broker);
    for id in 1..3 {
        let (failed, why) = failed(&mut inputs).await;
        assert_eq!(failed, id);
        assert!(
            why.contains(&format!("127.0.0.1:{} closed the connection", peer.port)),
            "{why}"
        );
    }
    send(&peers, &peer, 3);
    let mut broker = Broker::accept(&listener).await;
    assert_eq!(broker.hear().await, 3);
    broker.say(&answer(3)).await;
    assert_eq!(answered(&mut inputs).await, 3);
}

#[tokio::test]
async fn a_peer_that_keeps_silent_is_given_up_in_the_time_of_its_lane() {
    for (lane, key) in [
        (PeerLane::Control, "controller.socket.timeout.ms"),
        (PeerLane::Requests, "controller.socket.timeout.ms"),
        (PeerLane::Fetch(0), "replica.socket.timeout.ms"),
    ] {
        let is_fetch = lane == PeerLane::Fetch(0);
        let (peers, mut inputs) = peers(&Bounds {
            fetch_timeout: if is_fetch { SHORT } else { LONG },
            controller_timeout: if is_fetch { LONG } else { SHORT },
            ..bounds()
        });
        let (listener, peer) = listen().await;
        send(&peers, &Peer { lane, ..peer }, 0);
        let mut broker = Broker::accept(&listener).await;
        let (id, why) = failed(&mut inputs).await;
        assert_eq!(id, 0);
        assert!(
            why.contains(&format!("has not answered within 30 ms ({key})")),
            "{why}"
        );
        assert_eq!(broker.hear().await, 0);
        broker.hears_the_end().await;
        assert_eq!(peers.count(), 0);
    }
}

#[tokio::test]
async fn nonsense_ends_the_connection_with_its_reason() {
    let another = answer(9);
    let mut trailing = answer(0);
    trailing.extend_from_slice(&[1, 2, 3]);
    trailing[3] += 3;
    let cases: [(&[u8], &str); 4] = [
        (
            b"HTTP/1.1 400 Bad Request\r\n\r\n",
            "an answer cannot have 1213486160 bytes: what listens there is no Kafka broker",
        ),
        (&[0, 0, 0, 2, 1, 2], "an answer cannot have 2 bytes"),
        (&another, "answered another request than the one due"),
        (
            &trailing,
            "to ControlledShutdown cannot be read: 3 bytes are left over",
        ),
    ];
    for (nonsense, reason) in cases {
        let (peers, mut inputs) = peers(&bounds());
        let (listener, peer) = listen().await;
        send(&peers, &peer, 0);
        let mut broker = Broker::accept(&listener).await;
        broker.hear().await;
        broker.say(nonsense).await;
        let (id, why) = failed(&mut inputs).await;
        assert_eq!(id, 0);
        assert!(why.contains(reason), "{why}");
        broker.hears_the_end().await;
    }
}

#[tokio::test]
async fn an_answer_that_nobody_asked_for_ends_the_connection() {
    let (peers, mut inputs) = peers(&bounds());
    let (listener, peer) = listen().await;
    send(&peers, &peer, 0);
    let mut broker = Broker::accept(&listener).await;
    broker.hear().await;
    broker.say(&[answer(0), answer(0)].concat()).await;
    assert_eq!(answered(&mut inputs).await, 0);
    broker.hears_the_end().await;
    send(&peers, &peer, 1);
    let mut broker = Broker::accept(&listener).await;
    assert_eq!(broker.hear().await, 1);
}

#[tokio::test]
async fn nobody_there_is_told_at_once() {
    let (peers, mut inputs) = peers(&bounds());
    let (listener, peer) = listen().await;
    drop(listener);
    send(&peers, &peer, 0);
    let (id, why) = failed(&mut inputs).await;
    assert_eq!(id, 0);
    let address = format!("cannot connect to 127.0.0.1:{}: ", peer.port);
    assert!(why.starts_with(&address), "{why}");
}

#[tokio::test]
async fn a_new_address_makes_a_new_connection_and_the_old_one_ends_with_its_last_answer() {
    let (peers, mut inputs) = peers(&bounds());
    let (old_listener, old) = listen().await;
    let (new_listener, new) = listen().await;
    send(&peers, &old, 0);
    let mut before = Broker::accept(&old_listener).await;
    assert_eq!(before.hear().await, 0);
    send(&peers, &new, 1);
    let mut after = Broker::accept(&new_listener).await;
    assert_eq!(after.hear().await, 1);
    before.say(&answer(0)).await;
    assert_eq!(answered(&mut inputs).await, 0);
    before.hears_the_end().await;
    after.say(&answer(1)).await;
    assert_eq!(answered(&mut inputs).await, 1);
    assert_eq!(peers.count(), 1);
}

#[tokio::test]
async fn an_idle_connection_is_closed_and_made_again() {
    let (peers, mut inputs) = peers(&Bounds {
        max_idle: Some(SHORT),
        ..bounds()
    });
    let (listener, peer) = listen().await;
    for id in 0..3 {
        send(&peers, &peer, id);
        let mut broker = Broker::accept(&listener).await;
        assert_eq!(broker.hear().await, id);
        broker.say(&answer(id)).await;
        assert_eq!(answered(&mut inputs).await, id);
        broker.hears_the_end().await;
        assert_eq!(peers.count(), 0);
    }
    assert!(inputs.try_recv().is_err(), "nothing has failed");
}

#[tokio::test]
async fn a_fetch_is_answered_with_checked_batches() {
    let text = include_str!("../../../tests/fixtures/control-3.9/01-Fetch-v17.txt");
    let unhex = |hex: &str| -> Vec<u8> {
        let digits = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).expect("hex digits");
        (0..hex.len()).step_by(2).map(digits).collect()
    };
    let framed = |kind: &str| {
        let hex = text
            .lines()
            .find_map(|line| line.strip_prefix(kind))
            .expect("a frame");
        let frame = unhex(hex);
        [&(frame.len() as u32).to_be_bytes()[..], &frame].concat()
    };
    let (peers, mut inputs) = peers(&bounds());
    let (listener, peer) = listen().await;
    let sent = SentAs {
        api: ApiKey::Fetch,
        version: 17,
    };
    // The id of Kafka's own frames.
    peers
        .send(peer, outgoing(77, sent, framed("request ").into()))
        .expect("sent");
    let mut broker = Broker::accept(&listener).await;
    assert_eq!(broker.hear().await, 77);
    broker.say(&framed("response ")).await;
    let Some(Input::Response { id: 77, answer }) = inputs.recv().await else {
        panic!("no answer")
    };
    let AnswerBody::Fetched(fetched) = answer.body else {
        panic!("another answer")
    };
    let records = fetched.topics[0].partitions[0].records.as_ref();
    assert_eq!(records.expect("good records").batches.len(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_request_has_one_outcome_however_often_the_peer_dies() {
    const SENDERS: u64 = 4;
    const EACH: u64 = 500;
    let (peers, mut inputs) = peers(&Bounds {
        max_idle: Some(Duration::from_millis(1)),
        ..bounds()
    });
    let (listener, peer) = listen().await;
    let broker = tokio::spawn(async move {
        for life in 1.. {
            let mut broker = Broker::accept(&listener).await;
            for _ in 0..life % 7 {
                let Ok(id) = broker.hear_or_end().await else { break };
                if broker.0.write_all(&answer(id)).await.is_err() {
                    break;
                }
            }
        }
    });
    let peers = Arc::new(peers);
    let senders = (0..SENDERS).map(|sender| {
        let (peers, peer) = (Arc::clone(&peers), peer.clone());
        tokio::spawn(async move {
            for id in sender * EACH..(sender + 1) * EACH {
                send(&peers, &peer, id);
                tokio::task::yield_now().await;
            }
        })
    });
    let senders: Vec<_> = senders.collect();
    let mut outcomes = [0; (SENDERS * EACH) as usize];
    for _ in 0..outcomes.len() {
        match inputs.recv().await {
            Some(Input::Response { id, .. } | Input::SendFailed { id, .. }) => outcomes[id as usize] += 1,
            other => panic!("{other:?}"),
        }
    }
    assert!(outcomes.iter().all(|&count| count == 1));
    for sender in senders {
        sender.await.expect("a sender's end");
    }
    drop(peers);
    assert!(
        inputs.recv().await.is_none(),
        "every task has ended, with nothing more to tell"
    );
    broker.abort();
}

/// A core that sends one request and tells what came of it.
struct Asker {
    outputs: VecDeque<Output>,
    told: UnboundedSender<Input>,
}

impl Machine for Asker {
    fn handle(&mut self, _now: Millis, input: Input) {
        drop(self.told.send(input));
    }
    fn work(&mut self, _now: Millis, _steps: usize) -> bool {
        false
    }
    fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }
    fn poll_timeout(&self) -> Option<Millis> {
        None
    }
}

#[tokio::test]
async fn the_driver_carries_a_send_out_and_brings_what_came_of_it() {
    for has_network in [true, false] {
        let root = tempfile::tempdir().expect("temporary directory");
        let (disk, _) = Disk::open(&[root.path().to_owned()], 16).expect("open");
        let (listener, to) = listen().await;
        let (told, mut inputs) = unbounded_channel();
        let output = Output::Send {
            to,
            id: 5,
            sent: SENT,
            frame: request(5),
        };
        let core = Asker {
            outputs: VecDeque::from([output]),
            told,
        };
        let connections = Connections::new(server::Limits::default());
        let driver = Driver::new(Box::new(core), disk, connections, Clock::manual(0), None);
        if has_network {
            driver.speak_to_peers(&BrokerConfig::default(), vec![Handle::current()]);
        }
        driver.start();
        if has_network {
            let mut broker = Broker::accept(&listener).await;
            assert_eq!(broker.hear().await, 5);
            broker.say(&answer(5)).await;
            assert_eq!(answered(&mut inputs).await, 5);
        } else {
            assert_eq!(failed(&mut inputs).await.0, 5);
        }
    }
}
