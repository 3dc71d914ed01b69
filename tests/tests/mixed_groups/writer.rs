//! Somebody who writes numbered records to all partitions in turn, all the while.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use highwater_core::record::{BatchBuilder, Codec};
use highwater_core::types::{Offset, PartitionIndex};
use highwater_tests::requests::produce;
use highwater_tests::wire::WireClient;

use crate::diary::Ends;

/// Between two records.
const EVERY: Duration = Duration::from_millis(10);

/// The number that lies at each partition and offset.
pub type Written = BTreeMap<(PartitionIndex, Offset), u64>;

pub struct Writer {
    stops: Arc<AtomicBool>,
    written: Arc<Mutex<Written>>,
    thread: JoinHandle<()>,
}

impl Writer {
    pub fn start(address: &str, topic: &str, partitions: PartitionIndex) -> Self {
        let stops = Arc::new(AtomicBool::new(false));
        let written = Arc::new(Mutex::new(Written::new()));
        let (stopped, notes) = (stops.clone(), written.clone());
        let (mut client, topic) = (WireClient::connect(address), topic.to_owned());
        let thread = std::thread::spawn(move || {
            let turns = (0..partitions).cycle();
            for (number, partition) in (0..).zip(turns) {
                if stopped.load(Ordering::SeqCst) {
                    return;
                }
                let mut batch = BatchBuilder::new(Codec::None);
                batch.append(1, None, Some(u64::to_string(&number).as_bytes()), &[]);
                let offset = produce(&mut client, &topic, partition, batch.build());
                let offset = offset.expect("a record is acknowledged");
                let mut notes = notes.lock().expect("the writer's notes");
                notes.insert((partition, offset), number);
                drop(notes);
                std::thread::sleep(EVERY);
            }
        });
        Self {
            stops,
            written,
            thread,
        }
    }

    /// Behind what was acknowledged by now.
    pub fn ends(&self) -> Ends {
        ends(&self.written.lock().expect("the writer's notes"))
    }

    /// All that was ever acknowledged.
    pub fn stop(self) -> Written {
        self.stops.store(true, Ordering::SeqCst);
        self.thread.join().expect("the writer");
        let written = self.written.lock().expect("the writer's notes");
        written.clone()
    }
}

pub fn ends(written: &Written) -> Ends {
    let mut ends = Ends::new();
    for (partition, offset) in written.keys() {
        let end = ends.entry(*partition).or_default();
        *end = (*end).max(offset + 1);
    }
    ends
}
