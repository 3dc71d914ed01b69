//! Scenes of a whole cluster: at each moment the page shows what the run's stage says, and where.

use std::collections::BTreeMap;

use highwater_core::stage::tree::{TreeNode, TreePicture, Watch};
use highwater_core::stage::{MarkKind, Stage};
use highwater_lab::cluster::{ClusterLab, SCENES, SideView, Wish};

use crate::page::{ENTER, PAGE_DOWN, PAGE_UP, Page, RIGHT};

fn lab(scene: &str) -> ClusterLab {
    ClusterLab::new(scene).expect("the scene can be played")
}

/// What the stage says, by element.
fn said(stage: &Stage) -> BTreeMap<String, String> {
    let elements = stage.elements().into_iter();
    elements.map(|element| (element.key, element.say)).collect()
}

/// What the page says, side by side: each element's key and text.
const SAID: &str = r"
    return [...document.querySelectorAll('#stage .side, #stage .map-and-grid')].map(side =>
        [...side.querySelectorAll('[data-say]')].map(element =>
            [element.dataset.say, element.getAttribute('aria-label') ?? element.textContent]));
";

/// Where cells and high watermarks are drawn: the left and right edge of each, by row from top to bottom.
const PLACES: &str = r"
    const side = document.querySelectorAll('#stage .grid-side')[arguments_side];
    return [...side.querySelectorAll('.replica')].map(row => {
        const edges = selector => Object.fromEntries([...row.querySelectorAll(selector)].map(element => {
            const box = element.getBoundingClientRect();
            return [element.dataset.say, [box.left, box.right]];
        }));
        return {
            broker: row.querySelector('.label').dataset.say,
            crown: row.querySelector('.crown') !== null,
            cells: edges('.record'),
            marks: edges('.mark[data-say]'),
        };
    });
";

/// In what the page differs from the lab.
async fn differences(page: &Page, lab: &ClusterLab) -> Vec<String> {
    let mut wrong = Vec::new();
    let sentence = page.texts(".sentence").await;
    if sentence != [lab.sentence()] {
        wrong.push(format!("it says {sentence:?}, not {:?}", lab.sentence()));
    }
    let shown = page.session.script(SAID).await;
    let shown: Vec<Vec<(String, String)>> = serde_json::from_value(shown).expect("lists of keys and texts");
    let sides = lab.sides();
    let narrow = shown.len() < sides.len();
    let sides: Vec<&SideView> = match narrow {
        // Only one side has room: the one that the story speaks of.
        true => vec![&sides[lab.speaks()]],
        false => sides.iter().collect(),
    };
    for (at, (side, shown)) in sides.iter().zip(&shown).enumerate() {
        let expected = said(&side.stage);
        if shown.len() != expected.len() {
            wrong.push(format!("{} elements, not {}", shown.len(), expected.len()));
        }
        let shown: BTreeMap<String, String> = shown.iter().cloned().collect();
        for (key, say) in &expected {
            if shown.get(key) != Some(say) {
                wrong.push(format!("{key} says {:?}, not {say:?}", shown.get(key)));
            }
        }
        wrong.extend(misplaced(page, at, &side.stage).await);
        if let Some(tree) = &side.stage.tree {
            wrong.extend(astray(page, at, tree).await);
        }
    }
    wrong
}

