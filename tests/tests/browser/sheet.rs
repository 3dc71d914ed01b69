//! A contact sheet: every moment of every scene, at three widths, to be looked at by a person.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use highwater_lab::cluster::{ClusterLab, SCENES};

use crate::lab;
use crate::page::{PAGE_DOWN, Page};

const SCREENS: [(u32, u32); 3] = [(1440, 860), (390, 844), (320, 700)];

/// Where the sheet goes: `target/lab/`.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/lab")
}

/// The scenes' names with their moments.
fn scenes() -> Vec<(&'static str, usize)> {
    let clusters = SCENES.iter().map(|scene| {
        let lab = ClusterLab::new(&scene.name).expect("the scene can be played");
        (&*scene.name, lab.place().moments)
    });
    let files = (highwater_lab::scene::NAME, lab().scene.moments());
    clusters.chain([files]).collect()
}

async fn picture(page: &Page, name: &str) {
    let picture = page.session.client.screenshot().await.expect("a picture");
    std::fs::write(folder().join(name), picture).expect("write the picture");
}

#[tokio::test]
#[ignore = "soak: writes target/lab/index.html, to be looked at"]
async fn every_moment_goes_on_one_sheet() {
    std::fs::create_dir_all(folder()).expect("make the folder");
    let page = Page::open().await;
    let mut sheet = String::from("<!doctype html><meta charset=\"utf-8\"><title>Every moment</title>\n");
    for (width, height) in SCREENS {
        for (theme, dark) in [("light", false), ("dark", true)] {
            page.session.resize(width, height, dark).await;
            for (scene, moments) in scenes() {
                page.go(&format!("scene={scene}")).await;
                let _ = writeln!(sheet, "<h2>{scene}, {width} px, {theme}</h2>");
                for moment in 1..=moments {
                    let name = format!("{scene}-{width}-{theme}-{moment:02}.png");
                    picture(&page, &name).await;
                    let _ = writeln!(
                        sheet,
                        "<img src=\"{name}\" alt=\"moment {moment}\" width=\"{}\">",
                        width / 2
                    );
                    page.session.press(PAGE_DOWN).await;
                }
            }
        }
    }
    std::fs::write(folder().join("index.html"), sheet).expect("write the sheet");
    page.session.resize(1440, 860, false).await;
    page.go("").await;
    picture(&page, "first-ten-seconds.png").await;
    page.close().await;
}
