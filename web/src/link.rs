//! A link to a place in a run: scene, settings, actions, place, and a checksum over all of it.
//!
//! `scene=log-grows&set=512-4096&run=story&at=5&sum=89ab12cd`; a run of one's own is its actions,
//! blanks as `-`, apart by `.`.

use crate::actions::{Action, Settings};
use crate::scene;
use crate::sealed::{Parts, seal};
use crate::spot::{MOST_ACTIONS, Run, Spot};

/// The link's part behind the `#`.
pub fn write(spot: &Spot) -> String {
    let run = match &spot.run {
        Run::Story => "story".to_owned(),
        Run::Own(actions) => {
            let actions: Vec<String> = actions
                .iter()
                .map(|action| action.to_string().replace(' ', "-"))
                .collect();
            format!(".{}", actions.join("."))
        }
    };
    let Settings {
        index_interval_bytes,
        segment_bytes,
    } = spot.settings;
    let text = format!(
        "scene={}&set={index_interval_bytes}-{segment_bytes}&run={run}&at={}",
        scene::NAME,
        spot.at
    );
    seal(&text)
}

/// The place that a link names; `Err` says what is wrong with it.
pub fn read(text: &str) -> Result<Spot, String> {
    let parts = Parts::open(text)?;
    let scene = parts.get("scene")?;
    if scene != scene::NAME {
        return Err(format!("there is no scene `{scene}`"));
    }
    let run = match parts.get("run")? {
        "story" => Run::Story,
        own => Run::Own(actions(own)?),
    };
    Ok(Spot {
        settings: settings(parts.get("set")?)?,
        run,
        at: parts.get("at")?.parse().map_err(|_| "its place is no number")?,
    })
}

fn settings(text: &str) -> Result<Settings, String> {
    let numbers = text
        .split_once('-')
        .and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
    match numbers {
        Some((index_interval_bytes, segment_bytes))
            if Settings::INDEX_INTERVALS.contains(&index_interval_bytes)
                && Settings::SEGMENTS.contains(&segment_bytes) =>
        {
            Ok(Settings {
                index_interval_bytes,
                segment_bytes,
            })
        }
        _ => Err(format!("its settings `{text}` are not to be had here")),
    }
}

fn actions(text: &str) -> Result<Vec<Action>, String> {
    let actions = text.split('.').filter(|action| !action.is_empty());
    let actions: Vec<Action> = actions
        .map(|action| action.replace('-', " ").parse())
        .collect::<Result<_, _>>()?;
    if actions.len() > MOST_ACTIONS {
        return Err(format!("it has more than {MOST_ACTIONS} actions"));
    }
    Ok(actions)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sealed::assert_damage_is_noticed;

    fn spots() -> Vec<Spot> {
        let own = ["append 3 6 20 zstd", "roll", "find 7", "reveal"];
        vec![
            Spot::start(),
            Spot {
                at: 7,
                settings: Settings {
                    index_interval_bytes: 0,
                    segment_bytes: 8192,
                },
                ..Spot::start()
            },
            Spot {
                run: Run::Own(own.iter().map(|text| text.parse().unwrap()).collect()),
                at: 2,
                ..Spot::start()
            },
            Spot {
                run: Run::Own(Vec::new()),
                ..Spot::start()
            },
        ]
    }

    #[test]
    fn links_read_back() {
        for spot in spots() {
            let text = write(&spot);
            assert!(
                text.chars()
                    .all(|c| c.is_ascii_alphanumeric() || "=&-.".contains(c)),
                "{text}"
            );
            assert_eq!(read(&text), Ok(spot));
        }
    }

    #[test]
    fn every_damage_is_noticed() {
        for spot in spots() {
            assert_damage_is_noticed(&write(&spot), read);
        }
        for text in [
            "scene=other&set=512-4096&run=story&at=0",
            "scene=log-grows&set=1-1&run=story&at=0",
            "scene=log-grows&set=512-4096&run=.dance&at=0",
            "scene=log-grows&set=512-4096&run=story&at=x",
            "scene=log-grows&set=512-4096&at=0",
        ] {
            assert!(read(&seal(text)).is_err(), "{text}");
        }
    }
}