/// Rows in order, cells in their column, each high watermark at its border, the crown on the leader.
async fn misplaced(page: &Page, side: usize, stage: &Stage) -> Vec<String> {
    let rows = page
        .session
        .script(&PLACES.replace("arguments_side", &side.to_string()))
        .await;
    let rows = rows.as_array().cloned().unwrap_or_default();
    let mut wrong = Vec::new();
    let mut columns: BTreeMap<i64, f64> = BTreeMap::new();
    let near = |a: f64, b: f64| (a - b).abs() < 8.0;
    for (row, drawn) in stage.rows.iter().zip(&rows) {
        if drawn["broker"] != row.key() {
            wrong.push(format!("{} stands where {} should", drawn["broker"], row.key()));
        }
        if drawn["crown"] != row.is_crowned() {
            wrong.push(format!("the crown of {}", row.name));
        }
        let left = |kind: &str, key: &str| drawn[kind][key][0].as_f64().unwrap_or(f64::NAN);
        for cell in &row.cells {
            let at = left("cells", &cell.key());
            let column = *columns.entry(cell.offset).or_insert(at);
            // Records of one batch touch, so a cell may begin a little earlier than its column.
            if at.is_nan() || !near(at, column) {
                wrong.push(format!("{} is at {at}, its column at {column}", cell.key()));
            }
        }
        for mark in &row.marks {
            if matches!(mark.kind, MarkKind::Heard(_)) {
                continue;
            }
            let at = left("marks", &mark.key());
            let before = drawn["cells"][format!("cell:{}:{}", row.broker, mark.offset - 1)][1].as_f64();
            if before.is_some_and(|edge| !near(at, edge)) {
                wrong.push(format!("{} is at {at}, behind {before:?}", mark.key()));
            }
        }
    }
    let columns: Vec<f64> = columns.into_values().collect();
    if !columns.is_sorted() {
        wrong.push(format!("columns are not in the order of offsets: {columns:?}"));
    }
    wrong
}

/// Where the tree's elements are drawn: their middles, by key.
const MIDDLES: &str = r"
    const tree = document.querySelectorAll('#stage .grid-side')[arguments_side].querySelector('.tree');
    return Object.fromEntries([...tree.querySelectorAll('[data-say]')].map(element => {
        const box = element.getBoundingClientRect();
        return [element.dataset.say, (box.left + box.right) / 2];
    }));
";

/// Sessions in order, and below each what hangs on it and what its broker watches.
async fn astray(page: &Page, side: usize, tree: &TreePicture) -> Vec<String> {
    let middles = page
        .session
        .script(&MIDDLES.replace("arguments_side", &side.to_string()))
        .await;
    let middle = |key: &str| middles[key].as_f64().unwrap_or(f64::NAN);
    let columns: Vec<f64> = tree.columns.iter().map(|column| middle(&column.key())).collect();
    let mut wrong = Vec::new();
    if !columns.is_sorted() {
        wrong.push(format!("sessions are not in the order of brokers: {columns:?}"));
    }
    for (column, at) in tree.columns.iter().zip(columns) {
        let nodes = column.nodes.iter().map(TreeNode::key);
        for key in nodes.chain(column.watches.iter().map(Watch::key)) {
            if (middle(&key) - at).abs() > 2.0 {
                wrong.push(format!("{key} is at {}, its session at {at}", middle(&key)));
            }
        }
    }
    wrong
}

async fn shows(page: &Page, lab: &ClusterLab, what: &str) {
    assert_eq!(differences(page, lab).await, Vec::<String>::new(), "{what}");
}

#[tokio::test]
async fn each_moment_shows_what_its_stage_says_there_and_back() {
    let page = Page::open().await;
    for (width, height) in [(1440, 860), (390, 844)] {
        page.session.resize(width, height, false).await;
        page.without_motion().await;
        for scene in SCENES {
            page.go(&format!("scene={}", scene.name)).await;
            let mut lab = lab(&scene.name);
            let mut moments = Vec::new();
            while lab.is_story() {
                let at = format!("{} at step {}, {width} px", scene.name, lab.place().step);
                shows(&page, &lab, &at).await;
                moments.push(lab.clone());
                page.session.press(PAGE_DOWN).await;
                lab = lab.after(Wish::NextMoment);
            }
            assert!(
                (8..=20).contains(&moments.len()),
                "{}: {} moments",
                scene.name,
                moments.len()
            );
            page.session.press("u").await;
            for lab in moments.iter().rev() {
                shows(
                    &page,
                    lab,
                    &format!("{} back at step {}", scene.name, lab.place().step),
                )
                .await;
                page.session.press(PAGE_UP).await;
            }
        }
    }
    page.close().await;
}

