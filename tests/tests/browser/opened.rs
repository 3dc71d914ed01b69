//! What a reader can open in a cluster's scene: bytes, single facts, state, invariants, pictures to take away.

use std::path::Path;
use std::process::Command;

use highwater_core::stage::Stage;
use highwater_lab::cluster::{ClusterLab, JumpTo, Picture, SCENES, SceneInfo, Wish};
use highwater_tests::broker::binary;

use crate::page::{ENTER, PAGE_DOWN, Page, RIGHT};

fn lab(scene: &str) -> ClusterLab {
    ClusterLab::new(scene).expect("the scene can be played")
}

/// A browser that keeps what is copied and what is downloaded.
const KEEP: &str = r"
    window.copied = [];
    Object.defineProperty(navigator, 'clipboard', { value: { writeText: async text => { window.copied.push(text); } } });
    window.blobs = [];
    const make = URL.createObjectURL;
    URL.createObjectURL = blob => { window.blobs.push(blob); return make.call(URL, blob); };
";
const LAST_FILE: &str = "return [...new Uint8Array(await window.blobs.at(-1).arrayBuffer())]";
const LAST_COPY: &str = "return window.copied.at(-1)";

async fn open(page: &Page, link: &str) {
    page.without_motion().await;
    page.go(link).await;
    page.session.script(KEEP).await;
}

/// Clicks on the element of that key.
async fn choose(page: &Page, key: &str) {
    let click = format!(
        "document.querySelector('[data-say=\"{key}\"]').dispatchEvent(new MouseEvent('click', {{ bubbles: true }}))"
    );
    page.session.script(&click).await;
}

async fn fields(page: &Page) -> Vec<String> {
    page.texts(".fields li span:last-child").await
}

fn values(lab: &ClusterLab) -> Vec<String> {
    let opened = lab.opened().expect("something is open");
    opened
        .shown
        .fields
        .iter()
        .map(|field| field.value.clone())
        .collect()
}

#[tokio::test]
async fn a_record_opens_its_batch_and_the_download_is_what_the_terminal_dumps() {
    let page = Page::open().await;
    open(&page, "").await;
    page.click("Explore").await;
    let own = lab(&SCENES[0].name).after(Wish::Explore);
    choose(&page, "cell:1:5").await;
    let opened = own.after(Wish::Choose(0, "cell:1:5".to_owned()));
    assert_eq!(fields(&page).await, values(&opened));

    page.click("Download .log").await;
    let downloaded: Vec<u8> =
        serde_json::from_value(page.session.script(LAST_FILE).await).expect("a file's bytes");
    page.click("Copy this run as a script").await;
    let script = page.session.script(LAST_COPY).await;
    let folder = tempfile::tempdir().expect("a folder");
    let (path, dump) = (folder.path().join("run"), folder.path().join("dump"));
    std::fs::write(&path, script.as_str().expect("a script")).expect("write the script");
    let played = Command::new(binary())
        .arg("sim")
        .arg(&path)
        .arg("--dump-dir")
        .arg(&dump)
        .output()
        .expect("run highwater sim");
    assert!(
        played.status.success(),
        "{}",
        String::from_utf8_lossy(&played.stderr)
    );
    let log = Path::new("broker-1/orders-0").join(&opened.opened().expect("open").files[0].name);
    let dumped = std::fs::read(dump.join(log)).expect("the dumped log");
    assert!(!dumped.is_empty());
    assert_eq!(downloaded, dumped);

    page.session.press("\u{e00c}").await;
    assert_eq!(fields(&page).await, Vec::<String>::new(), "Escape closes");
    page.close().await;
}

#[tokio::test]
async fn a_message_names_its_request_and_opens_its_bytes_by_keyboard() {
    let page = Page::open().await;
    open(&page, "").await;
    let start = lab(&SCENES[0].name);
    let message = start.sides()[0].stage.messages[0].clone();
    assert!(message.say().contains("a Fetch request"), "{}", message.say());
    page.tab_into("#stage").await;
    let focused = "return document.activeElement.dataset.say";
    while page.session.script(focused).await != message.key() {
        // The stop for Tab is in the grid; the map comes before it.
        page.session.press("\u{e012}").await;
    }
    assert_eq!(page.texts(".pointed").await, [message.say()]);
    page.session.press(ENTER).await;
    let opened = start.after(Wish::Choose(0, message.key()));
    assert_eq!(fields(&page).await, values(&opened));
    assert!(values(&opened).contains(&"1: Fetch".to_owned()));
    page.close().await;
}

