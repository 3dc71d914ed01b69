//! What would be seen wrong at some width or in some theme.

use highwater_lab::cluster::{ClusterLab, SCENES};

use crate::lab;
use crate::page::{FILES, PAGE_DOWN, Page};

/// Widths and heights of the screens that are looked at.
pub const SCREENS: [(u32, u32); 5] = [(1440, 860), (1024, 768), (768, 1024), (390, 844), (320, 640)];

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
    for (const selector of ['.sentence', '#step', '.main']) {
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
    page.go(FILES).await;
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
    for (width, height) in SCREENS {
        for dark in [false, true] {
            look_at_each_moment(&page, width, height, dark).await;
        }
    }
    page.close().await;
}

/// What would be seen wrong of a cluster: text that meets other text, leaves the window or is too small,
/// targets too small to hit, the sentence, the button or what the story points at out of sight.
const CLUSTER_LAYOUT: &str = r"
    const wrong = [];
    const name = element => `<${element.tagName} class=${element.getAttribute('class')}> ${element.textContent.slice(0, 40)}`;
    if (document.documentElement.scrollWidth > document.documentElement.clientWidth)
        wrong.push(`the page is ${document.documentElement.scrollWidth} px wide`);
    const page = document.querySelector('.page');
    const texts = [];
    for (const element of page.querySelectorAll('*')) {
        if (element.closest('.unseen, option, details:not([open]) > :not(summary)') || !element.getClientRects().length) continue;
        const style = getComputedStyle(element);
        const own = [...element.childNodes].filter(node => node.nodeType === 3 && node.data.trim());
        if (own.length && parseFloat(style.fontSize) < 11) wrong.push(`too small to read: ${name(element)}`);
        const box = element.getBoundingClientRect();
        if (element.matches('button, select, input') && (box.width < 24 || box.height < 24)) wrong.push(`too small to hit: ${name(element)}`);
        for (const node of own) {
            const range = document.createRange();
            range.selectNodeContents(node);
            for (const rect of range.getClientRects()) {
                // What is cut short by its own box is no text beyond it.
                if (style.overflowX === 'hidden') Object.assign(rect, { x: Math.max(rect.x, box.x), width: Math.min(rect.right, box.right) - Math.max(rect.x, box.x) });
                if (rect.left < -0.5 || rect.right > document.documentElement.clientWidth + 0.5) wrong.push(`leaves the window: ${name(element)}`);
                // Letters are lower than their line.
                const thin = rect.height * 0.22;
                texts.push({ element, left: rect.left, right: rect.right, top: rect.top + thin, bottom: rect.bottom - thin });
            }
        }
    }
    const foot = page.querySelector('footer');
    for (const [at, a] of texts.entries()) {
        for (const b of texts.slice(at + 1)) {
            if (a.element === b.element || foot.contains(a.element) !== foot.contains(b.element)) continue;
            const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
            const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
            if (across > 1 && down > 1) wrong.push(`${name(a.element)} meets ${name(b.element)}`);
        }
    }
    for (const selector of ['.sentence', '#step', '.main']) {
        const box = page.querySelector(selector).getBoundingClientRect();
        if (box.top < 0 || box.bottom > innerHeight + 0.5) wrong.push(`${selector} is out of sight`);
    }
    const focus = page.querySelector('.replica.focus .label, .producer .focus') ?? page.querySelector('.tree .focus');
    if (focus && focus.getBoundingClientRect().bottom > foot.getBoundingClientRect().top + 1) wrong.push('the focus is out of sight');
    if (page.querySelectorAll('.main').length > 1 && !page.querySelector('.choices')) wrong.push('more than one main button');
    if (document.querySelector('.sentence').textContent.split(/\s+/).length > 44) wrong.push('the sentence is too long');
    return wrong;
";

async fn look_at_each_clusters_moment(page: &Page, (width, height): (u32, u32), dark: bool) {
    page.session.resize(width, height, dark).await;
    for scene in SCENES {
        page.go(&format!("scene={}", scene.name)).await;
        let moments = scene_moments(&scene.name);
        for moment in 0..=moments {
            let wrong = page.session.script(CLUSTER_LAYOUT).await;
            let at = format!("{}, moment {moment} at {width} px, dark: {dark}", scene.name);
            assert_eq!(wrong, serde_json::json!([]), "{at}");
            page.session.press(PAGE_DOWN).await;
        }
    }
}

fn scene_moments(name: &str) -> usize {
    let lab = ClusterLab::new(name).expect("the scene can be played");
    lab.place().moments
}

#[tokio::test]
async fn no_text_of_a_cluster_meets_another_and_all_is_in_sight() {
    let page = Page::open().await;
    for screen in [(1440, 860), (390, 844), (320, 700)] {
        look_at_each_clusters_moment(&page, screen, screen.0 == 390).await;
    }
    page.close().await;
}

#[tokio::test]
#[ignore = "soak: every width and theme"]
async fn no_text_of_a_cluster_meets_another_at_any_width_in_any_theme() {
    let page = Page::open().await;
    for screen in SCREENS {
        for dark in [false, true] {
            look_at_each_clusters_moment(&page, screen, dark).await;
        }
    }
    page.close().await;
}
