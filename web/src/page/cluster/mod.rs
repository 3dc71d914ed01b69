//! A scene whose world is a cluster: the map and the log grid, or two grids side by side.
//!
//! Everything shown is of a run of the core, played by [`highwater_lab::cluster`]; here it is only drawn.
//!
//! Reading order: [`side`] one run; [`grid`] the log grid; [`map`] the map, [`places`] where things stand on it, [`flight`]
//! what flies; [`tree`] what hangs on sessions; [`producer`] the other picture, [`tune`] what can be set
//! otherwise in it; [`items`] what both are made of; [`play`] time on the screen; [`free`] what the reader can
//! do alone, [`panels`] what lies below the picture then, [`code`] what decided a fact; [`figure`] the same in
//! a page of the book.

mod code;
pub mod figure;
mod flight;
mod free;
mod grid;
#[cfg(not(target_arch = "wasm32"))]
mod group;
mod items;
mod map;
mod panels;
mod places;
mod play;
mod producer;
mod side;
mod tree;
mod tune;

use std::rc::Rc;

use highwater_lab::cluster::{ClusterLab, Picture, SideView, Wish};
use wasm_bindgen::JsCast;
use web_sys::Element;
use yew::prelude::*;

use self::flight::Flown;
use self::side::Side;
use super::browser;
use super::bytes::Bytes;
use super::chrome::{self, Shown, keys};
use super::kept::{Kept, Playable, refusal};
use super::scenes::SceneProps;

impl Playable for ClusterLab {
    type Wish = Wish;

    fn after(&self, wish: Wish) -> Self {
        ClusterLab::after(self, wish)
    }

    fn open(link: String) -> Wish {
        Wish::Open(link)
    }
}

/// What yew keeps.
pub type State = Kept<ClusterLab>;

/// Where wishes go.
pub type Wishes = UseReducerDispatcher<State>;

/// From this width on there is a map beside the grid, and two grids stand side by side.
const WIDE_PX: u32 = 900;
/// What the picture's signs mean.
const LEGEND: &str = "HW: high watermark, what is below it this replica knows to be safe (solid border). \
    LEO: the end of its log. Small number and colour: leader epoch. ✓: a producer was told.";
const TREES_LEGEND: &str = "A dashed node hangs on its broker's session and goes with it. An eye is a watch: its broker is told once, \
    of the next change. Small number and colour: leader epoch.";
const PRODUCERS_LEGEND: &str =
    "A box is a batch, a piece of it a record. It goes out when it is full or has waited for linger.ms.";

#[derive(Clone, PartialEq, Properties)]
pub struct Props {
    /// The scene's name.
    pub name: &'static str,
    pub scene: SceneProps,
}

#[component]
pub fn Scene(props: &Props) -> Html {
    let state = use_reducer(|| Kept::first(ClusterLab::new(props.name), &props.scene.link));
    let width = chrome::use_width();
    let passing = chrome::use_passing();
    let turned = use_state(|| None::<usize>);
    let (send, flown) = play::use_play(&state, &passing);
    keys::use_keys(send.clone(), passing.clone());
    free::use_search(&state);
    let looking = panels::use_looking();
    use_shown_focus(&state, &props.scene.root);
    let lab = match &state.0 {
        Ok(lab) => lab,
        Err(why) => return refusal(why),
    };
    let shown = shown(lab);
    browser::remember_link(&props.scene.root, &shown.link);
    let stage_width = width.saturating_sub(chrome::padding(width));
    let layout = if width >= WIDE_PX {
        Layout::Wide
    } else {
        Layout::Narrow
    };
    let picture = picture(lab, stage_width, layout, flown, &turned);
    let wishes = state.dispatcher();
    let legend = lab.is_story().then(|| match lab.picture() {
        Picture::Replicas => LEGEND,
        Picture::Tree => TREES_LEGEND,
        Picture::Producer => PRODUCERS_LEGEND,
    });
    let picture = html! {
        <>
            <Pointed {legend} choose={chooser(&wishes)}>{ picture }</Pointed>
            { bytes(lab, &wishes, width) }
            if !lab.is_story() {
                { tune::view(lab, &wishes) }
                { free::view(lab, &wishes) }
                { panels::view(lab, &looking, &wishes, width) }
            }
        </>
    };
    chrome::view(&shown, &send, &passing, classes!("cluster"), picture)
}

