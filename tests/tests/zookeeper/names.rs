//! What differs from service to service, made alike.

use std::collections::{BTreeMap, BTreeSet};

use CoordinationEvent as Told;
use highwater_core::coordination::{CoordinationEvent, CoordinationReply, Found, OpResult, Stat};

/// Numbers that differ from service to service, by their order.
#[derive(Default)]
pub struct Names {
    pub sessions: Vec<i64>,
    zxids: BTreeSet<i64>,
}

impl Names {
    fn stats(event: &mut CoordinationEvent) -> Vec<&mut Stat> {
        let Told::Done {
            result: Ok(reply), ..
        } = event
        else {
            return Vec::new();
        };
        match reply {
            CoordinationReply::Multi(results) => results
                .iter_mut()
                .filter_map(|result| match result {
                    OpResult::Set(stat) => Some(stat),
                    _ => None,
                })
                .collect(),
            CoordinationReply::Read(found) => found
                .iter_mut()
                .filter_map(|found| match found {
                    Found::Data(Some((_, stat))) => Some(stat),
                    _ => None,
                })
                .collect(),
        }
    }

    pub fn note(&mut self, event: &CoordinationEvent) {
        for stat in Self::stats(&mut event.clone()) {
            self.zxids.extend([stat.czxid, stat.mzxid]);
        }
    }

    pub fn plain(&self, mut event: CoordinationEvent) -> String {
        let rank: BTreeMap<i64, i64> = self.zxids.iter().copied().zip(1..).collect();
        for stat in Self::stats(&mut event) {
            stat.czxid = rank[&stat.czxid];
            stat.mzxid = rank[&stat.mzxid];
            if stat.ephemeral_owner != 0 {
                let owner = self
                    .sessions
                    .iter()
                    .position(|session| *session == stat.ephemeral_owner);
                stat.ephemeral_owner = owner.map_or(-1, |index| index as i64 + 1);
            }
        }
        format!("{event:?}")
    }
}
