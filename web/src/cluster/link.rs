//! A link to a place in a run: scene, moment, step, what the reader did, a hash of the facts up to there,
//! and a checksum over all of it.
//!
//! `scene=it-was-safe&moment=died&at=12&hash=0123456789abcdef&sum=89ab12cd`; a run of one's own names where
//! it left the story, and what was done: `&side=0&from=873&do=crash_2~restart_2`.
//!
//! A link opens exactly, if the run still has the facts that it had; else at its moment; else at the start.

use crate::sealed::{Parts, part, seal};

/// Actions in one link.
pub const MOST_ACTIONS: usize = 200;

/// What a link says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spot {
    pub scene: String,
    /// Name of the moment that is told there; empty in a run of one's own.
    pub moment: String,
    /// Stop of the story, or of the reader's run.
    pub at: usize,
    pub own: Option<OwnSpot>,
    /// Of the facts up to there.
    pub hash: u64,
}

/// Where a reader's run left the story, and what the reader did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnSpot {
    pub side: usize,
    /// Facts of that side's run.
    pub from: usize,
    /// Lines of a script.
    pub actions: Vec<String>,
}

/// The link's part behind the `#`.
pub fn write(spot: &Spot) -> String {
    let Spot {
        scene,
        moment,
        at,
        own,
        hash,
    } = spot;
    let mut text = format!("scene={scene}&moment={moment}&at={at}&hash={hash:016x}");
    if let Some(own) = own {
        let actions: Vec<String> = own.actions.iter().map(|words| words.replace(' ', "_")).collect();
        text += &format!("&side={}&from={}&do={}", own.side, own.from, actions.join("~"));
    }
    seal(&text)
}

/// Whether the link is one of a cluster's scene; another kind of scene has links of its own.
pub fn scene_of(text: &str) -> Option<&str> {
    part(text, "scene")
}

/// The place that a link names; `Err` says what is wrong with it.
pub fn read(text: &str) -> Result<Spot, String> {
    let parts = Parts::open(text)?;
    let number = |name: &str| -> Result<usize, String> {
        let text = parts.get(name)?;
        text.parse().map_err(|_| format!("its `{name}` is no number"))
    };
    let own = match parts.find("do") {
        None => None,
        Some(actions) => Some(OwnSpot {
            side: number("side")?,
            from: number("from")?,
            actions: read_actions(actions)?,
        }),
    };
    Ok(Spot {
        scene: parts.get("scene")?.to_owned(),
        moment: parts.get("moment")?.to_owned(),
        at: number("at")?,
        own,
        hash: u64::from_str_radix(parts.get("hash")?, 16).map_err(|_| "its hash is no number")?,
    })
}

fn read_actions(text: &str) -> Result<Vec<String>, String> {
    let actions = text.split('~').filter(|words| !words.is_empty());
    let actions: Vec<String> = actions.map(|words| words.replace('_', " ")).collect();
    if actions.len() > MOST_ACTIONS {
        return Err(format!("it has more than {MOST_ACTIONS} actions"));
    }
    Ok(actions)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sealed::assert_damage_is_noticed;

    fn spots() -> [Spot; 2] {
        let story = Spot {
            scene: "it-was-safe".to_owned(),
            moment: "died".to_owned(),
            at: 12,
            own: None,
            hash: u64::MAX,
        };
        let own = Spot {
            moment: String::new(),
            own: Some(OwnSpot {
                side: 1,
                from: 800,
                actions: vec!["crash 2".to_owned(), "produce orders-0 1 acks=all".to_owned()],
            }),
            ..story.clone()
        };
        [story, own]
    }

    #[test]
    fn links_read_back() {
        for spot in spots() {
            let text = write(&spot);
            assert_eq!(read(&text), Ok(spot));
            assert_eq!(scene_of(&text), Some("it-was-safe"));
        }
    }

    #[test]
    fn every_damage_is_noticed() {
        for spot in spots() {
            assert_damage_is_noticed(&write(&spot), read);
        }
        for text in [
            "scene=a&moment=&at=x&hash=0",
            "scene=a&moment=&at=1&hash=y",
            "moment=&at=1&hash=0",
        ] {
            assert!(read(&seal(text)).is_err(), "{text}");
        }
    }
}