/// Where the map is, and a second grid.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Layout {
    /// Beside the grid.
    Wide,
    /// The map above the grid.
    Column,
    /// There is no room for a map, nor for two grids.
    Narrow,
}

/// Map and grid, or two grids side by side; where that is too wide, one of them.
fn picture(
    lab: &ClusterLab,
    stage_width: u32,
    layout: Layout,
    flown: Option<Flown>,
    turned: &UseStateHandle<Option<usize>>,
) -> Option<Html> {
    let sides = lab.sides();
    let side = |at: usize, side_width: u32| {
        sides.get(at).map(|side| Side {
            lab,
            at,
            side,
            has_heading: true,
            stop: at == 0,
            width: side_width,
        })
    };
    let half = stage_width.saturating_sub(side::GAP_PX) / 2;
    match sides.len() {
        1 => side(0, stage_width).map(|side| match layout {
            Layout::Wide => side.with_map(flown),
            Layout::Column => side.below_map(flown),
            Layout::Narrow => side.alone(),
        }),
        _ if layout == Layout::Wide => Some(html! {
            <div class="sides">
                { for (0..sides.len()).filter_map(|at| Some(side(at, half)?.alone())) }
            </div>
        }),
        _ => {
            let at = turned.unwrap_or(lab.speaks()).min(sides.len().saturating_sub(1));
            let shown = side(at, stage_width).map(|side| Side {
                has_heading: false,
                stop: true,
                ..side
            });
            Some(html! { <>{ switch(&sides, at, turned) }{ for shown.map(|side| side.alone()) }</> })
        }
    }
}

/// Opens what is behind an element.
fn chooser(wishes: &Wishes) -> Callback<(usize, String)> {
    let wishes = wishes.clone();
    Callback::from(move |(side, key)| wishes.dispatch(Wish::Choose(side, key)))
}

/// On a small screen what the story points at may lie below the foot, and bytes do anywhere.
#[hook]
fn use_shown_focus(state: &UseReducerHandle<State>, root: &Element) {
    let lab = state.0.as_ref().ok();
    let place = lab.map(|lab| (lab.is_story(), lab.place().step, lab.opened().is_some()));
    let root = root.clone();
    use_effect_with(place, move |place| match place {
        Some((_, _, true)) => browser::show(&root, ".bytes h2"),
        Some((true, ..)) => {
            gloo::utils::window().scroll_to_with_x_and_y(0.0, 0.0);
            browser::show(&root, ".tree .focus");
            browser::show(&root, ".replica.focus .label, .producer .focus");
        }
        _ => {}
    });
}

/// What lies open.
fn bytes(lab: &ClusterLab, wishes: &Wishes, width: u32) -> Option<Html> {
    let opened = lab.opened()?;
    let close = {
        let wishes = wishes.clone();
        Callback::from(move |_: MouseEvent| wishes.dispatch(Wish::Close))
    };
    let (shown, files) = (Rc::new(opened.shown.clone()), Rc::new(opened.files.clone()));
    Some(html! { <Bytes {shown} {files} {close} narrow={width < 700} /> })
}

/// Which of two sides is shown, where only one has room: the one that the story speaks of, or the one
/// that the reader turned to.
fn switch(sides: &[SideView], at: usize, turned: &UseStateHandle<Option<usize>>) -> Html {
    let button = |(nth, side): (usize, &SideView)| {
        let choose = {
            let turned = turned.setter();
            Callback::from(move |_: MouseEvent| turned.set(Some(nth)))
        };
        let name = side.heading.split(':').next().unwrap_or(&side.heading);
        html! {
            <button data-rove="" aria-pressed={(nth == at).to_string()}
                tabindex={if nth == at { "0" } else { "-1" }} onclick={choose}>{ name }</button>
        }
    };
    html! {
        <div class="switch" role="group" aria-label="Which run" data-group="">
            { for sides.iter().enumerate().map(button) }
        </div>
    }
}

