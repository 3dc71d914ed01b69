//! A page with its broker and a browser that looks at it.

use fantoccini::Locator;
use highwater_lab::lab::Lab;
use highwater_lab::picture::Picture;
use highwater_tests::broker::TestBroker;
use highwater_tests::browser::{Driver, Session};

pub const TAB: &str = "\u{e004}";
pub const ENTER: &str = "\u{e007}";
pub const RIGHT: &str = "\u{e014}";
pub const PAGE_UP: &str = "\u{e00e}";
pub const PAGE_DOWN: &str = "\u{e00f}";
pub const DOWN: &str = "\u{e015}";

/// The link of the scene of a log's files.
pub const FILES: &str = "scene=log-grows";

/// A broker with its page, and a browser that has it open.
pub struct Page {
    pub session: Session,
    pub broker: TestBroker,
    _driver: Driver,
}

impl Page {
    pub async fn open() -> Self {
        let broker = TestBroker::start_with_page();
        let driver = Driver::start();
        let session = driver.open().await;
        session.resize(1440, 860, false).await;
        let page = Self {
            session,
            broker,
            _driver: driver,
        };
        page.go(FILES).await;
        page
    }

    /// Opens the page at a link, from the start.
    pub async fn go(&self, link: &str) {
        let client = &self.session.client;
        client.goto("about:blank").await.expect("leave the page");
        let address = format!("{}#{link}", self.broker.page_address());
        client.goto(&address).await.expect("open the page");
        self.is_drawn().await;
    }

    /// Every change at once, without flights, until the page gets another size or theme.
    pub async fn without_motion(&self) {
        self.session.media(&[("prefers-reduced-motion", "reduce")]).await;
    }

    /// Waits until the scene is there.
    pub async fn is_drawn(&self) {
        let drawn = self.session.client.wait().for_element(Locator::Css(".sentence"));
        drawn.await.expect("the page draws itself");
    }

    pub async fn texts(&self, selector: &str) -> Vec<String> {
        let script = format!(
            "return [...document.querySelectorAll('{selector}')]
                .map(element => element.getAttribute('aria-label') ?? element.textContent)"
        );
        let texts = self.session.script(&script).await;
        serde_json::from_value(texts).expect("a list of texts")
    }

    /// The page shows and says what the lab does.
    pub async fn shows(&self, lab: &Lab) {
        assert_eq!(self.texts(".sentence").await, [lab.sentence()]);
        assert_eq!(self.texts("#stage [data-say]").await, Picture::of(lab).labels());
    }

    pub async fn click(&self, text: &str) {
        let path = format!("//button[normalize-space()='{text}']");
        let button = self.session.client.find(Locator::XPath(&path)).await;
        let button = button.unwrap_or_else(|error| panic!("no button {text}: {error}"));
        // The foot lies over what is far down.
        let center = "arguments[0].scrollIntoView({ block: 'center' })";
        let argument = serde_json::to_value(&button).expect("an element");
        let scrolled = self.session.client.execute(center, vec![argument]).await;
        scrolled.unwrap_or_else(|error| panic!("scroll to {text}: {error}"));
        button
            .click()
            .await
            .unwrap_or_else(|error| panic!("click {text}: {error}"));
    }

    /// Goes on by Tab until the focus is in there.
    pub async fn tab_into(&self, selector: &str) {
        let outside = format!("return document.activeElement.closest('{selector}') === null");
        for _ in 0..50 {
            if self.session.script(&outside).await != true {
                return;
            }
            self.session.press(TAB).await;
        }
        panic!("no way to {selector} by Tab");
    }

    /// Ends the test: nothing was complained of.
    pub async fn close(self) {
        assert_eq!(self.session.complaints().await, Vec::<String>::new());
        self.session.client.close().await.expect("close the browser");
    }
}
