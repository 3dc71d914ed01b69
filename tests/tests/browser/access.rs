//! Whether everybody can use the page: by keyboard, by ear, in grey, without motion.

use std::path::Path;

use highwater_lab::annotate::annotate;
use highwater_lab::cluster::{ClusterLab, SCENES};
use highwater_lab::lab::{Lab, Wish};
use highwater_lab::link;
use highwater_lab::steps;

use crate::lab;
use crate::layout::SCREENS;
use crate::page::{DOWN, ENTER, FILES, PAGE_DOWN, Page, RIGHT, TAB};

/// axe-core, as `cargo xtask test` fetched it.
pub fn axe() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../target/clients/axe/package/axe_playwright_python/axe.min.js");
    let why = "axe-core is not there: `cargo xtask test` fetches it";
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}: {why}", path.display()))
}

/// What axe-core finds wrong, by the rules of WCAG 2.2 AA and its own advice.
pub const VIOLATIONS: &str = r"
    const found = await axe.run(document, { preload: false, resultTypes: ['violations'] });
    return found.violations.flatMap(rule => rule.nodes.map(node =>
        `${rule.id}: ${node.html.slice(0, 160)}: ${node.failureSummary}`));
";

/// What cannot be told apart in grey: text against what is behind it, marks against the paper. axe-core
/// does not look into pictures.
const PALE: &str = r"
    const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
    const light = color => {
        canvas.fillStyle = color;
        canvas.fillRect(0, 0, 1, 1);
        const [r, g, b] = [...canvas.getImageData(0, 0, 1, 1).data].map(v => v / 255)
            .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const contrast = (a, b) => (Math.max(light(a), light(b)) + 0.05) / (Math.min(light(a), light(b)) + 0.05);
    const paper = getComputedStyle(document.body).backgroundColor;
    const pale = [];
    for (const mark of document.querySelectorAll('#stage svg g[data-say]')) {
        const box = getComputedStyle(mark.querySelector('rect'));
        const behind = box.fill === 'none' ? paper : box.fill;
        const text = contrast(getComputedStyle(mark.querySelector('text')).fill, behind);
        if (text < 4.5) pale.push(`text ${text.toFixed(1)}: ${mark.getAttribute('aria-label')}`);
        const edge = Math.max(contrast(box.stroke, paper), contrast(behind, paper));
        if (edge < 3) pale.push(`edge ${edge.toFixed(1)}: ${mark.getAttribute('aria-label')}`);
    }
    return pale;
";

/// Looks at the page as it is now.
async fn is_for_everybody(page: &Page, what: &str) {
    let none = serde_json::json!([]);
    assert_eq!(page.session.script(VIOLATIONS).await, none, "{what}");
    assert_eq!(page.session.script(PALE).await, none, "{what}");
}

/// Each moment, free play with its controls, opened bytes, the sheet of keys.
async fn each_moment_is_for_everybody(page: &Page, (width, height): (u32, u32), dark: bool) {
    page.session.resize(width, height, dark).await;
    page.go(FILES).await;
    page.session.script(&axe()).await;
    let at = |what: String| format!("{what} at {width} px, dark: {dark}");
    for moment in 0..lab().scene.moments() {
        is_for_everybody(page, &at(format!("moment {moment}"))).await;
        page.session.press(".").await;
    }
    is_for_everybody(page, &at("free play".to_owned())).await;
    page.session.script("document.querySelector('#stage [data-rove]').dispatchEvent(new MouseEvent('click', { bubbles: true }))").await;
    is_for_everybody(page, &at("bytes".to_owned())).await;
    page.session.press("?").await;
    is_for_everybody(page, &at("keys".to_owned())).await;
}

#[tokio::test]
async fn axe_finds_nothing_and_pictures_are_legible_in_grey() {
    let page = Page::open().await;
    each_moment_is_for_everybody(&page, (1440, 860), false).await;
    each_moment_is_for_everybody(&page, (390, 844), true).await;
    page.close().await;
}

#[tokio::test]
#[ignore = "soak: every width and theme"]
async fn axe_finds_nothing_at_any_width_in_any_theme() {
    let page = Page::open().await;
    for screen in SCREENS {
        for dark in [false, true] {
            each_moment_is_for_everybody(&page, screen, dark).await;
        }
    }
    page.close().await;
}

#[tokio::test]
async fn axe_finds_nothing_in_a_cluster() {
    let page = Page::open().await;
    for ((width, height), dark) in [((1440, 860), false), ((390, 844), true)] {
        page.session.resize(width, height, dark).await;
        // A colour that is still changing would be measured too soon.
        let theme = if dark { "dark" } else { "light" };
        let still = [
            ("prefers-color-scheme", theme),
            ("prefers-reduced-motion", "reduce"),
        ];
        page.session.media(&still).await;
        for scene in SCENES {
            page.go(&format!("scene={}", scene.name)).await;
            page.session.script(&axe()).await;
            let lab = ClusterLab::new(&scene.name).expect("the scene can be played");
            // The last press leads to free play.
            for moment in 0..=lab.place().moments {
                let found = page.session.script(VIOLATIONS).await;
                let at = format!("{}, moment {moment} at {width} px", scene.name);
                assert_eq!(found, serde_json::json!([]), "{at}");
                page.session.press(PAGE_DOWN).await;
            }
        }
    }
    page.close().await;
}

/// The focus is in sight, nothing covers it, and it is marked.
const FOCUS: &str = r"
    const element = document.activeElement, box = element.getBoundingClientRect();
    const foot = document.querySelector('footer'), wrong = [];
    const name = element.getAttribute('aria-label') ?? element.id ?? element.textContent;
    if (box.top < 0 || box.bottom > innerHeight) wrong.push(`out of sight: ${name}`);
    const cover = foot.getBoundingClientRect();
    if (!foot.contains(element) && box.bottom > cover.top && box.top < cover.bottom) wrong.push(`under the foot: ${name}`);
    const marked = [element, ...element.querySelectorAll('rect, .box')].some(part => {
        const style = getComputedStyle(part);
        return parseFloat(style.strokeWidth) >= 4 || (style.outlineStyle === 'solid' && parseFloat(style.outlineWidth) >= 3);
    });
    if (!marked) wrong.push(`not marked: ${name}`);
    return wrong;
";

#[tokio::test]
async fn tab_goes_once_to_each_group_and_the_focus_is_always_in_sight() {
    let page = Page::open().await;
    for (width, height) in [(1440, 860), (390, 844), (320, 640)] {
        page.session.resize(width, height, false).await;
        // A mark that is still growing would be measured too soon.
        page.session.media(&[("prefers-reduced-motion", "reduce")]).await;
        let own = lab().after(Wish::GoTo(3)).after(Wish::Explore);
        page.go(&link::write(&own.spot)).await;
        let mut groups = Vec::new();
        loop {
            page.session.press(TAB).await;
            if page
                .session
                .script("return document.activeElement === document.body")
                .await
                == true
            {
                break;
            }
            assert_eq!(
                page.session.script(FOCUS).await,
                serde_json::json!([]),
                "at {width} px"
            );
            let group = "const group = document.activeElement.closest('[data-group]');
                         return group && (group.id || group.getAttribute('aria-label'))";
            groups.push(page.session.script(group).await);
            assert!(groups.len() < 60, "Tab never leaves the page: {groups:?}");
        }
        for name in ["stage", "Page"] {
            let stops = groups.iter().filter(|group| **group == name).count();
            assert_eq!(stops, 1, "{name} at {width} px: {groups:?}");
        }
    }
    page.close().await;
}

/// The look-up with all its steps, in the story.
fn found() -> (Lab, Vec<steps::Cell>) {
    let found = |lab: &Lab| {
        let finding = lab.world().and_then(|world| world.finding.as_ref());
        finding.is_some_and(|finding| finding.shown == 3)
    };
    let mut lab = lab();
    while !found(&lab) {
        lab = lab.after(Wish::Step);
    }
    let world = lab.world().expect("a world");
    let finding = world.finding.as_ref().expect("a look-up");
    let rows = steps::views(finding, world.segments())
        .into_iter()
        .flat_map(|step| step.rows);
    let cells = rows.flat_map(|row| row.cells).collect();
    (lab, cells)
}

#[tokio::test]
async fn a_look_ups_cells_open_their_bytes_by_mouse_and_by_keyboard() {
    let page = Page::open().await;
    let (lab, cells) = found();
    let host = lab.world().expect("a world").host();
    let expected = |cell: &steps::Cell| {
        let shown = annotate(host, cell.bytes).expect("bytes");
        let values: Vec<String> = shown.fields.into_iter().map(|field| field.value).collect();
        (vec![format!("Bytes of {}", shown.file)], values)
    };
    page.go(&link::write(&lab.spot)).await;
    for (at, cell) in cells.iter().enumerate() {
        let click = format!("document.querySelectorAll('.cell')[{at}].click()");
        page.session.script(&click).await;
        let shown = (
            page.texts(".bytes").await,
            page.texts(".fields li span:last-child").await,
        );
        assert_eq!(shown, expected(cell), "{}", cell.label());
    }
    page.go(&link::write(&lab.spot)).await;
    page.tab_into("#stage").await;
    let focused = "return [...document.querySelectorAll('.cell')].indexOf(document.activeElement)";
    for key in [RIGHT, DOWN, DOWN, RIGHT] {
        page.session.press(key).await;
        let at = page
            .session
            .script(focused)
            .await
            .as_u64()
            .expect("a cell has the focus");
        page.session.press(ENTER).await;
        let shown = (
            page.texts(".bytes").await,
            page.texts(".fields li span:last-child").await,
        );
        assert_eq!(shown, expected(&cells[at as usize]), "after {key:?}");
    }
    let last = page
        .session
        .script(focused)
        .await
        .as_u64()
        .expect("a cell has the focus");
    let label = cells[last as usize].label();
    assert!(
        cells[last as usize].verdict.is_some(),
        "the arrows led down to the batches: {label}"
    );
    page.close().await;
}

#[tokio::test]
async fn who_wants_no_motion_gets_none_and_the_same_moments() {
    let page = Page::open().await;
    page.session.media(&[("prefers-reduced-motion", "reduce")]).await;
    let moving = "return [...document.querySelectorAll('*')].filter(element => {
        const style = getComputedStyle(element);
        return style.transitionDuration.split(',').some(time => parseFloat(time) > 0) || style.animationName !== 'none';
    }).map(element => element.outerHTML.slice(0, 80))";
    let mut lab = lab();
    while lab.is_story() {
        page.shows(&lab).await;
        assert_eq!(page.session.script(moving).await, serde_json::json!([]));
        page.session.press(".").await;
        lab = lab.after(Wish::Step);
    }
    page.close().await;
}

#[tokio::test]
async fn what_is_said_is_announced_and_the_timeline_tells_its_place() {
    let page = Page::open().await;
    let live = "return document.querySelector('.sentence').closest('[aria-live=polite]') !== null";
    assert_eq!(page.session.script(live).await, true);
    let place = "return document.querySelector('input[type=range]').getAttribute('aria-valuetext')";
    for moment in 1..=3 {
        let said = page.session.script(place).await;
        let said = said.as_str().unwrap_or_default();
        assert!(
            said.starts_with(&format!("moment {moment} of {}", lab().scene.moments())),
            "{said}"
        );
        page.session.press(".").await;
    }
    page.close().await;
}
