//! Who shall lead a partition (`kafka.controller.Election`).
//!
//! Every strategy takes the first assigned replica that is fit, in the order of the assignment; they
//! differ in what fit means. The answer names each replica with why it was taken or passed over.
//!
//! | strategy | fit | new ISR |
//! |---|---|---|
//! | new | alive and not leaving | those that are fit |
//! | offline | alive and in the ISR; if there is none and unclean election is allowed, alive | those of the ISR that live; after an unclean election the leader alone |
//! | reassign | a wanted replica, alive and in the ISR | as it was |
//! | preferred | the first replica, alive and in the ISR | as it was |
//! | controlled shutdown | alive, in the ISR and not leaving | without those that leave |

use crate::trace::{Candidate, ElectionReason, Verdict};
use crate::types::BrokerId;

/// What is known of a replica that might lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    pub broker: BrokerId,
    /// Its broker is registered and its log directory has not failed.
    pub is_alive: bool,
    /// Its broker has asked to shut down.
    pub is_leaving: bool,
    pub is_in_isr: bool,
}

/// The outcome of an election.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// `None`: nobody is fit.
    pub leader: Option<BrokerId>,
    /// The leader may lack what was acknowledged.
    pub is_unclean: bool,
    /// Every replica, in the order in which they were considered.
    pub candidates: Vec<Candidate>,
}

/// Chooses among `replicas`, the preferred one first. `unclean_allowed` counts for the offline
/// strategy alone.
pub fn elect(reason: ElectionReason, replicas: &[Standing], unclean_allowed: bool) -> Choice {
    let considered = match reason {
        ElectionReason::Preferred => replicas.get(..1).unwrap_or_default(),
        _ => replicas,
    };
    // ANCHOR: chosen
    let clean = considered.iter().position(|replica| refusal(replica).is_none());
    let is_unclean = clean.is_none() && unclean_allowed && reason == ElectionReason::Offline;
    let chosen = match is_unclean {
        true => replicas
            .iter()
            .position(|replica| replica.is_alive && !replica.is_leaving),
        false => clean,
    };
    // ANCHOR_END: chosen
    let verdict = |(place, replica): (usize, &Standing)| {
        let verdict = match chosen {
            Some(chosen) if chosen == place && is_unclean => Verdict::ElectedUnclean,
            Some(chosen) if chosen == place => Verdict::Elected,
            _ if place >= considered.len() => Verdict::NotPreferred,
            _ => refusal(replica).unwrap_or(Verdict::NotNeeded),
        };
        Candidate {
            broker: replica.broker,
            live: replica.is_alive,
            in_isr: replica.is_in_isr,
            verdict,
        }
    };
    Choice {
        leader: chosen
            .and_then(|place| replicas.get(place))
            .map(|replica| replica.broker),
        is_unclean: is_unclean && chosen.is_some(),
        candidates: replicas.iter().enumerate().map(verdict).collect(),
    }
}

// ANCHOR: refusal
/// Why the replica may not lead; `None`: it may.
fn refusal(replica: &Standing) -> Option<Verdict> {
    if !replica.is_alive {
        Some(Verdict::Dead)
    } else if replica.is_leaving {
        Some(Verdict::Leaving)
    } else if !replica.is_in_isr {
        Some(Verdict::OutOfSync)
    } else {
        None
    }
}
// ANCHOR_END: refusal

#[cfg(test)]
mod tests {
    use super::*;
    use ElectionReason::{ControlledShutdown, Offline, Preferred, Reassignment};

    /// `1*` lives, `1` is dead; `i` in the ISR, `l` leaving.
    fn standings(text: &str) -> Vec<Standing> {
        text.split(' ')
            .map(|word| Standing {
                broker: word.chars().next().unwrap().to_digit(10).unwrap() as i32,
                is_alive: word.contains('*'),
                is_leaving: word.contains('l'),
                is_in_isr: word.contains('i'),
            })
            .collect()
    }

    #[test]
    fn the_first_fit_replica_leads() {
        let cases = [
            (Offline, "1i 2*i 3*i", false, Some(2)),
            (Offline, "1i 2 3*", false, None),
            (Offline, "1i 2 3*", true, Some(3)),
            (Offline, "1i 2*i 3*", true, Some(2)),
            (Offline, "1i 2", true, None),
            (Offline, "1*il 2*i", false, Some(2)),
            (Offline, "1*l 2i", true, None),
            (Reassignment, "4*i 5*i", false, Some(4)),
            (Reassignment, "4i 5*i", false, Some(5)),
            (Reassignment, "4* 5", true, None),
            (Preferred, "1*i 2*i", false, Some(1)),
            (Preferred, "1i 2*i", false, None),
            (Preferred, "1* 2*i", true, None),
            (ControlledShutdown, "1*il 2*i", false, Some(2)),
            (ControlledShutdown, "1*il 2*", true, None),
            (ControlledShutdown, "1*il 2*il 3*i", false, Some(3)),
        ];
        for (reason, replicas, unclean, leader) in cases {
            let choice = elect(reason, &standings(replicas), unclean);
            assert_eq!(choice.leader, leader, "{reason:?} of {replicas}");
            let elected = |c: &&Candidate| matches!(c.verdict, Verdict::Elected | Verdict::ElectedUnclean);
            let told: Vec<i32> = choice
                .candidates
                .iter()
                .filter(elected)
                .map(|c| c.broker)
                .collect();
            assert_eq!(
                told,
                leader.into_iter().collect::<Vec<_>>(),
                "{reason:?} of {replicas}"
            );
        }
    }

    #[test]
    fn every_replica_hears_why() {
        let verdicts = |reason, text, unclean| -> Vec<Verdict> {
            let choice = elect(reason, &standings(text), unclean);
            choice.candidates.into_iter().map(|c| c.verdict).collect()
        };
        use Verdict::*;
        assert_eq!(
            verdicts(Offline, "1i 2* 3*i 4*i", false),
            [Dead, OutOfSync, Elected, NotNeeded]
        );
        assert_eq!(
            verdicts(Offline, "1i 2* 3*", true),
            [Dead, ElectedUnclean, OutOfSync]
        );
        assert_eq!(verdicts(Preferred, "1i 2*i", false), [Dead, NotPreferred]);
        assert_eq!(
            verdicts(ControlledShutdown, "1*il 2*i", false),
            [Leaving, Elected]
        );
    }
}
