//! The page that the binary serves, in a real browser.

use fantoccini::Locator;
use highwater_tests::broker::TestBroker;
use highwater_tests::browser::Driver;

#[tokio::test]
async fn the_page_loads_and_runs_the_core_under_its_security_policy() {
    let broker = TestBroker::start_with_page();
    let driver = Driver::start();
    let session = driver.open().await;
    let page = &session.client;
    page.goto(&broker.page_address()).await.expect("open the page");
    page.wait()
        .for_element(Locator::Css("main"))
        .await
        .expect("the page draws itself");
    assert_eq!(session.complaints().await, Vec::<String>::new());

    // The policy is on: a script from the page's own text is refused, and the refusal is noticed.
    let inline = "const s = document.createElement('script'); s.textContent = 'window.inline = 1'; \
                  document.body.append(s); return window.inline === undefined;";
    let refused = page.execute(inline, Vec::new()).await.expect("run a script");
    assert_eq!(refused, true, "an inline script ran");
    assert_ne!(session.complaints().await, Vec::<String>::new());
    page.clone().close().await.expect("close the browser");
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