#[tokio::test]
async fn single_facts_are_gone_through_with_their_causes_and_their_code() {
    let page = Page::open().await;
    open(&page, "").await;
    let mut lab = lab(&SCENES[0].name);
    for _ in 0..3 {
        page.session.press(">").await;
        lab = lab.after(Wish::Event);
    }
    assert_eq!(shown(&page).await, said(&lab));
    page.session.press("<").await;
    lab = lab.after(Wish::EventBack);
    assert_eq!(shown(&page).await, said(&lab));

    page.click("Explore").await;
    let own = lab.after(Wish::Explore);
    let events = own.events_here(false);
    let texts: Vec<String> = events.facts.iter().map(|fact| fact.text.clone()).collect();
    assert_eq!(page.texts(".events .what").await, texts);
    assert_eq!(page.texts(".lanes text").await, events.lanes);
    // The last fact that follows from another one that is shown.
    let with_causes = |at: &usize| events.causes(events.facts[*at].at).len();
    let at = (0..events.facts.len()).max_by_key(with_causes).expect("a fact");
    let fact = &events.facts[at];
    let click = format!("document.querySelectorAll('.events li button')[{at}].click()");
    page.session.script(&click).await;
    let shown_causes = page.texts(".events li.cause .what").await;
    let causes = events.causes(fact.at);
    let expected = events.facts.iter().filter(|fact| causes.contains(&fact.at));
    assert_eq!(
        shown_causes,
        expected.map(|fact| fact.text.clone()).collect::<Vec<_>>()
    );
    let client = &page.session.client;
    let lit = client
        .wait()
        .for_element(fantoccini::Locator::Css(".code .lit"))
        .await;
    let lit = lit
        .expect("the line that decided it")
        .text()
        .await
        .expect("its text");
    assert!(!lit.trim().is_empty());

    page.click("Idle ones too").await;
    let all: Vec<String> = own
        .events_here(true)
        .facts
        .into_iter()
        .map(|fact| fact.text)
        .collect();
    assert_eq!(page.texts(".events .what").await, all);
    page.close().await;
}

/// The texts of a stage's grid.
fn said(lab: &ClusterLab) -> Vec<String> {
    let stage: &Stage = &lab.sides()[0].stage;
    let mut said = stage.describe();
    said.sort();
    said
}

async fn shown(page: &Page) -> Vec<String> {
    let mut shown = page.texts("#stage [data-say]").await;
    shown.sort();
    shown
}

#[tokio::test]
async fn state_and_invariants_are_those_of_the_run() {
    let page = Page::open().await;
    let scene = &SCENES[1].name;
    open(&page, &format!("scene={scene}")).await;
    let start = lab(scene);
    let broken = start.after(Wish::Jump(JumpTo::Broken));
    assert!(broken.invariants_here().iter().any(|held| held.broken.is_some()));
    page.go(&broken.link()).await;
    page.click("Explore").await;
    let own = broken.after(Wish::Explore);
    page.click("State").await;
    let state = own.state_here().expect("a state");
    assert_eq!(page.texts(".state td").await, state.replicas.concat());
    page.click("Invariants").await;
    let whys: Vec<String> = own
        .invariants_here()
        .into_iter()
        .filter_map(|held| held.broken)
        .collect();
    assert_eq!(page.texts(".broken-one .why").await, whys);
    assert_eq!(whys.len(), 1);
    page.close().await;
}

#[tokio::test]
async fn the_picture_is_copied_as_an_svg_that_a_browser_reads() {
    let page = Page::open().await;
    let of_replicas = |scene: &&SceneInfo| lab(&scene.name).picture() != Picture::Producer;
    for scene in SCENES.iter().filter(of_replicas) {
        open(&page, &format!("scene={}", scene.name)).await;
        let mut own = lab(&scene.name);
        for _ in 0..4 {
            page.session.press(PAGE_DOWN).await;
            own = own.after(Wish::NextMoment);
        }
        page.click("Explore").await;
        own = own.after(Wish::Explore);
        page.click("Copy the picture as SVG").await;
        let copied = page.session.script(LAST_COPY).await;
        assert_eq!(copied, own.svg());
        let read = "const read = new DOMParser().parseFromString(window.copied.at(-1), 'image/svg+xml');
            return [read.querySelector('parsererror') === null, read.documentElement.querySelectorAll('g > title').length > 10]";
        assert_eq!(page.session.script(read).await, serde_json::json!([true, true]));
    }
    page.close().await;
}

#[tokio::test]
async fn on_a_phone_the_facts_are_a_list_without_lanes() {
    let page = Page::open().await;
    page.session.resize(390, 844, false).await;
    open(&page, "").await;
    page.click("Explore").await;
    assert_eq!(page.texts(".lanes").await, Vec::<String>::new());
    assert_ne!(page.texts(".events .what").await, Vec::<String>::new());
    page.tab_into(".events").await;
    page.session.press(RIGHT).await;
    page.session.press(ENTER).await;
    assert_eq!(page.texts(".events [aria-pressed=true]").await.len(), 1);
    page.close().await;
}
