//! How much is done: the whole measurement, or a quick look.

pub struct Plan {
    /// Each measurement is made so many times, the systems by turns.
    pub runs: u32,
    /// Written and deleted before anything else.
    pub touched_bytes: u64,
    /// Moved by each floor.
    pub floor_bytes: u64,
    /// Produced before anything is measured, so that Kafka's code is compiled.
    pub warm_bytes: u64,
    pub bytes_of_1k: u64,
    pub bytes_of_100b: u64,
    pub bytes_of_json: u64,
    pub bytes_of_java: u64,
    /// To three brokers.
    pub bytes_of_three: u64,
    /// How often leaders are stopped and killed.
    pub failovers: u32,
    pub steady_s: u32,
    /// By each client.
    pub bytes_of_clients: u64,
    pub commits_s: u32,
    pub idle_connections: usize,
    pub idle_topics: i32,
    pub idle_s: u64,
}

/// Partitions of each topic that idles.
pub const PARTITIONS_OF_IDLE_TOPIC: i32 = 1000;
/// Three brokers are warmed by this share of what warms one: each byte is written three times.
pub const WARMING_OF_THREE_SHARE: u64 = 3;
/// Messages a second of the steady load.
pub const STEADY_A_SECOND: u32 = 1000;

impl Plan {
    pub fn whole() -> Self {
        Self {
            runs: 5,
            touched_bytes: 6 << 30,
            floor_bytes: 4 << 30,
            warm_bytes: 5_000_000_000,
            bytes_of_1k: 2_000_000_000,
            bytes_of_100b: 500_000_000,
            bytes_of_json: 500_000_000,
            bytes_of_java: 200_000_000,
            bytes_of_three: 1_000_000_000,
            failovers: 3,
            steady_s: 8,
            bytes_of_clients: 1_000_000_000,
            commits_s: 8,
            idle_connections: 5000,
            idle_topics: 10,
            idle_s: 8,
        }
    }

    pub fn quick() -> Self {
        Self {
            runs: 3,
            touched_bytes: 2 << 30,
            floor_bytes: 1 << 30,
            warm_bytes: 1_000_000_000,
            bytes_of_1k: 500_000_000,
            bytes_of_100b: 200_000_000,
            bytes_of_json: 200_000_000,
            bytes_of_java: 50_000_000,
            bytes_of_three: 250_000_000,
            failovers: 1,
            steady_s: 3,
            bytes_of_clients: 250_000_000,
            commits_s: 3,
            idle_connections: 5000,
            idle_topics: 10,
            idle_s: 3,
        }
    }
}
