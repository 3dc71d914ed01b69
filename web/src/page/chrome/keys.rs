//! Keys for the whole page, and the sheet that lists them.

use gloo::events::{EventListener, EventListenerOptions};
use wasm_bindgen::JsCast;
use web_sys::{Element, KeyboardEvent};
use yew::prelude::*;

use super::{Do, Passing};
use crate::page::browser::{self, handled};

const KEYS: &[(&str, &str)] = &[
    (". →", "one step on"),
    (", ←", "one step back"),
    ("> <", "one single fact on, one back"),
    ("PageDown, PageUp", "to the next moment of the story, and back"),
    ("p", "play, pause"),
    ("u", "undo my last action"),
    ("b", "present: large, without tools"),
    ("Tab", "to the next group"),
    (
        "arrows",
        "within a group: what is in the picture, fields, answers",
    ),
    ("Enter", "choose what has the focus"),
    ("?", "this sheet"),
    ("Escape", "close what is open"),
];

/// Keys that no element has taken.
#[hook]
pub fn use_keys(send: Callback<Do>, passing: Passing) {
    let latest = use_mut_ref(|| (send.clone(), passing.clone()));
    *latest.borrow_mut() = (send, passing);
    use_effect_with((), move |()| {
        let options = EventListenerOptions::enable_prevent_default();
        let listener =
            EventListener::new_with_options(&browser::document(), "keydown", options, move |event| {
                if let Some(event) = event.dyn_ref::<KeyboardEvent>() {
                    let (send, passing) = latest.borrow().clone();
                    take(event, &send, &passing);
                }
            });
        move || drop(listener)
    });
}

fn take(event: &KeyboardEvent, send: &Callback<Do>, passing: &Passing) {
    if browser::is_taken(event) {
        return;
    }
    if event.key() == "Escape" {
        close_sheet(&passing.keys);
        passing.present.set(false);
        send.emit(Do::Close);
        return handled(event);
    }
    let target = event
        .target()
        .and_then(|target| target.dyn_into::<Element>().ok());
    if target.is_some_and(|element| takes_keys(&element, &event.key())) || browser::rove(event) {
        return;
    }
    match event.key().as_str() {
        "." | "ArrowRight" => send.emit(Do::Step),
        "," | "ArrowLeft" => send.emit(Do::Back),
        ">" => send.emit(Do::Event),
        "<" => send.emit(Do::EventBack),
        "PageDown" => send.emit(Do::NextMoment),
        "PageUp" => send.emit(Do::PreviousMoment),
        "p" if *passing.playing || browser::by_id("play").is_some() => send.emit(Do::Play),
        "b" => passing.present.set(!*passing.present),
        "u" => send.emit(Do::Undo),
        "?" => passing.keys.set(true),
        _ => return,
    }
    handled(event);
}

/// Fields have their own use for keys; the slider only for some.
fn takes_keys(element: &Element, key: &str) -> bool {
    match element.tag_name().as_str() {
        "INPUT" if element.get_attribute("type").as_deref() == Some("range") => {
            !matches!(key, "." | "," | "?" | "PageUp" | "PageDown")
        }
        "INPUT" | "SELECT" => true,
        _ => false,
    }
}

fn close_sheet(sheet: &UseStateHandle<bool>) {
    sheet.set(false);
    if browser::by_id("sheet").is_some()
        && let Some(button) = browser::by_id("keys")
    {
        let _ = button.focus();
    }
}

#[derive(Clone, PartialEq, Properties)]
pub struct SheetProps {
    pub close: Callback<()>,
}

#[component]
pub fn Sheet(props: &SheetProps) -> Html {
    let button = use_node_ref();
    {
        let button = button.clone();
        use_effect_with((), move |()| {
            if let Some(button) = button.cast::<web_sys::HtmlElement>() {
                let _ = button.focus();
            }
        });
    }
    let close = {
        let close = props.close.clone();
        Callback::from(move |_: MouseEvent| {
            close.emit(());
            if let Some(button) = browser::by_id("keys") {
                let _ = button.focus();
            }
        })
    };
    // Nothing else on the sheet takes the focus, so Tab stays here.
    let stay = Callback::from(|event: KeyboardEvent| {
        if event.key() == "Tab" {
            handled(&event);
        }
    });
    html! {
        <div class="cover">
            <section id="sheet" role="dialog" aria-modal="true" aria-label="Keys" onkeydown={stay}>
                <h2>{ "Keys" }</h2>
                <dl>
                    { for KEYS.iter().map(|(key, what)| html! { <><dt>{ *key }</dt><dd>{ *what }</dd></> }) }
                </dl>
                <button ref={button} class="main" onclick={close}>{ "Close" }</button>
            </section>
        </div>
    }
}
