//! What the page says when it cannot go on.

use fantoccini::Locator;
use highwater_lab::cluster::{ClusterLab, SCENES};
use highwater_lab::lab::{Lab, Wish};
use highwater_lab::link;
use serde_json::{Value, json};

use crate::lab;
use crate::page::Page;

/// What stands in place of the scene: the reason, and the address of the link that leads back.
pub async fn told(page: &Page) -> (String, String) {
    let client = &page.session.client;
    let message = client
        .wait()
        .for_element(Locator::Css("[data-scene] > .broken[role=alert]"));
    message.await.expect("a message in place of the scene");
    let why = page.texts(".broken .why").await;
    let link = page
        .session
        .script("return document.querySelector('.broken a').hash")
        .await;
    assert_eq!(
        page.texts(".sentence").await,
        Vec::<String>::new(),
        "the scene is gone"
    );
    (why[0].clone(), link.as_str().unwrap_or_default().to_owned())
}

/// The browser refuses to make an element of a picture, which no code of the page expects.
const REFUSE: &str = "document.createElementNS = () => { throw new Error('refused by the test'); };";

/// Somewhere in the story, with the browser about to refuse.
async fn before_a_panic(page: &Page) -> Lab {
    let lab = lab().after(Wish::GoTo(1));
    page.go(&link::write(&lab.spot)).await;
    page.session.script(REFUSE).await;
    lab
}

#[tokio::test]
async fn a_panic_says_so_and_gives_the_link_and_a_way_to_begin_again() {
    let page = Page::open().await;
    let next = before_a_panic(&page).await.after(Wish::Step);
    page.session.press(".").await;
    let (why, back) = told(&page).await;
    assert!(
        why.contains("panicked") && why.contains("refused by the test"),
        "{why}"
    );
    assert_eq!(back, format!("#{}", link::write(&next.spot)));
    // Keys that the dead page still hears change nothing.
    page.session.press(".").await;
    assert_eq!(told(&page).await.0, why);
    // The link leads to the moment that could not be drawn.
    page.session
        .client
        .find(Locator::LinkText("This link"))
        .await
        .expect("a link")
        .click()
        .await
        .expect("click");
    page.is_drawn().await;
    page.shows(&next).await;

    before_a_panic(&page).await;
    page.session.press(".").await;
    told(&page).await;
    page.click("Load the page again").await;
    page.is_drawn().await;
    page.shows(&lab()).await;
    // The console has the panics; the pages after them have nothing to tell.
    page.session.complaints().await;
    page.session.press(".").await;
    page.close().await;
}

#[tokio::test]
async fn a_page_that_cannot_load_its_module_says_so() {
    let page = Page::open().await;
    page.session.block("*.wasm").await;
    page.session.script("location.reload()").await;
    let (why, _) = told(&page).await;
    assert!(why.starts_with("It could not be started: "), "{why}");
    page.session.block("").await;
    page.click("Load the page again").await;
    page.is_drawn().await;
    page.shows(&lab()).await;
    page.session.complaints().await;
    page.session.press(".").await;
    page.close().await;
}

/// Another scene in the page, put there before the lab starts.
const SECOND_SCENE: &str = "
    document.addEventListener('readystatechange', () => {
        if (document.readyState !== 'interactive') return;
        const second = document.createElement('div');
        second.dataset.scene = 'log-grows';
        second.dataset.link = '';
        document.body.append(second);
    });
";

#[tokio::test]
async fn a_panic_is_told_in_the_place_of_each_scene() {
    let page = Page::open().await;
    page.session.before_each_page(SECOND_SCENE).await;
    page.go("").await;
    assert_eq!(
        page.texts("[data-scene] .sentence").await.len(),
        2,
        "two scenes live"
    );
    page.session.script(REFUSE).await;
    page.session.press(".").await;
    told(&page).await;
    let why = page.texts("[data-scene] > .broken .why").await;
    assert_eq!(why.len(), 2, "each scene says so: {why:?}");
    assert_eq!(why[0], why[1]);
    assert!(why[0].contains("refused by the test"), "{}", why[0]);
    page.session.complaints().await;
    page.session
        .client
        .clone()
        .close()
        .await
        .expect("close the browser");
}

/// Keeps the module's memory, to be looked at.
const KEEP_MEMORY: &str = "
    const original = WebAssembly.instantiateStreaming;
    WebAssembly.instantiateStreaming = async (...given) => {
        const made = await original.apply(WebAssembly, given);
        window.moduleMemory = made.instance.exports.memory;
        return made;
    };
";
const OPENINGS: usize = 200;
/// So many fill whatever is kept once and for all.
const WARM_OPENINGS: usize = 50;
/// What may differ between two places of the same page, in bytes of memory and in the browser's objects.
const LEEWAY_BYTES: u64 = 1 << 20;
const LEEWAY: u64 = 200;

/// Bytes of the module and of scripts, elements and listeners, with waste collected.
async fn kept(page: &Page) -> [u64; 3] {
    let session = &page.session;
    session.devtools("HeapProfiler.collectGarbage", json!({})).await;
    let heap = session.devtools("Runtime.getHeapUsage", json!({})).await;
    let counters = session.devtools("Memory.getDOMCounters", json!({})).await;
    let module = session
        .script("return window.moduleMemory.buffer.byteLength")
        .await;
    let number = |value: &Value| value.as_f64().expect("a number") as u64;
    let bytes = number(&heap["usedSize"]) + number(&module);
    [
        bytes,
        number(&counters["nodes"]),
        number(&counters["jsEventListeners"]),
    ]
}

#[tokio::test]
#[ignore = "soak: two hundred openings"]
async fn openings_of_scenes_leave_nothing_behind() {
    let page = Page::open().await;
    page.session.before_each_page(KEEP_MEMORY).await;
    page.go("").await;
    let mut before = [0; 3];
    for opening in 0..=OPENINGS {
        let scene = &SCENES[opening % SCENES.len()];
        let lab = ClusterLab::new(&scene.name).expect("the scene can be played");
        let hash = format!("location.hash = 'scene={}'", scene.name);
        page.session.script(&hash).await;
        assert_eq!(
            page.texts(".sentence").await,
            [lab.sentence()],
            "opening {opening}"
        );
        if opening == WARM_OPENINGS {
            before = kept(&page).await;
        }
    }
    let after = kept(&page).await;
    println!("report: {OPENINGS} openings: bytes, nodes, listeners {before:?} and {after:?}");
    for (before, after, leeway) in [
        (before[0], after[0], LEEWAY_BYTES),
        (before[1], after[1], LEEWAY),
        (before[2], after[2], LEEWAY),
    ] {
        assert!(after <= before + leeway, "{before} has grown to {after}");
    }
    page.close().await;
}