#[tokio::test]
async fn steps_links_and_the_slider_lead_to_the_same_place() {
    let page = Page::open().await;
    page.without_motion().await;
    for scene in SCENES {
        page.go(&format!("scene={}", scene.name)).await;
        let start = lab(&scene.name);
        let mut lab = start.clone();
        for step in 0..start.place().last_step {
            page.session.press(".").await;
            lab = lab.after(Wish::Step);
            if step % 5 == 4 {
                shows(&page, &lab, &format!("{} by steps", scene.name)).await;
            }
        }
        let at = start.place().last_step / 2;
        let there = start.after(Wish::GoTo(at));
        let slide = format!(
            "const slider = document.querySelector('input[type=range]'); slider.value = {at};
             slider.dispatchEvent(new Event('input', {{ bubbles: true }}));"
        );
        page.session.script(&slide).await;
        shows(&page, &there, &format!("{} by the slider", scene.name)).await;
        page.go(&there.link()).await;
        shows(&page, &there, &format!("{} by a link", scene.name)).await;
    }
    page.close().await;
}

#[tokio::test]
async fn the_first_frame_is_one_scene_with_one_button_and_two_clicks_break_a_promise() {
    let page = Page::open().await;
    page.without_motion().await;
    page.go("").await;
    let mut lab = lab(&SCENES[0].name);
    shows(&page, &lab, "the first frame").await;
    assert_eq!(page.texts("button.main").await, [lab.button()]);
    assert_eq!(page.texts(".replica .label b").await.len(), 3, "three replicas");
    // The sentence is the largest text.
    let largest = "const size = element => parseFloat(getComputedStyle(element).fontSize);
        const sentence = size(document.querySelector('.sentence'));
        return [...document.querySelectorAll('.page *')].filter(element => size(element) > sentence)
            .map(element => element.outerHTML.slice(0, 80))";
    assert_eq!(page.session.script(largest).await, serde_json::json!([]));
    for click in 1..=2 {
        assert_eq!(
            page.texts(".promise.struck").await,
            Vec::<String>::new(),
            "before click {click}"
        );
        match lab.prediction() {
            Some(prediction) => {
                page.click(&prediction.choices[prediction.accepted].answer).await;
                lab = lab.after(Wish::Guess(prediction.accepted));
            }
            None => {
                page.click(&lab.button()).await;
                lab = lab.after(Wish::NextMoment);
            }
        }
        shows(&page, &lab, &format!("click {click}")).await;
    }
    assert_ne!(
        page.texts(".promise.struck").await,
        Vec::<String>::new(),
        "the promise is broken"
    );
    page.close().await;
}

#[tokio::test]
async fn predictions_are_answered_by_keyboard_and_judged() {
    let page = Page::open().await;
    page.without_motion().await;
    for scene in SCENES {
        page.go(&format!("scene={}", scene.name)).await;
        let mut lab = lab(&scene.name);
        let (mut asked, mut judged) = (0, 0);
        while lab.is_story() {
            if let Some(prediction) = lab.prediction() {
                asked += 1;
                page.tab_into(".choices").await;
                for _ in 0..prediction.accepted {
                    page.session.press(RIGHT).await;
                }
                page.session.press(ENTER).await;
                lab = lab.after(Wish::Guess(prediction.accepted));
            } else {
                page.session.press(PAGE_DOWN).await;
                lab = lab.after(Wish::NextMoment);
            }
            // It is said at the next moment of the side that asked.
            let verdict: Vec<String> = lab.verdict().into_iter().collect();
            judged += verdict.len();
            assert_eq!(page.texts(".verdict").await, verdict);
        }
        assert!(
            asked > 0 && judged > 0,
            "{}: {asked} asked, {judged} judged",
            scene.name
        );
    }
    page.close().await;
}

/// What a fault of the page would be, done to it from outside.
const MUTATIONS: [(&str, &str); 4] = [
    (
        "a high watermark is hidden",
        "document.querySelector('.mark.hw').remove()",
    ),
    (
        "two rows are swapped",
        "const rows = document.querySelectorAll('.replica'); rows[0].before(rows[1])",
    ),
    (
        "the crown is dropped",
        "document.querySelector('.replica .crown').remove()",
    ),
    (
        "an offset is shifted",
        "const cell = document.querySelector('.replica .c2.record'); cell.classList.replace('c2', 'c9')",
    ),
];

