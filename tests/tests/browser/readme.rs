//! The README's pictures: each scene at a moment of its own, drawn by this page.
//!
//! `HIGHWATER_WRITE=1` makes them anew. Two browsers draw no letter the same, so pictures are not compared;
//! what is said beside each is the moment's sentence, and changes with the story.

use std::path::{Path, PathBuf};

use highwater_lab::cluster::{ClusterLab, SCENES, Wish};

use crate::lab;
use crate::page::{PAGE_DOWN, Page};

/// Scenes, and how many moments on each is to be seen.
const SHOWN: [(&str, usize); 6] = [
    ("it-was-safe", 8),
    ("log-is-cut-back", 3),
    ("leo-hw-isr", 4),
    ("who-leads", 6),
    ("batch-is-born", 9),
    (highwater_lab::scene::NAME, 3),
];
/// What the browser shows, and how much smaller the picture is.
const SCREEN: (u32, u32) = (1120, 740);
const SCALE: f64 = 0.6;
/// A picture is small enough to be kept with the sources.
const MOST_BYTES: usize = 40 << 10;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Title and sentence of the moment that is shown.
fn told(scene: &str, moment: usize) -> (String, String) {
    let Some(info) = SCENES.iter().find(|info| info.name == scene) else {
        let lab = lab().after(highwater_lab::lab::Wish::GoTo(moment));
        return ("A log grows, a lookup finds".to_owned(), lab.sentence());
    };
    let mut lab = ClusterLab::new(scene).expect("the scene can be played");
    for _ in 0..moment {
        lab = lab.after(Wish::NextMoment);
    }
    (info.title.to_string(), lab.sentence())
}

#[tokio::test]
async fn the_readme_shows_each_scene() {
    let names: Vec<&str> = SCENES.iter().map(|scene| &*scene.name).collect();
    let shown = SHOWN.map(|(name, _)| name);
    assert_eq!(shown, [&names[..], &[highwater_lab::scene::NAME]].concat()[..]);
    let readme = std::fs::read_to_string(repository().join("README.md")).expect("the README");
    let writes = std::env::var_os("HIGHWATER_WRITE").is_some();
    let mut missing = Vec::new();
    let page = Page::open().await;
    page.session.resize(SCREEN.0, SCREEN.1, false).await;
    page.without_motion().await;
    for (scene, moment) in SHOWN {
        let (title, sentence) = told(scene, moment);
        let path = format!("book/pictures/{scene}.webp");
        let file = repository().join(&path);
        page.go(&format!("scene={scene}")).await;
        for _ in 0..moment {
            page.session.press(PAGE_DOWN).await;
        }
        assert_eq!(page.texts(".sentence").await, [sentence.clone()], "{scene}");
        let picture = page.session.picture(SCREEN.0, SCREEN.1, SCALE).await;
        assert!(picture.len() <= MOST_BYTES, "{scene}: {} bytes", picture.len());
        if writes {
            std::fs::write(&file, picture).expect("write the picture");
        }
        let kept = std::fs::read(&file).unwrap_or_else(|error| panic!("{path}: {error}"));
        assert_eq!((&kept[..4], &kept[8..12]), (&b"RIFF"[..], &b"WEBP"[..]), "{path}");
        assert!(kept.len() <= MOST_BYTES, "{path}: {} bytes", kept.len());
        for words in [
            format!("[![{sentence}]({path})](http://127.0.0.1:8080/#scene={scene})"),
            format!("[{title}](http://127.0.0.1:8080/#scene={scene})"),
        ] {
            if !readme.contains(&words) {
                missing.push(words);
            }
        }
    }
    assert!(missing.is_empty(), "the README has no\n{}", missing.join("\n"));
    page.close().await;
}
