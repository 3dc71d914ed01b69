//! The load: librdkafka as producer and consumer, by its functions for many messages at a time, so
//! that the client costs little and the broker is what is measured.

use std::ffi::{CString, c_void};
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rdkafka::bindings::{
    RD_KAFKA_MSG_F_BLOCK, rd_kafka_consume_batch_queue, rd_kafka_message_destroy, rd_kafka_message_t,
    rd_kafka_produce_batch, rd_kafka_queue_destroy, rd_kafka_queue_get_consumer, rd_kafka_topic_destroy,
    rd_kafka_topic_new,
};
use rdkafka::client::ClientContext;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::message::DeliveryResult;
use rdkafka::producer::{BaseProducer, BaseRecord, Producer, ProducerContext, ThreadedProducer};
use rdkafka::{ClientConfig, Offset, TopicPartitionList};

use crate::{Result, said};

/// No load takes so long, unless something is broken.
const LONGEST: Duration = Duration::from_secs(180);
/// Messages handed to librdkafka in one call.
const AT_A_TIME: usize = 1000;

pub fn client(address: &str) -> ClientConfig {
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", address);
    config.set("broker.address.family", "v4");
    config.set("socket.nagle.disable", "true");
    config
}

/// Counts deliveries that failed.
#[derive(Default)]
struct Failures(Arc<AtomicU64>);

impl ClientContext for Failures {}

impl ProducerContext for Failures {
    type DeliveryOpaque = ();

