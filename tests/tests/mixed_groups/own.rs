//! A member of a group with our own client, as a process: this test itself, started anew.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use highwater::client::{KafkaConsumer, Polled};
use highwater_core::consumer::{
    CommitId, ConsumerConfig, ConsumerEvent, ConsumerRecord, Rebalance, RebalanceListener,
};
use highwater_core::types::{Offset, PartitionIndex, TopicPartition};
use tokio::time::Instant;

/// The first argument of a process that is to be one.
pub const COMMAND: &str = "member";
const HEARTBEAT_MS: &str = "300";
const LOOK_UP_EVERY: Duration = Duration::from_millis(100);
const CLOSE_WITHIN_MS: i64 = 30_000;

/// `HOST:PORT TOPIC GROUP ASSIGNOR NAME SESSION_MS often|late`
pub fn main(arguments: &[String]) -> ExitCode {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .expect("a runtime");
    match runtime.block_on(run(arguments)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

async fn run(arguments: &[String]) -> Result<(), String> {
    let [bootstrap, topic, group, assignor, name, session_ms, commits] = arguments else {
        return Err(format!(
            "usage: {COMMAND} HOST:PORT TOPIC GROUP ASSIGNOR NAME SESSION_MS often|late"
        ));
    };
    let class = match assignor.as_str() {
        "range" => "org.apache.kafka.clients.consumer.RangeAssignor",
        "roundrobin" => "org.apache.kafka.clients.consumer.RoundRobinAssignor",
        "cooperative-sticky" => "org.apache.kafka.clients.consumer.CooperativeStickyAssignor",
        other => return Err(format!("no assignor {other}")),
    };
    let settings = [
        ("bootstrap.servers", bootstrap.as_str()),
        ("group.id", group),
        ("client.id", name),
        ("partition.assignment.strategy", class),
        ("session.timeout.ms", session_ms),
        ("heartbeat.interval.ms", HEARTBEAT_MS),
        ("enable.auto.commit", "false"),
        ("auto.offset.reset", "earliest"),
    ];
    let settings = settings.map(|(key, value)| (key.to_owned(), value.to_owned()));
    let config = ConsumerConfig::read(&settings.into()).map_err(|error| error.to_string())?;
    let consumer = KafkaConsumer::start(config, None);
    let topics = BTreeSet::from([Arc::from(topic.as_str())]);
    let subscribed = consumer.with(|consumer, cx| consumer.subscribe(cx, topics, RebalanceListener::Present));
    subscribed.map_err(|error| error.to_string())?;
    let mut member = Member {
        topic: topic.as_str().into(),
        consumer,
        uncommitted: BTreeMap::new(),
        committing: None,
        coming: None,
        committed_before: false,
        commits_often: commits == "often",
    };
    let ended = until_input_ends();
    while !(ended.load(Ordering::SeqCst) && member.is_idle()) {
        let polled = member.consumer.poll(Some(Instant::now() + LOOK_UP_EVERY)).await;
        // One that is refused at once would be refused again and again until the rebalance is over.
        let may_commit = !matches!(polled, Polled::Event(_));
        match polled {
            Polled::Records(records) => records.iter().for_each(|record| member.processed(record)),
            Polled::Event(event) => member.hear(event)?,
            Polled::Nothing => {}
        }
        let often = member.commits_often || ended.load(Ordering::SeqCst);
        member.go_on(may_commit && often)?;
    }
    for event in member.consumer.close(CLOSE_WITHIN_MS).await {
        match event {
            ConsumerEvent::Rebalance(change) => tell(&change),
            ConsumerEvent::Failed(error) => return Err(error.to_string()),
            _ => {}
        }
    }
    Ok(())
}

fn until_input_ends() -> Arc<AtomicBool> {
    let ended = Arc::new(AtomicBool::new(false));
    let tells = ended.clone();
    std::thread::spawn(move || {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        tells.store(true, Ordering::SeqCst);
    });
    ended
}

/// Next offsets.
type Offsets = BTreeMap<PartitionIndex, Offset>;

struct Member {
    topic: Arc<str>,
    consumer: KafkaConsumer,
    /// Of partitions that have records which were processed and not committed.
    uncommitted: Offsets,
    committing: Option<(CommitId, Offsets)>,
    /// It waits until the commit of what was processed has ended, well or not.
    coming: Option<Rebalance>,
    committed_before: bool,
    commits_often: bool,
}

impl Member {
    fn is_idle(&self) -> bool {
        self.uncommitted.is_empty() && self.committing.is_none() && self.coming.is_none()
    }

    fn processed(&mut self, record: &ConsumerRecord) {
        let value = record.value.as_deref().unwrap_or_default();
        let partition = record.partition.partition;
        println!("{partition} {} {}", record.offset, String::from_utf8_lossy(value));
        self.uncommitted.insert(partition, record.offset + 1);
    }

    fn hear(&mut self, event: ConsumerEvent) -> Result<(), String> {
        match event {
            ConsumerEvent::Rebalance(change) => self.coming = Some(change),
            ConsumerEvent::Committed { id, result, .. } => {
                let Some((_, offsets)) = self.committing.take_if(|(asked, _)| *asked == id) else {
                    return Ok(());
                };
                match result {
                    Ok(()) => {
                        let next = offsets
                            .iter()
                            .map(|(partition, offset)| format!(" {partition}:{offset}"));
                        println!("committed{}", next.collect::<String>());
                    }
                    Err(error) => {
                        eprintln!("commit refused: {error}");
                        // What was refused goes with the next commit, unless the partition goes before.
                        for (partition, offset) in offsets {
                            self.uncommitted.entry(partition).or_insert(offset);
                        }
                    }
                }
            }
            ConsumerEvent::Failed(error) => return Err(error.to_string()),
            _ => {}
        }
        Ok(())
    }

    fn go_on(&mut self, may_commit: bool) -> Result<(), String> {
        if self.committing.is_some() {
            return Ok(());
        }
        let changes = self.coming.is_some();
        let commits = if changes {
            !self.committed_before
        } else {
            may_commit
        };
        if commits && !self.uncommitted.is_empty() {
            self.committed_before = changes;
            return self.commit();
        }
        self.committed_before = false;
        if let Some(change) = self.coming.take() {
            if let Rebalance::Revoked(gone) | Rebalance::Lost(gone) = &change {
                let is_kept = |partition: &PartitionIndex| gone.iter().all(|of| of.partition != *partition);
                self.uncommitted.retain(|partition, _| is_kept(partition));
            }
            tell(&change);
            self.consumer.with(|consumer, cx| consumer.confirm_rebalance(cx));
        }
        Ok(())
    }

    fn commit(&mut self) -> Result<(), String> {
        let offsets = std::mem::take(&mut self.uncommitted);
        let named = offsets.iter().map(|(partition, offset)| {
            let partition = TopicPartition::new(self.topic.clone(), *partition);
            (partition, (*offset).into())
        });
        let named = named.collect();
        let asked = self
            .consumer
            .with(|consumer, cx| consumer.commit_sync(cx, Some(named)));
        self.committing = Some((asked.map_err(|error| error.to_string())?, offsets));
        Ok(())
    }
}

fn tell(change: &Rebalance) {
    let (word, partitions) = match change {
        Rebalance::Assigned(partitions) => ("assigned", partitions),
        Rebalance::Revoked(partitions) => ("revoked", partitions),
        Rebalance::Lost(partitions) => ("lost", partitions),
    };
    let partitions = partitions.iter().map(|of| format!(" {}", of.partition));
    println!("{word}{}", partitions.collect::<String>());
}
