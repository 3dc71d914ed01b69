//! Three brokers whom tools are tried on: ours, or Apache Kafka's.

use highwater_tests::cluster::TestCluster;
use highwater_tests::kafka_cluster::KafkaCluster;

pub trait Three {
    /// `host:port` of the broker.
    fn address(&self, id: i32) -> String;
    fn do_to(&mut self, id: i32, what: Deed);
    fn is_running(&self, id: i32) -> bool;
}

#[derive(Clone, Copy, Debug)]
pub enum Deed {
    /// SIGTERM, and it hands its leaderships over.
    Stop,
    /// kill -9
    Kill,
    /// SIGSTOP
    Pause,
    Start,
}

impl Three for TestCluster {
    fn address(&self, id: i32) -> String {
        self.broker(id).address()
    }

    fn do_to(&mut self, id: i32, what: Deed) {
        match what {
            Deed::Stop => self.stop(id),
            Deed::Kill => self.kill(id),
            Deed::Pause => self.pause(id, true),
            Deed::Start => self.restart(id),
        }
    }

    fn is_running(&self, id: i32) -> bool {
        self.running().contains(&id)
    }
}

impl Three for KafkaCluster {
    fn address(&self, id: i32) -> String {
        self.address_of(id)
    }

    fn do_to(&mut self, id: i32, what: Deed) {
        match what {
            Deed::Stop => self.stop(id),
            Deed::Kill => self.kill(id),
            Deed::Pause => self.pause(id),
            Deed::Start => self.start_again(id),
        }
    }

    fn is_running(&self, id: i32) -> bool {
        self.runs(id)
    }
}
