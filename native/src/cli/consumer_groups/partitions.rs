//! Which partitions `--topic` means: `topic`, all of it, or `topic:0,1,2`.

use std::collections::BTreeSet;

use highwater_core::types::TopicPartition;

use super::cluster::Cluster;
use crate::cli::Failure;

/// The partitions that one option names; `None`: a whole topic.
pub fn named(text: &str) -> Result<Option<Vec<TopicPartition>>, Failure> {
    if !text.contains(':') {
        return Ok(None);
    }
    let parts: Vec<&str> = text.trim_end_matches(':').split(':').collect();
    let &[topic, indexes] = parts.as_slice() else {
        return Err(format!("Invalid topic arg '{text}', expected topic name and partitions").into());
    };
    let partition = |index: &str| {
        let parsed = index.parse().map(|index| TopicPartition::new(topic, index));
        parsed.map_err(|_| format!("Invalid partition '{index}' specified in topic arg '{text}''"))
    };
    let partitions: Result<Vec<_>, String> = indexes.split(',').map(partition).collect();
    Ok(Some(partitions?))
}

/// The partitions that all the options name.
pub fn chosen(cluster: &mut Cluster, options: &[String]) -> Result<BTreeSet<TopicPartition>, Failure> {
    let mut chosen = BTreeSet::new();
    let mut whole = BTreeSet::new();
    for option in options {
        match named(option)? {
            Some(partitions) => chosen.extend(partitions),
            None => {
                whole.insert(option.clone());
            }
        }
    }
    if whole.is_empty() {
        return Ok(chosen);
    }
    for (topic, found) in cluster.partitions(&whole)? {
        let indexes = found?.into_iter().map(|(index, _)| index);
        chosen.extend(indexes.map(|index| TopicPartition::new(topic.as_str(), index)));
    }
    Ok(chosen)
}

/// Whether all of them are there and have leaders.
pub fn check(cluster: &mut Cluster, partitions: &BTreeSet<TopicPartition>) -> Result<(), Failure> {
    let topics = partitions
        .iter()
        .map(|partition| partition.topic.to_string())
        .collect();
    let (mut known, mut led) = (BTreeSet::new(), BTreeSet::new());
    for (topic, found) in cluster.partitions(&topics)? {
        for (index, is_led) in found? {
            let partition = TopicPartition::new(topic.as_str(), index);
            if is_led {
                led.insert(partition.clone());
            }
            known.insert(partition);
        }
    }
    let names = |missing: &BTreeSet<TopicPartition>| {
        let missing = partitions.difference(missing).map(TopicPartition::to_string);
        missing.collect::<Vec<String>>().join(",")
    };
    let (unknown, leaderless) = (names(&known), names(&led));
    if !unknown.is_empty() {
        return Err(format!("The partitions \"{unknown}\" do not exist").into());
    }
    if !leaderless.is_empty() {
        return Err(format!("The partitions \"{leaderless}\" have no leader").into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_names_a_topic_or_partitions_of_it() {
        assert_eq!(named("t").unwrap(), None);
        let partitions = [0, 7].map(|index| TopicPartition::new("t", index));
        assert_eq!(named("t:0,7").unwrap(), Some(partitions.to_vec()));
        let line = |text: &str| named(text).unwrap_err().to_string();
        assert_eq!(
            line("t:0:1"),
            "Invalid topic arg 't:0:1', expected topic name and partitions"
        );
        assert_eq!(
            line("t:"),
            "Invalid topic arg 't:', expected topic name and partitions"
        );
        assert_eq!(
            line("t:0,x"),
            "Invalid partition 'x' specified in topic arg 't:0,x''"
        );
    }
}