fn shown(lab: &ClusterLab) -> Shown {
    let place = lab.place();
    let (step, is_story) = (place.step, lab.is_story());
    let prediction = lab.prediction().filter(|_| place.moment_steps.contains(&step));
    Shown {
        title: lab.info().title.to_string(),
        question: lab.info().question.to_string(),
        place: match place.moment {
            Some(moment) => format!("moment {} of {}", moment + 1, place.moments),
            None => format!("on your own, step {step} of {}", place.last_step),
        },
        opening: is_story && step == 0,
        is_story,
        link: lab.link(),
        notice: lab.notice.clone(),
        verdict: lab.verdict(),
        sentence: lab.sentence(),
        can_play: is_story && prediction.is_none(),
        prediction,
        guessed: lab.guess(),
        button: lab.button(),
        at: step,
        last: place.last_step,
        dots: place.moment_steps,
        // A step beyond the end goes on alone.
        can_step: true,
        can_undo: lab.can_undo(),
        summary: Some(summary(lab, step)),
    }
}

/// What has just changed, when it is no moment; else what became of the promises.
fn summary(lab: &ClusterLab, step: usize) -> String {
    let said = match lab.change() {
        Some(change) => change,
        None => lab.summary(),
    };
    match lab.quiet(step) {
        Some(quiet) => format!("{quiet} · {said}"),
        None => said,
    }
}

#[derive(Clone, PartialEq, Properties)]
struct PointedProps {
    children: Html,
    /// Says what the signs mean while nothing is pointed at.
    legend: Option<&'static str>,
    /// Opens what is behind an element of a side, by its key.
    choose: Callback<(usize, String)>,
    /// What the stage is called by the page's style and tests; a figure is one of several.
    #[prop_or(Some("stage"))]
    id: Option<&'static str>,
}

/// The stage as one group; below it, in words, what the pointer or the focus is on.
#[component]
fn Pointed(props: &PointedProps) -> Html {
    let said = use_state(|| None::<String>);
    let legend = || props.legend.map(str::to_owned);
    let point = |said: &UseStateHandle<Option<String>>, target: Option<web_sys::EventTarget>| {
        let element = target.and_then(|target| target.dyn_into::<Element>().ok());
        let marked = element.and_then(|element| element.closest("[data-say]").ok().flatten());
        let text = marked.and_then(|element| element.get_attribute("aria-label"));
        if **said != text {
            said.set(text);
        }
    };
    let over = {
        let said = said.clone();
        Callback::from(move |event: MouseEvent| point(&said, event.target()))
    };
    let focus = {
        let said = said.clone();
        Callback::from(move |event: FocusEvent| point(&said, event.target()))
    };
    let leave = {
        let said = said.setter();
        Callback::from(move |_: MouseEvent| said.set(None))
    };
    let click = {
        let choose = props.choose.clone();
        Callback::from(move |event: MouseEvent| {
            choose_at(event.target(), &choose);
        })
    };
    let press = {
        let choose = props.choose.clone();
        Callback::from(move |event: KeyboardEvent| {
            if browser::is_press(&event) && choose_at(event.target(), &choose) {
                browser::handled(&event);
            }
        })
    };
    html! {
        <>
            <div id={props.id} class="stage" role="group" aria-label="The cluster's logs" data-group=""
                onmouseover={over} onfocusin={focus} onmouseleave={leave} onclick={click} onkeydown={press}>
                { props.children.clone() }
            </div>
            <p class="pointed" aria-hidden="true">{ (*said).clone().or_else(legend) }</p>
        </>
    }
}

/// Opens the record or the message that was hit; says whether there was one.
fn choose_at(target: Option<web_sys::EventTarget>, choose: &Callback<(usize, String)>) -> bool {
    let element = target.and_then(|target| target.dyn_into::<Element>().ok());
    let near = |selector: &str| element.as_ref()?.closest(selector).ok()?;
    let Some(hit) = near("[role=button][data-say]") else {
        return false;
    };
    let side = near("[data-side]").and_then(|side| side.get_attribute("data-side")?.parse().ok());
    choose.emit((
        side.unwrap_or_default(),
        hit.get_attribute("data-say").unwrap_or_default(),
    ));
    true
}
