//! What a reader can do to a cluster, in the words of scripts.

use highwater_core::sim::script::command::{Command, Script};
use highwater_core::trace::NodeId;
use highwater_core::types::TopicPartition;
use highwater_core::view::ClusterView;

/// Something that can be done, or why not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    /// A line of a script: `crash 1`.
    pub words: String,
    /// `Crash broker 1`.
    pub label: String,
    pub why_not: Option<&'static str>,
}

fn offer(words: String, label: String, why_not: Option<&'static str>) -> Offer {
    Offer {
        words,
        label,
        why_not,
    }
}

/// Everything that is offered where the cluster is like this.
pub fn offers(view: &ClusterView, partition: &TopicPartition) -> Vec<Offer> {
    let mut all = Vec::new();
    for (acks, said) in [("all", "acks=all"), ("1", "acks=1")] {
        all.push(offer(
            format!("produce {partition} 1 acks={acks}"),
            format!("Produce a record with {said}"),
            None,
        ));
    }
    for (&id, seen) in &view.brokers {
        let dead = (!seen.up).then_some("It is down.");
        let asleep = seen.paused.then_some("It is paused already.");
        all.push(offer(format!("crash {id}"), format!("Crash broker {id}"), dead));
        all.push(offer(
            format!("power-loss {id}"),
            format!("Cut the power of broker {id}"),
            dead,
        ));
        all.push(offer(
            format!("restart {id}"),
            format!("Restart broker {id}"),
            seen.up.then_some("It runs."),
        ));
        all.push(offer(
            format!("pause {id}"),
            format!("Pause broker {id}"),
            dead.or(asleep),
        ));
        all.push(offer(
            format!("resume {id}"),
            format!("Let broker {id} go on"),
            (!seen.paused).then_some("It is not paused."),
        ));
        let is_cut = view.cut.iter().any(|&(from, _)| from == id as NodeId);
        all.push(offer(
            format!("isolate {id}"),
            format!("Cut all links of broker {id}"),
            is_cut.then_some("They are cut."),
        ));
    }
    all.extend(links(view));
    all.push(offer(
        "heal".to_owned(),
        "Heal all links".to_owned(),
        view.cut.is_empty().then_some("No link is cut."),
    ));
    let is_there = view.stored.partitions.contains_key(partition);
    all.extend(settings(partition, is_there));
    all
}

fn links(view: &ClusterView) -> Vec<Offer> {
    let ids: Vec<_> = view.brokers.keys().copied().collect();
    let mut all = Vec::new();
    for (at, &one) in ids.iter().enumerate() {
        for &other in &ids[at + 1..] {
            let is_cut = view.cut.contains(&(one as NodeId, other as NodeId));
            all.push(offer(
                format!("cut {one} {other}"),
                format!("Cut the link between brokers {one} and {other}"),
                is_cut.then_some("It is cut."),
            ));
        }
    }
    all
}

fn settings(partition: &TopicPartition, is_there: bool) -> Vec<Offer> {
    let topic = &partition.topic;
    let settings = [
        "min.insync.replicas=1",
        "min.insync.replicas=2",
        "unclean.leader.election.enable=true",
        "unclean.leader.election.enable=false",
    ];
    let of = |setting: &str| {
        offer(
            format!("set topic {topic} {setting}"),
            format!("Set {setting}"),
            (!is_there).then_some("The topic is not there yet."),
        )
    };
    settings.map(of).into()
}

/// Reads the words; what only a script's beginning or a test may say is refused.
pub fn command(words: &str) -> Result<Command, String> {
    let script = Script::parse(words).map_err(|bad| bad.why)?;
    let mut commands = script.lines.into_iter().filter_map(|line| line.command);
    let (Some(command), None) = (commands.next(), commands.next()) else {
        return Err("say one thing at a time".to_owned());
    };
    match command {
        Command::Expect(_) | Command::Show(_) => Err(format!("`{words}` does nothing")),
        command if command.is_setup() => Err(format!("`{words}` stands at a script's beginning")),
        command => Ok(command),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_offer_is_a_line_of_a_script() {
        let mut view = ClusterView::default();
        for id in 1..=3 {
            view.brokers.entry(id).or_default().up = id != 2;
        }
        let offers = offers(&view, &TopicPartition::new("t", 0));
        for offer in &offers {
            let command = command(&offer.words).unwrap();
            assert_eq!(command.to_string(), offer.words);
        }
        let why_not = |words: &str| {
            let found = offers.iter().find(|offer| offer.words == words);
            found.unwrap().why_not.is_some()
        };
        assert!(why_not("crash 2") && why_not("restart 1") && why_not("heal"));
        assert!(!why_not("crash 1") && !why_not("restart 2"));
    }

    #[test]
    fn what_belongs_to_a_whole_script_is_refused() {
        for words in [
            "brokers 5",
            "expect controller 1",
            "show IsrChanged",
            "dance",
            "",
            "crash 1\ncrash 2",
        ] {
            assert!(command(words).is_err(), "{words}");
        }
    }
}
