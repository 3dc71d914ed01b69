//! The state, and the page put together from its parts.

use std::rc::Rc;

use gloo::events::EventListener;
use gloo::timers::callback::Timeout;
use highwater_lab::annotate::annotate;
use highwater_lab::lab::{Lab, Wish};
use highwater_lab::link;
use web_sys::Element;
use yew::prelude::*;

use super::{browser, bytes, controls, footer, header, keys, stage};

/// The lab as yew keeps it; `Err` when the scene itself cannot be read.
#[derive(Clone)]
pub struct State(pub Result<Lab, String>);

impl Reducible for State {
    type Action = Wish;

    fn reduce(self: Rc<Self>, wish: Wish) -> Rc<Self> {
        match &self.0 {
            Ok(lab) => Rc::new(Self(Ok(lab.after(wish)))),
            Err(_) => self,
        }
    }
}

/// Where wishes go.
pub type Wishes = UseReducerDispatcher<State>;

/// A moment stays at least so long while the story plays, and longer by each word.
const PLAY_MS: u32 = 2500;
const PLAY_WORD_MS: u32 = 220;
/// From this width on, bytes stand beside the picture.
const BESIDE_PX: u32 = 1100;
const BYTES_PX: u32 = 470;

#[derive(Clone, PartialEq, Properties)]
struct Props {
    /// The element that the scene is mounted in.
    root: Element,
}

pub fn mount(root: Element) {
    let props = Props { root: root.clone() };
    yew::Renderer::<App>::with_root_and_props(root, props).render();
}

#[component]
fn App(props: &Props) -> Html {
    let state = use_reducer(first_state);
    let width = use_width();
    let playing = use_state(|| false);
    let keys_shown = use_state(|| false);
    let wishes = state.dispatcher();
    use_links(wishes.clone());
    keys::use_keys(wishes.clone(), playing.setter(), keys_shown.setter());
    use_play(&state, playing.clone());
    let lab = match &state.0 {
        Ok(lab) => lab,
        Err(why) => return html! { <main><p>{ format!("This scene cannot be told: {why}.") }</p></main> },
    };
    browser::remember_link(&props.root, &link::write(&lab.spot));
    let shown = lab
        .chosen
        .and_then(|chosen| annotate(lab.world()?.host(), chosen))
        .map(Rc::new);
    let padding = if width >= 700 { 72 } else { 32 };
    let beside = width >= BESIDE_PX && shown.is_some();
    let stage_width = width.saturating_sub(padding) - if beside { BYTES_PX } else { 0 };
    html! {
        <div class={classes!("page", lab.is_story().then_some("story"))}>
            { header::view(lab, &wishes, keys_shown.setter()) }
            <main class={classes!(beside.then_some("beside"))}>
                <div class="picture">
                    { stage::view(lab, &wishes, stage_width) }
                    { controls::view(lab, &wishes) }
                </div>
                if let Some(shown) = shown {
                    <bytes::Bytes {shown} disk={bytes::files(lab)} wishes={wishes.clone()} narrow={width < 700} />
                }
            </main>
            { footer::view(lab, &wishes, &playing) }
            if *keys_shown {
                <keys::Sheet close={let setter = keys_shown.setter(); Callback::from(move |()| setter.set(false))} />
            }
        </div>
    }
}

fn first_state() -> State {
    let hash = browser::address_hash();
    State(Lab::new().map(|lab| match hash.as_str() {
        "" => lab,
        link => lab.after(Wish::Open(link.to_owned())),
    }))
}

/// The window's width in px, followed.
#[hook]
fn use_width() -> u32 {
    fn now() -> u32 {
        let root = browser::document().document_element();
        root.map_or(1024, |root| root.client_width().max(0) as u32)
    }
    let width = use_state(now);
    let setter = width.setter();
    use_effect_with((), move |()| {
        let window = gloo::utils::window();
        let listener = EventListener::new(&window, "resize", move |_| setter.set(now()));
        move || drop(listener)
    });
    *width
}

/// Another link in the address bar opens it.
#[hook]
fn use_links(wishes: Wishes) {
    use_effect_with((), move |()| {
        let window = gloo::utils::window();
        let listener = EventListener::new(&window, "hashchange", move |_| {
            wishes.dispatch(Wish::Open(browser::address_hash()));
        });
        move || drop(listener)
    });
}

/// Steps through the story by itself, up to a question or the end.
#[hook]
fn use_play(state: &UseReducerHandle<State>, playing: UseStateHandle<bool>) {
    let wishes = state.dispatcher();
    let place = state.0.as_ref().ok().map(|lab| {
        let goes_on = lab.is_story() && lab.spot.at < lab.last() && lab.prediction().is_none();
        let words = lab.sentence().split_whitespace().count() as u32;
        (lab.spot.at, goes_on, words)
    });
    use_effect_with((*playing, place), move |(is_playing, place)| {
        let mut wait = None;
        match place {
            Some((_, true, words)) if *is_playing => {
                wait = Some(Timeout::new(PLAY_MS + PLAY_WORD_MS * words, move || {
                    wishes.dispatch(Wish::Step);
                }));
            }
            _ if *is_playing => playing.set(false),
            _ => {}
        }
        move || drop(wait)
    });
}