    fn delivery(&self, result: &DeliveryResult<'_>, (): ()) {
        if result.is_err() {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Sends `count` of the messages, in turn, and waits until all are acknowledged; answers how long it
/// took. `partitions` are filled in turn, `AT_A_TIME` messages each.
pub fn produce(
    address: &str,
    topic: &str,
    partitions: i32,
    settings: &[(&str, &str)],
    messages: &[&'static [u8]],
    count: u64,
) -> Result<Duration> {
    let failed = Arc::new(AtomicU64::new(0));
    let mut config = client(address);
    config.set("delivery.report.only.error", "true");
    config.set("queue.buffering.max.kbytes", "262144");
    for (key, value) in settings {
        config.set(*key, *value);
    }
    let producer: BaseProducer<Failures> = config
        .create_with_context(Failures(Arc::clone(&failed)))
        .map_err(said)?;
    producer
        .client()
        .fetch_metadata(Some(topic), Duration::from_secs(30))
        .map_err(said)?;

    let began = Instant::now();
    let mut sent = 0;
    for partition in (0..partitions).cycle() {
        if sent == count {
            break;
        }
        let now = (count - sent).min(AT_A_TIME as u64);
        hand_over(
            &producer,
            topic,
            partition,
            (sent..sent + now).map(|i| messages[i as usize % messages.len()]),
        )?;
        sent += now;
        producer.poll(Duration::ZERO);
        if began.elapsed() > LONGEST {
            return Err(format!(
                "{address}: producing to {topic} takes longer than {LONGEST:?}"
            ));
        }
    }
    producer.flush(LONGEST).map_err(said)?;
    let took = began.elapsed();
    match failed.load(Ordering::Relaxed) {
        0 => Ok(took),
        failed => Err(format!(
            "{address}: {failed} of {count} messages to {topic} were not acknowledged"
        )),
    }
}

/// Gives messages to librdkafka, which waits while its queue is full.
#[expect(unsafe_code, reason = "the crate has no call for many messages at once")]
fn hand_over(
    producer: &BaseProducer<Failures>,
    topic: &str,
    partition: i32,
    messages: impl Iterator<Item = &'static [u8]>,
) -> Result<()> {
    let name = CString::new(topic).map_err(said)?;
    // SAFETY: a message is plain data, for which zero is what librdkafka asks for.
    let empty: rd_kafka_message_t = unsafe { std::mem::zeroed() };
    let mut batch: Vec<rd_kafka_message_t> = messages
        .map(|message| rd_kafka_message_t {
            payload: message.as_ptr().cast::<c_void>().cast_mut(),
            len: message.len(),
            ..empty
        })
        .collect();
    let wanted = batch.len() as i32;
    // SAFETY: the handle lives; payloads are only read and live as long as the program, so that neither
    // a copy nor a free is asked for; the topic is given back once, after its last use.
    let taken = unsafe {
        let topic = rd_kafka_topic_new(producer.client().native_ptr(), name.as_ptr(), ptr::null_mut());
        let flags = RD_KAFKA_MSG_F_BLOCK;
        let taken = rd_kafka_produce_batch(topic, partition, flags, batch.as_mut_ptr(), wanted);
        rd_kafka_topic_destroy(topic);
        taken
    };
    match taken == wanted {
        true => Ok(()),
        false => Err(format!(
            "librdkafka took {taken} of {wanted} messages for {topic}"
        )),
    }
}

/// Reads `count` messages of the topic from its beginning; answers how long it took from the first
/// message to the last.
pub fn consume(address: &str, topic: &str, partitions: i32, count: u64) -> Result<Duration> {
    let mut config = client(address);
    config.set("group.id", "bench");
    config.set("enable.auto.commit", "false");
    // A full queue makes librdkafka rest for a second unless told otherwise, whoever the broker is.
    config.set("queued.min.messages", "1000000");
    config.set("queued.max.messages.kbytes", "262144");
    config.set("fetch.queue.backoff.ms", "2");
    let consumer: BaseConsumer = config.create().map_err(said)?;
    let mut assignment = TopicPartitionList::new();
    for partition in 0..partitions {
        assignment
            .add_partition_offset(topic, partition, Offset::Beginning)
            .map_err(said)?;
    }
    let began = Instant::now();
    consumer.assign(&assignment).map_err(said)?;
    let (mut first, mut seen) = (None, 0);
    while seen < count {
        seen += take(&consumer)?;
        if seen > 0 && first.is_none() {
            first = Some(Instant::now());
        }
        if began.elapsed() > LONGEST {
            return Err(format!(
                "{address}: only {seen} of {count} messages of {topic} came in {LONGEST:?}"
            ));
        }
    }
    Ok(first.unwrap_or(began).elapsed())
}

/// Takes what has arrived; waits a while for the first.
#[expect(unsafe_code, reason = "the crate has no call for many messages at once")]
fn take(consumer: &BaseConsumer) -> Result<u64> {
    let mut messages: [*mut rd_kafka_message_t; AT_A_TIME] = [ptr::null_mut(); AT_A_TIME];
    // SAFETY: the handle lives; librdkafka fills at most as many places as there are, and each message
    // that it gave is given back once.
    unsafe {
        let queue = rd_kafka_queue_get_consumer(consumer.client().native_ptr());
        let count = rd_kafka_consume_batch_queue(queue, 1000, messages.as_mut_ptr(), messages.len());
        rd_kafka_queue_destroy(queue);
        let taken = &messages[..usize::try_from(count).unwrap_or(0)];
        let mut failed = None;
        for &message in taken {
            let error = (*message).err;
            if error as i32 != 0 {
                failed = Some(error);
            }
            rd_kafka_message_destroy(message);
        }
        match failed {
            None => Ok(taken.len() as u64),
            Some(error) => Err(format!("fetching failed: {error:?}")),
        }
    }
}

/// Notes how long each message took to be acknowledged.
#[derive(Default)]
struct Stopwatch {
    took_ms: Mutex<Vec<f64>>,
    failed: AtomicU64,
}

impl ClientContext for Stopwatch {}

impl ProducerContext for Stopwatch {
    type DeliveryOpaque = Box<Instant>;

    fn delivery(&self, result: &DeliveryResult<'_>, sent: Box<Instant>) {
        let took_ms = sent.elapsed().as_secs_f64() * 1e3;
        match (result, self.took_ms.lock()) {
            (Ok(_), Ok(mut all)) => all.push(took_ms),
            _ => {
                self.failed.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}

/// Sends `a_second` messages each second, evenly and one by one, with acks=all; answers what each
/// took in milliseconds, least first.
pub fn produce_steadily(
    address: &str,
    topic: &str,
    messages: &[&'static [u8]],
    a_second: u32,
    seconds: u32,
) -> Result<Vec<f64>> {
    let mut config = client(address);
    config.set("acks", "all");
    config.set("linger.ms", "0");
    let producer: ThreadedProducer<Stopwatch> =
        config.create_with_context(Stopwatch::default()).map_err(said)?;
    producer
        .client()
        .fetch_metadata(Some(topic), Duration::from_secs(30))
        .map_err(said)?;
    let began = Instant::now();
    for number in 0..a_second * seconds {
        let due = began + Duration::from_secs(1) * number / a_second;
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        let message = messages[number as usize % messages.len()];
        let record: BaseRecord<'_, (), _, _> = BaseRecord::with_opaque_to(topic, Box::new(Instant::now()))
            .payload(message)
            .partition(0);
        producer.send(record).map_err(|(error, _)| said(error))?;
    }
    producer.flush(LONGEST).map_err(said)?;
    let watch = producer.context();
    let failed = watch.failed.load(Ordering::Relaxed);
    if failed > 0 {
        return Err(format!(
            "{address}: {failed} messages to {topic} were not acknowledged"
        ));
    }
    let mut took_ms = watch
        .took_ms
        .lock()
        .map(|mut all| std::mem::take(&mut *all))
        .unwrap_or_default();
    took_ms.sort_by(f64::total_cmp);
    Ok(took_ms)
}
