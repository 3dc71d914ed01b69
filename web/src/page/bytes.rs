//! The bytes of what is chosen: hover or focus a field, and its bytes light up.

use std::rc::Rc;

use highwater_lab::annotate::{Annotated, Field, File};
use highwater_lab::say;
use wasm_bindgen::JsCast;
use web_sys::Element;
use yew::prelude::*;

use super::browser;

#[derive(Clone, PartialEq, Properties)]
pub struct Props {
    pub shown: Rc<Annotated>,
    /// The files that they lie in.
    pub files: Rc<Vec<File>>,
    pub close: Callback<MouseEvent>,
    pub narrow: bool,
}

#[component]
pub fn Bytes(props: &Props) -> Html {
    let lit = use_state(|| None::<usize>);
    let shown = &props.shown;
    let hover = {
        let (lit, shown) = (lit.setter(), shown.clone());
        Callback::from(move |event: MouseEvent| {
            let target = event
                .target()
                .and_then(|target| target.dyn_into::<Element>().ok());
            let at = target.and_then(|target| target.get_attribute("data-at")?.parse().ok());
            if let Some(at) = at {
                lit.set(shown.field_at(at));
            }
        })
    };
    html! {
        <section class="bytes" aria-label={format!("Bytes of {}", shown.file)}>
            <h2>
                <b>{ &shown.file }</b>
                <span>{ format!("{} bytes from byte {}", say::number(shown.bytes.len() as u64), say::number(shown.from)) }</span>
                <button onclick={props.close.clone()}>{ "Close" }</button>
            </h2>
            <p class="downloads">{ for props.files.iter().map(download) }</p>
            <div class="two">
                <div class="hex" aria-hidden="true" onmouseover={hover}>{ for rows(shown, *lit, props.narrow) }</div>
                { fields(shown, &lit) }
            </div>
            if shown.left_out > 0 {
                <p>{ format!("{} more bytes are not shown; the download has them.", say::number(shown.left_out as u64)) }</p>
            }
        </section>
    }
}

fn download(file: &File) -> Html {
    let get = {
        let file = file.clone();
        Callback::from(move |_: MouseEvent| {
            browser::download(&file.name, &file.bytes);
        })
    };
    let (_, suffix) = file.name.split_once('.').unwrap_or(("", &file.name));
    html! {
        <button onclick={get} aria-label={format!("Download {}", file.name)}>{ format!("Download .{suffix}") }</button>
    }
}

fn rows(shown: &Annotated, lit: Option<usize>, narrow: bool) -> Vec<Html> {
    let columns = if narrow { 8 } else { 16 };
    let lit = lit
        .and_then(|lit| shown.fields.get(lit))
        .map_or(0..0, |field| field.from..field.to);
    let row = |(at, row): (usize, &[u8])| {
        let from = at * columns;
        html! {
            <div class="row">
                <span class="at">{ format!("{:05x}", shown.from as usize + from) }</span>
                { for row.iter().enumerate().map(|(nth, byte)| {
                    let at = from + nth;
                    let odd = shown.field_at(at).is_some_and(|field| field % 2 == 1);
                    let class = classes!("byte", lit.contains(&at).then_some("lit"), odd.then_some("odd"));
                    html! { <span {class} data-at={at.to_string()}>{ format!("{byte:02x}") }</span> }
                }) }
            </div>
        }
    };
    shown.bytes.chunks(columns).enumerate().map(row).collect()
}

fn fields(shown: &Annotated, lit: &UseStateHandle<Option<usize>>) -> Html {
    let field = |(nth, field): (usize, &Field)| {
        let light = {
            let lit = lit.setter();
            move || lit.set(Some(nth))
        };
        let (over, focus) = (light.clone(), light);
        let tab = if nth == 0 { "0" } else { "-1" };
        html! {
            <li class={classes!((**lit == Some(nth)).then_some("lit"))} data-rove="" tabindex={tab}
                onmouseover={Callback::from(move |_: MouseEvent| over())}
                onfocus={Callback::from(move |_: FocusEvent| focus())}>
                <span class="place">{ format!("{}–{}", field.from, field.to.saturating_sub(1)) }</span>
                <b>{ &field.name }</b>
                <span>{ &field.value }</span>
            </li>
        }
    };
    html! {
        <ul class="fields" aria-label="Fields" data-group="">
            { for shown.fields.iter().enumerate().map(field) }
        </ul>
    }
}
