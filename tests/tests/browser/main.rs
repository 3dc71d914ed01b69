//! The page that the binary serves, in a real browser, under its security policy.
//!
//! What the page should say is computed here by the same scene's code, natively; a test that passes
//! has compared the two, and found nothing on the browser's console.

use fantoccini::Locator;
use highwater_lab::lab::{Lab, Wish};
use highwater_lab::link;
use highwater_lab::picture::Picture;
use highwater_tests::broker::TestBroker;
use highwater_tests::browser::{Driver, Session};

const TAB: &str = "\u{e004}";
const ENTER: &str = "\u{e007}";

/// A broker with its page, and a browser that has it open.
struct Page {
    session: Session,
    broker: TestBroker,
    _driver: Driver,
}

impl Page {
    async fn open() -> Self {
        let broker = TestBroker::start_with_page();
        let driver = Driver::start();
        let session = driver.open().await;
        session.resize(1440, 860, false).await;
        let page = Self {
            session,
            broker,
            _driver: driver,
        };
        page.go("").await;
        page
    }

    /// Opens the page at a link, from the start.
    async fn go(&self, link: &str) {
        let client = &self.session.client;
        client.goto("about:blank").await.expect("leave the page");
        let address = format!("{}#{link}", self.broker.page_address());
        client.goto(&address).await.expect("open the page");
        let drawn = client.wait().for_element(Locator::Css("#sentence"));
        drawn.await.expect("the page draws itself");
    }

    async fn texts(&self, selector: &str) -> Vec<String> {
        let script = format!(
            "return [...document.querySelectorAll('{selector}')]
                .map(element => element.getAttribute('aria-label') ?? element.textContent)"
        );
        let texts = self.session.script(&script).await;
        serde_json::from_value(texts).expect("a list of texts")
    }

    /// The page shows and says what the lab does.
    async fn shows(&self, lab: &Lab) {
        assert_eq!(self.texts("#sentence").await, [lab.sentence()]);
        assert_eq!(self.texts("#stage [data-say]").await, Picture::of(lab).labels());
    }

    async fn click(&self, text: &str) {
        let path = format!("//button[normalize-space()='{text}']");
        let button = self.session.client.find(Locator::XPath(&path)).await;
        let button = button.unwrap_or_else(|error| panic!("no button {text}: {error}"));
        button
            .click()
            .await
            .unwrap_or_else(|error| panic!("click {text}: {error}"));
    }

    /// Ends the test: nothing was complained of.
    async fn close(self) {
        assert_eq!(self.session.complaints().await, Vec::<String>::new());
        self.session.client.close().await.expect("close the browser");
    }
}

fn lab() -> Lab {
    Lab::new().expect("the scene's story can be read")
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
            while page
                .session
                .script("return document.activeElement.closest('.choices') === null")
                .await
                == true
            {
                page.session.press(TAB).await;
            }
            for _ in 0..prediction.accepted {
                page.session.press("\u{e014}").await;
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
    for damaged in [&link[..link.len() - 1], &link.replace("roll", "kill"), "nonsense"] {
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
    while page
        .session
        .script("return document.activeElement.closest('#stage') === null")
        .await
        == true
    {
        page.session.press(TAB).await;
    }
    page.session.press("\u{e014}").await;
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

/// Everything that would be seen wrong: text that leaves its box or is too small, targets too small
/// to hit, batches out of offset order, the sentence or Step out of sight.
const LAYOUT: &str = r"
    const wrong = [];
    const say = (element, why) => wrong.push(`${why}: <${element.tagName} class=${element.getAttribute('class')}> ${element.textContent.slice(0, 60)}`);
    if (document.documentElement.scrollWidth > innerWidth) wrong.push(`the page is ${document.documentElement.scrollWidth} px wide`);
    for (const element of document.querySelectorAll('body *')) {
        if (!element.getClientRects().length || element.closest('svg')) continue;
        const style = getComputedStyle(element);
        if (style.display !== 'inline' && style.overflowY === 'visible' && element.scrollWidth > element.clientWidth + 1) say(element, 'its content leaves it');
        const has_text = [...element.childNodes].some(node => node.nodeType === 3 && node.data.trim());
        if (has_text && parseFloat(style.fontSize) < 11) say(element, 'too small to read');
        const box = element.getBoundingClientRect();
        if (element.matches('button, select, input, li[tabindex]') && (box.width < 24 || box.height < 24)) say(element, 'too small to hit');
    }
    for (const text of document.querySelectorAll('svg [data-say] text')) {
        const inner = text.getBoundingClientRect(), outer = text.parentNode.querySelector('rect').getBoundingClientRect();
        if (text.textContent && (inner.left < outer.left - 0.5 || inner.right > outer.right + 0.5)) say(text, 'leaves its box');
    }
    for (const svg of document.querySelectorAll('#stage svg')) {
        let before = null;
        for (const batch of svg.querySelectorAll('.batch')) {
            const box = batch.querySelector('rect').getBoundingClientRect();
            if (box.width < 23 || box.height < 23) say(batch, 'too small to hit');
            if (before && !(box.top > before.top + 1 || box.left >= before.right - 0.5)) say(batch, 'stands before the batch before it');
            before = box;
        }
    }
    for (const selector of ['#sentence', '#step', '.main']) {
        const box = document.querySelector(selector).getBoundingClientRect();
        if (box.top < 0 || box.bottom > innerHeight) wrong.push(`${selector} is out of sight`);
    }
    const focus = document.querySelector('#stage .focus');
    const foot = document.querySelector('footer').getBoundingClientRect().top;
    if (focus && focus.getBoundingClientRect().top > foot - 24) wrong.push('the focus is out of sight');
    return wrong;
";

async fn look_at_each_moment(page: &Page, width: u32, height: u32, dark: bool) {
    page.session.resize(width, height, dark).await;
    page.go("").await;
    for moment in 0..lab().scene.moments() {
        let wrong = page.session.script(LAYOUT).await;
        assert_eq!(wrong, serde_json::json!([]), "moment {moment} at {width} px");
        page.session.press(".").await;
    }
    let wrong = page.session.script(LAYOUT).await;
    assert_eq!(wrong, serde_json::json!([]), "free play at {width} px");
}

#[tokio::test]
async fn nothing_overflows_and_batches_stand_in_offset_order() {
    let page = Page::open().await;
    for (width, height) in [(1440, 860), (390, 844)] {
        look_at_each_moment(&page, width, height, false).await;
    }
    page.close().await;
}

#[tokio::test]
#[ignore = "soak: every width and theme"]
async fn nothing_overflows_at_any_width_in_any_theme() {
    let page = Page::open().await;
    for (width, height) in [(1440, 860), (1024, 768), (768, 1024), (390, 844), (320, 640)] {
        for dark in [false, true] {
            look_at_each_moment(&page, width, height, dark).await;
        }
    }
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
