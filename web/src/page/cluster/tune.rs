//! The producer's settings as controls: turning one plays the same records again.

use highwater_lab::cluster::tune::{Dial, WORD};
use highwater_lab::cluster::{ClusterLab, Picture, Wish};
use wasm_bindgen::JsCast;
use web_sys::HtmlSelectElement;
use yew::prelude::*;

use super::Wishes;

/// Nothing where the picture is of no producer.
pub fn view(lab: &ClusterLab, wishes: &Wishes) -> Html {
    if lab.picture() != Picture::Producer {
        return Html::default();
    }
    let dial = |dial: &Dial| {
        let (wishes, name) = (wishes.clone(), dial.name);
        let turn = Callback::from(move |event: Event| {
            let target = event.target();
            if let Some(select) = target.and_then(|target| target.dyn_into::<HtmlSelectElement>().ok()) {
                wishes.dispatch(Wish::Act(format!("{WORD}{name}={}", select.value())));
            }
        });
        let option = |value: &String| {
            html! { <option value={value.clone()} selected={*value == dial.now}>{ value }</option> }
        };
        html! { <label>{ name }{ " " }<select onchange={turn}>{ for dial.values.iter().map(option) }</select></label> }
    };
    html! {
        <div class="controls">
            <div class="line dials" role="group" aria-label="The same records with other settings">
                { for lab.dials().iter().map(dial) }
            </div>
        </div>
    }
}
