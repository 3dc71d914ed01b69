//! What the page says when it cannot go on.

use fantoccini::Locator;
use highwater_lab::lab::{Lab, Wish};
use highwater_lab::link;

use crate::lab;
use crate::page::Page;

/// What stands in place of the scene: the reason, and the address of the link that leads back.
async fn told(page: &Page) -> (String, String) {
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