#[tokio::test]
async fn a_fault_of_the_picture_is_noticed() {
    let page = Page::open().await;
    page.without_motion().await;
    let lab = lab(&SCENES[0].name);
    for (what, mutation) in MUTATIONS {
        page.go("").await;
        shows(&page, &lab, "before").await;
        page.session.script(mutation).await;
        assert_ne!(differences(&page, &lab).await, Vec::<String>::new(), "{what}");
    }
    page.close().await;
}

/// The same for the picture of the tree, at the moment in which a controller is there.
const MUTATIONS_OF_THE_TREE: [(&str, &str); 4] = [
    (
        "a watch is dropped",
        "document.querySelector('.watch').remove()",
    ),
    (
        "another holds the office",
        "const office = document.querySelector('.znode.office');
         [...document.querySelectorAll('.twig:nth-child(2) .hang')].find(hang => !hang.contains(office)).prepend(office)",
    ),
    (
        "a node hangs on another session",
        "const [a, b] = document.querySelectorAll('.twig:nth-child(3) .znode'); a.after(b)",
    ),
    (
        "two sessions are swapped",
        "const heads = document.querySelectorAll('.heads [data-say]'); heads[0].before(heads[1])",
    ),
];

#[tokio::test]
async fn a_fault_of_the_trees_picture_is_noticed() {
    let page = Page::open().await;
    page.without_motion().await;
    let start = lab("who-leads");
    let lab = start.after(Wish::GoTo(start.place().moment_steps[2]));
    for (what, mutation) in MUTATIONS_OF_THE_TREE {
        page.go(&lab.link()).await;
        shows(&page, &lab, "before").await;
        page.session.script(mutation).await;
        assert_ne!(differences(&page, &lab).await, Vec::<String>::new(), "{what}");
    }
    page.close().await;
}

/// A press, and if messages fly then, another that ends it.
const HASTE: &str = r"
    const press = () => document.body.dispatchEvent(new KeyboardEvent('keydown', { key: '.', bubbles: true, cancelable: true }));
    const drawn = () => new Promise(done => setTimeout(done, 0));
    press();
    await drawn();
    if (document.querySelector('.map.flying')) press();
    await drawn();
";

#[tokio::test]
async fn a_press_while_messages_fly_finishes_the_step() {
    let page = Page::open().await;
    page.go("").await;
    let mut lab = lab(&SCENES[0].name);
    for _ in 0..6 {
        page.session.script(HASTE).await;
        lab = lab.after(Wish::Step);
    }
    page.session.press(",").await;
    shows(&page, &lab.after(Wish::Back), "after hasty presses").await;
    page.close().await;
}

#[tokio::test]
async fn a_fault_of_ones_own_is_played_and_undone() {
    let page = Page::open().await;
    page.without_motion().await;
    page.go("").await;
    let story = lab(&SCENES[0].name);
    page.click("Explore").await;
    let mut own = story.after(Wish::Explore);
    shows(&page, &own, "on one's own").await;
    let offer = own
        .offers()
        .into_iter()
        .find(|offer| offer.words == "crash 2")
        .expect("an offer");
    let choose = format!(
        "const select = document.querySelector('select[aria-label=\"What to do\"]'); select.value = {:?};
         select.dispatchEvent(new Event('change', {{ bubbles: true }}));",
        offer.label
    );
    page.session.script(&choose).await;
    page.click("Do it").await;
    own = own.after(Wish::Act(offer.words));
    shows(&page, &own, "after the crash").await;
    for step in 0..5 {
        page.session.press(".").await;
        own = own.after(Wish::Step);
        shows(&page, &own, &format!("step {step} after the crash")).await;
    }
    page.click("Undo").await;
    shows(&page, &own.after(Wish::Undo), "undone").await;
    page.close().await;
}
