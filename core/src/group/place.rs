//! Which partition of `__consumer_offsets` a group lives in.

use crate::types::PartitionIndex;

/// By the group's name, as Java hashes it, over the topic's number of partitions.
pub fn partition_of(group: &str, partitions: i32) -> PartitionIndex {
    let hash = group.encode_utf16().fold(0i32, |hash, unit| {
        hash.wrapping_mul(31).wrapping_add(i32::from(unit))
    });
    // Kafka's `Utils.abs` takes the least number to 0, as nothing else would be positive.
    let positive = if hash == i32::MIN { 0 } else { hash.abs() };
    positive % partitions.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_lie_where_java_puts_them() {
        assert_eq!(partition_of("", 50), 0);
        // "group".hashCode() is 98629247, "console-consumer-1".hashCode() negative.
        assert_eq!(partition_of("group", 50), 98_629_247 % 50);
        // Its hash is i32::MIN.
        assert_eq!(partition_of("polygenelubricants", 50), 0);
        // Beyond the basic plane Java counts two units.
        assert_eq!(partition_of("\u{1F600}", 1000), (0xd83d_i32 * 31 + 0xde00) % 1000);
    }

    #[test]
    fn the_groups_of_the_fixtures_are_where_kafka_has_put_them() {
        // The topic had three partitions there.
        for (group, partition) in [
            ("fx-txn-group", 0),
            ("fx-consumer", 0),
            ("fx-classic", 1),
            ("fx-assign", 1),
        ] {
            assert_eq!(partition_of(group, 3), partition, "{group}");
        }
    }
}
