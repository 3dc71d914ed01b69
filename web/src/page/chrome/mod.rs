//! What stands around every scene's picture, whatever the picture is: title and tools on top, below it
//! the sentence with its one button, and time. A scene says with [`Shown`] what there is to show, and
//! takes what the reader wants as [`Do`].

pub mod figure;
pub mod footer;
pub mod header;
pub mod keys;
mod timeline;

use gloo::events::EventListener;
use highwater_core::sim::story::Prediction;
use yew::prelude::*;

use super::browser;

/// What the reader wants of any scene.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Do {
    Step,
    Back,
    /// The same by single facts, where a step is several.
    Event,
    EventBack,
    NextMoment,
    PreviousMoment,
    GoTo(usize),
    /// What the one button says.
    Main,
    Guess(usize),
    /// Leave the story for free play.
    Explore,
    /// Return to the story.
    Story,
    /// Play, or pause.
    Play,
    Undo,
    /// Close what lies open.
    Close,
}

/// What there is to show of a scene besides its picture.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Shown {
    pub title: String,
    pub question: String,
    /// Where in the scene this is, for the header and the slider.
    pub place: String,
    /// It is the scene's first frame.
    pub opening: bool,
    pub is_story: bool,
    pub link: String,
    pub notice: Option<String>,
    pub verdict: Option<String>,
    pub sentence: String,
    pub prediction: Option<Prediction>,
    /// The reader's answer, when the question is asked again.
    pub guessed: Option<usize>,
    /// What the main button says.
    pub button: String,
    pub at: usize,
    pub last: usize,
    /// Places of the timeline that the story stops at.
    pub dots: Vec<usize>,
    pub can_step: bool,
    pub can_play: bool,
    pub can_undo: bool,
    /// One quiet line beside the timeline.
    pub summary: Option<String>,
}

/// What passes and is no part of the scene: whether it plays, what lies open, how large all is.
#[derive(Clone, PartialEq)]
pub struct Passing {
    pub playing: UseStateHandle<bool>,
    pub keys: UseStateHandle<bool>,
    pub present: UseStateHandle<bool>,
}

#[hook]
pub fn use_passing() -> Passing {
    Passing {
        playing: use_state(|| false),
        keys: use_state(|| false),
        present: use_state(|| false),
    }
}

/// A button's callback.
pub fn press(send: &Callback<Do>, wish: Do) -> Callback<MouseEvent> {
    let send = send.clone();
    Callback::from(move |_| send.emit(wish.clone()))
}

/// The whole page of a scene.
pub fn view(shown: &Shown, send: &Callback<Do>, passing: &Passing, class: Classes, picture: Html) -> Html {
    let close = {
        let keys = passing.keys.setter();
        Callback::from(move |()| keys.set(false))
    };
    let page = classes!(
        "page",
        shown.is_story.then_some("story"),
        passing.present.then_some("present")
    );
    html! {
        <div class={page}>
            { header::view(shown, send, passing) }
            <main {class}>{ picture }</main>
            { footer::view(shown, send, passing) }
            if *passing.keys {
                <keys::Sheet {close} />
            }
        </div>
    }
}

/// The window's width in px, followed.
#[hook]
pub fn use_width() -> u32 {
    use_measured(|| {
        let root = browser::document().document_element();
        root.map_or(1024, |root| root.client_width().max(0) as u32)
    })
}

/// What is measured, and again whenever the window has another size.
#[hook]
pub fn use_measured<F: Fn() -> u32 + 'static>(measure: F) -> u32 {
    let measured = use_state(&measure);
    let setter = measured.setter();
    use_effect_with((), move |()| {
        let window = gloo::utils::window();
        let listener = EventListener::new(&window, "resize", move |_| setter.set(measure()));
        move || drop(listener)
    });
    *measured
}

/// What the page's sides take from the window's width, in px.
pub const fn padding(width: u32) -> u32 {
    if width >= 700 { 72 } else { 32 }
}
