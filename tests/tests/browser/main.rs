//! The page that the binary serves, in a real browser, under its security policy.
//!
//! What the page should say is computed here by the same scene's code, natively; a test that passes
//! has compared the two, and found nothing on the browser's console.

mod access;
mod book;
mod cluster;
mod hosted;
mod layout;
mod opened;
mod page;
mod readme;
mod sheet;
mod trouble;

use fantoccini::Locator;
use highwater_lab::lab::{Lab, Wish};
use highwater_lab::link;
use highwater_lab::scene::Scene;
use highwater_tests::broker::TestBroker;
use highwater_tests::browser::Driver;

use page::{ENTER, Page, RIGHT};

fn lab() -> Lab {
    Scene::load()
        .and_then(Lab::new)
        .expect("the scene's story can be read")
}

fn act(lab: &Lab, action: &str) -> Lab {
    lab.after(Wish::Act(action.parse().expect("an action")))
}

#[tokio::test]
async fn the_page_loads_and_runs_the_core_under_its_security_policy() {
    let page = Page::open().await;
    page.shows(&lab()).await;
    assert_eq!(page.session.complaints().await, Vec::<String>::new());

    // The policy is on: a script from the page's own text is refused, and the refusal is noticed.
    let inline = "const s = document.createElement('script'); s.textContent = 'window.inline = 1'; \
                  document.body.append(s); return window.inline === undefined;";
    assert_eq!(page.session.script(inline).await, true, "an inline script ran");
    assert_ne!(page.session.complaints().await, Vec::<String>::new());
    page.close().await;
}

#[tokio::test]
async fn the_story_is_told_by_keyboard_alone_to_its_end_and_back() {
    let page = Page::open().await;
    let mut lab = lab();
    let mut moments = Vec::new();
    while lab.is_story() {
        page.shows(&lab).await;
        moments.push(lab.clone());
        if let Some(prediction) = lab.prediction() {
            // The answers are one stop for Tab; the arrows choose among them.
            page.tab_into(".choices").await;
            for _ in 0..prediction.accepted {
                page.session.press(RIGHT).await;
            }
            page.session.press(ENTER).await;
            lab = lab.after(Wish::Guess(prediction.accepted));
            assert_eq!(page.texts(".verdict").await, [lab.verdict().expect("a verdict")]);
        } else {
            page.session.press(".").await;
            lab = lab.after(Wish::Step);
        }
    }
    page.shows(&lab).await;
    page.session.press("u").await;
    for lab in moments.iter().rev() {
        page.shows(lab).await;
        page.session.press(",").await;
    }
    page.close().await;
}

#[tokio::test]
async fn an_offset_and_a_time_are_looked_up_in_three_presses() {
    let page = Page::open().await;
    for (field, value, action) in [("offset", "20", "find 20"), ("time", "3.015", "time 3015")] {
        let start = lab().after(Wish::GoTo(3));
        page.go(&link::write(&start.spot)).await;
        page.click("Explore").await;
        let mut lab = act(&start, action);
        let script = format!(
            "const input = document.getElementById('{field}'); input.value = '{value}'; input.form.requestSubmit();"
        );
        page.session.script(&script).await;
        page.shows(&lab).await;
        for _ in 0..3 {
            page.session.press(".").await;
            lab = lab.after(Wish::Step);
            page.shows(&lab).await;
        }
        assert!(
            lab.world()
                .is_some_and(|world| world.finding.as_ref().is_some_and(|f| f.shown == 3))
        );
    }
    page.close().await;
}

#[tokio::test]
async fn a_crash_is_recovered_from_in_free_play() {
    let page = Page::open().await;
    let mut lab = lab().after(Wish::GoTo(3));
    page.go(&link::write(&lab.spot)).await;
    page.click("Explore").await;
    for (button, action) in [
        ("Force to disk", "flush"),
        ("Append", "append 3 6 20 none"),
        ("Cut the power during a write", "tear"),
        ("Start", "start"),
        ("Append", "append 3 6 20 none"),
        ("Cut the power", "power"),
        ("Start", "start"),
        ("Stop cleanly", "stop"),
        ("Start", "start"),
    ] {
        page.click(button).await;
        lab = act(&lab, action);
        page.shows(&lab).await;
    }
    page.click("Undo").await;
    page.shows(&lab.after(Wish::Undo)).await;
    page.close().await;
}

#[tokio::test]
async fn a_link_opens_its_place_and_a_damaged_one_says_why() {
    let page = Page::open().await;
    let there = act(&lab().after(Wish::GoTo(3)), "roll");
    let link = link::write(&there.spot);
    page.go(&link).await;
    page.shows(&there).await;
    page.click("Copy link").await;
    let hash = page.session.script("return location.hash").await;
    assert_eq!(hash, format!("#{link}"));
    for damaged in [&link[..link.len() - 1], &link.replace("roll", "kill")] {
        page.go(damaged).await;
        page.shows(&lab()).await;
        let notice = page.texts(".notice").await;
        let why = lab()
            .after(Wish::Open(damaged.to_owned()))
            .notice
            .expect("a reason");
        assert_eq!(notice, [why]);
    }
    page.close().await;
}

#[tokio::test]
async fn a_batch_gives_its_bytes_and_its_files() {
    let page = Page::open().await;
    let lab = lab().after(Wish::GoTo(3));
    page.go(&link::write(&lab.spot)).await;
    // By keyboard: the first batch is the stage's stop for Tab, an arrow leads to the second.
    page.tab_into("#stage").await;
    page.session.press(RIGHT).await;
    page.session.press(ENTER).await;
    let names = page.texts(".fields b").await;
    assert_eq!(names[..3], ["baseOffset", "batchLength", "partitionLeaderEpoch"]);
    let batch = &lab.world().expect("a world").segments()[0].batches[1];
    let values = page.texts(".fields li:first-child span:last-child").await;
    assert_eq!(values, [batch.base.to_string()]);
    // A field in focus lights its bytes.
    page.session
        .script("document.querySelector('.fields li').focus()")
        .await;
    assert_eq!(page.texts(".byte.lit").await.len(), 8);
    // The download is the file.
    let caught = "window.sizes = []; const make = URL.createObjectURL;
                  URL.createObjectURL = blob => { window.sizes.push(blob.size); return make.call(URL, blob); };";
    page.session.script(caught).await;
    page.click("Download .log").await;
    let bytes = lab.world().expect("a world").segments()[0].log_bytes;
    assert_eq!(
        page.session.script("return window.sizes").await,
        serde_json::json!([bytes])
    );
    page.close().await;
}

#[tokio::test]
async fn the_book_opens_under_the_same_policy() {
    let broker = TestBroker::start_with_page();
    let driver = Driver::start();
    let session = driver.open().await;
    let page = &session.client;
    for chapter in ["", "architecture.html", "differences.html", "print.html"] {
        let address = format!("{}book/{chapter}", broker.page_address());
        page.goto(&address).await.expect("open the chapter");
        // The first is written by mdBook's inline script, the second by one from a file.
        for drawn in ["html.js", "#mdbook-sidebar a[href$='architecture.html']"] {
            page.wait()
                .for_element(Locator::Css(drawn))
                .await
                .unwrap_or_else(|error| panic!("{chapter}: {drawn}: {error}"));
        }
        assert_eq!(
            session.complaints().await,
            Vec::<String>::new(),
            "in /book/{chapter}"
        );
    }
    page.clone().close().await.expect("close the browser");
}
