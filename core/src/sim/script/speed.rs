//! What is played to measure the simulator itself; who measures holds the watch.

use super::player::Player;
use super::{Script, random};
use crate::sim::World;
use crate::types::Millis;

pub use super::player::Look;

/// Records of the world that is copied.
pub const RECORDS: u32 = 10_000;
/// The records of that world are written after so long, or never.
const PATIENCE_MS: Millis = 600_000;

/// Plays the random world of a seed; the events that it took.
pub fn play(seed: u64, look: Look) -> u64 {
    let Ok(script) = Script::parse(&random::script(seed)) else {
        return 0;
    };
    let mut player = Player::new().looking(look);
    // A failure ends the run, and what was done until then counts.
    let _ = player.play_all(&script);
    player.world().map_or(0, World::steps)
}

/// A world of three brokers in sync that hold so many records, in the middle of writing more.
pub fn world_with_records() -> Result<World, String> {
    let script = format!(
        "brokers 3
topic t partitions 1 replicas 3 config min.insync.replicas=2
producer safe linger.ms=10
consumer reader t-0
produce t-0 {RECORDS} by safe every 1ms
step until HighWatermarkMoved to={RECORDS} within {PATIENCE_MS}ms
settle
produce t-0 {RECORDS} by safe every 1ms
run 100ms
"
    );
    let script = Script::parse(&script).map_err(|bad| bad.to_string())?;
    let mut player = Player::new().looking(Look::Nowhere);
    player.play_all(&script).map_err(|failure| failure.to_string())?;
    player
        .world()
        .cloned()
        .ok_or_else(|| "nothing was played".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::TopicPartition;

    #[test]
    fn every_broker_holds_the_records_that_are_promised() {
        let world = world_with_records().unwrap();
        let partition = TopicPartition::new("t", 0);
        for node in world.brokers() {
            let replicas = node.broker.as_ref().unwrap().replicas();
            let replica = replicas
                .into_iter()
                .find(|replica| replica.partition == partition);
            assert!(replica.unwrap().high_watermark >= i64::from(RECORDS));
        }
    }
}
