//! Keys for the whole page, and the sheet that lists them.

use gloo::events::{EventListener, EventListenerOptions};
use highwater_lab::lab::Wish;
use wasm_bindgen::JsCast;
use web_sys::{Element, KeyboardEvent};
use yew::prelude::*;

use super::app::Wishes;
use super::browser::{self, handled};

const KEYS: &[(&str, &str)] = &[
    (". → PageDown", "one step on"),
    (", ← PageUp", "one step back"),
    ("p", "play, pause"),
    ("u", "undo my last action"),
    ("Tab", "to the next group"),
    ("arrows", "within a group: batches, entries, fields, answers"),
    ("Enter", "look into the bytes of what has the focus"),
    ("?", "this sheet"),
    ("Escape", "close what is open"),
];

/// Keys that no element has taken.
#[hook]
pub fn use_keys(wishes: Wishes, playing: UseStateSetter<bool>, sheet: UseStateSetter<bool>) {
    use_effect_with((), move |()| {
        let options = EventListenerOptions::enable_prevent_default();
        let listener =
            EventListener::new_with_options(&browser::document(), "keydown", options, move |event| {
                if let Some(event) = event.dyn_ref::<KeyboardEvent>() {
                    take(event, &wishes, &playing, &sheet);
                }
            });
        move || drop(listener)
    });
}

fn take(
    event: &KeyboardEvent,
    wishes: &Wishes,
    playing: &UseStateSetter<bool>,
    sheet: &UseStateSetter<bool>,
) {
    if event.ctrl_key() || event.alt_key() || event.meta_key() || event.default_prevented() {
        return;
    }
    if event.key() == "Escape" {
        close_sheet(sheet);
        wishes.dispatch(Wish::Choose(None));
        return handled(event);
    }
    let target = event
        .target()
        .and_then(|target| target.dyn_into::<Element>().ok());
    if target.is_some_and(|element| takes_keys(&element, &event.key())) || browser::rove(event) {
        return;
    }
    match event.key().as_str() {
        "." | "ArrowRight" | "PageDown" => wishes.dispatch(Wish::Step),
        "," | "ArrowLeft" | "PageUp" => wishes.dispatch(Wish::Back),
        "p" => match browser::by_id("play") {
            Some(button) => button.click(),
            None => playing.set(false),
        },
        "u" => wishes.dispatch(Wish::Undo),
        "?" => sheet.set(true),
        _ => return,
    }
    handled(event);
}

/// Fields have their own use for keys; the slider only for some.
fn takes_keys(element: &Element, key: &str) -> bool {
    match element.tag_name().as_str() {
        "INPUT" if element.get_attribute("type").as_deref() == Some("range") => {
            !matches!(key, "." | "," | "?")
        }
        "INPUT" | "SELECT" => true,
        _ => false,
    }
}

fn close_sheet(sheet: &UseStateSetter<bool>) {
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
