//! What the reader may turn and do, as sentences whose values are controls.

use highwater_core::record::Codec;
use highwater_lab::actions::{Action, Batches, Settings};
use highwater_lab::lab::{Lab, Wish};
use wasm_bindgen::JsCast;
use web_sys::{HtmlInputElement, HtmlSelectElement};
use yew::prelude::*;

use super::Wishes;

/// The moment from which on the story lets the reader turn the settings: both have been met by then.
const SETTINGS_FROM: usize = 3;

pub fn view(lab: &Lab, wishes: &Wishes) -> Html {
    html! {
        <div class="controls">
            if !lab.is_story() || lab.spot.at >= SETTINGS_FROM {
                { settings(lab, wishes) }
            }
            if !lab.is_story() {
                <Append wishes={wishes.clone()} why_not={lab.why_not(&Action::Roll)} />
                <Find wishes={wishes.clone()} why_not={lab.why_not(&Action::Roll)} />
                { others(lab, wishes) }
            }
        </div>
    }
}

fn settings(lab: &Lab, wishes: &Wishes) -> Html {
    let now = lab.spot.settings;
    let interval = {
        let wishes = wishes.clone();
        Callback::from(move |value: u32| {
            wishes.dispatch(Wish::Set(Settings {
                index_interval_bytes: value,
                ..now
            }));
        })
    };
    let segment = {
        let wishes = wishes.clone();
        Callback::from(move |value: u32| {
            wishes.dispatch(Wish::Set(Settings {
                segment_bytes: value,
                ..now
            }));
        })
    };
    html! {
        <p class="settings">
            { "index.interval.bytes = " }
            <Pick label="index.interval.bytes" values={Settings::INDEX_INTERVALS.to_vec()} value={now.index_interval_bytes} picked={interval} />
            { "  internal.segment.bytes = " }
            <Pick label="internal.segment.bytes" values={Settings::SEGMENTS.to_vec()} value={now.segment_bytes} picked={segment} />
            <span class="soft">{ " change one, and the same happens again" }</span>
        </p>
    }
}

#[derive(Clone, PartialEq, Properties)]
struct PickProps {
    label: AttrValue,
    values: Vec<u32>,
    value: u32,
    picked: Callback<u32>,
}

/// A value in a sentence, one of a few.
#[component]
fn Pick(props: &PickProps) -> Html {
    let picked = props.picked.clone();
    let change = Callback::from(move |event: Event| {
        let select = event
            .target()
            .and_then(|target| target.dyn_into::<HtmlSelectElement>().ok());
        if let Some(value) = select.and_then(|select| select.value().parse().ok()) {
            picked.emit(value);
        }
    });
    html! {
        <select aria-label={props.label.clone()} onchange={change}>
            { for props.values.iter().map(|value| html! {
                <option value={value.to_string()} selected={*value == props.value}>{ value.to_string() }</option>
            }) }
        </select>
    }
}

#[derive(Clone, PartialEq, Properties)]
struct ActProps {
    wishes: Wishes,
    why_not: Option<&'static str>,
}

#[component]
fn Append(props: &ActProps) -> Html {
    let batches = use_state(|| Batches {
        count: 3,
        records: 6,
        value_bytes: 20,
        codec: Codec::None,
    });
    let pick = |change: fn(&mut Batches, u32)| {
        let batches = batches.clone();
        Callback::from(move |value: u32| {
            let mut next = *batches;
            change(&mut next, value);
            batches.set(next);
        })
    };
    let append = {
        let (wishes, batches) = (props.wishes.clone(), *batches);
        Callback::from(move |_: MouseEvent| wishes.dispatch(Wish::Act(Action::Append(batches))))
    };
    let codec = {
        let batches = batches.clone();
        Callback::from(move |event: Event| {
            let select = event
                .target()
                .and_then(|target| target.dyn_into::<HtmlSelectElement>().ok());
            if let Some(codec) = select.and_then(|select| Codec::from_name(&select.value())) {
                batches.set(Batches { codec, ..*batches });
            }
        })
    };
    html! {
        <p>
            { "Append " }
            <Pick label="batches" values={vec![1, 3, 10, 20]} value={batches.count} picked={pick(|b, value| b.count = value)} />
            { " batches of " }
            <Pick label="records in a batch" values={vec![1, 6, 20, 50]} value={batches.records} picked={pick(|b, value| b.records = value)} />
            { " records of " }
            <Pick label="bytes of a value" values={vec![1, 20, 100, 500]} value={batches.value_bytes} picked={pick(|b, value| b.value_bytes = value)} />
            { " bytes, compression " }
            <select aria-label="compression" onchange={codec}>
                { for Codec::HERE.iter().map(|codec| html! {
                    <option value={codec.name()} selected={*codec == batches.codec}>{ codec.name() }</option>
                }) }
            </select>
            { " " }
            <button onclick={append} disabled={props.why_not.is_some()} title={props.why_not}>{ "Append" }</button>
        </p>
    }
}

#[component]
fn Find(props: &ActProps) -> Html {
    let (offset, time) = (use_node_ref(), use_node_ref());
    let value = |input: &NodeRef| {
        let input = input.clone();
        move || {
            input
                .cast::<HtmlInputElement>()
                .map_or(f64::NAN, |input| input.value_as_number())
        }
    };
    let find = |number: Box<dyn Fn() -> f64>, action: fn(f64) -> Action| {
        let wishes = props.wishes.clone();
        Callback::from(move |event: SubmitEvent| {
            event.prevent_default();
            let number = number();
            if number >= 0.0 {
                wishes.dispatch(Wish::Act(action(number)));
            }
        })
    };
    let by_offset = find(Box::new(value(&offset)), |number| {
        Action::FindOffset(number as i64)
    });
    let by_time = find(Box::new(value(&time)), |seconds| {
        Action::FindTime((seconds * 1000.0).round() as i64)
    });
    let off = props.why_not.is_some();
    html! {
        <div class="line">
            <form onsubmit={by_offset}>
                <label>{ "Find offset " }<input id="offset" ref={offset} type="number" min="0" step="1" value="100" /></label>
                <button disabled={off} title={props.why_not}>{ "Find" }</button>
            </form>
            <form onsubmit={by_time}>
                <label>{ "or time " }<input id="time" ref={time} type="number" min="0" step="0.001" value="12.5" />{ " s" }</label>
                <button disabled={off} title={props.why_not}>{ "Find" }</button>
            </form>
        </div>
    }
}

fn others(lab: &Lab, wishes: &Wishes) -> Html {
    let actions = [
        ("Roll", Action::Roll),
        ("Force to disk", Action::Flush),
        ("Cut the power during a write", Action::Tear),
        ("Cut the power", Action::LosePower),
        ("kill -9", Action::Kill),
        ("Stop cleanly", Action::Stop),
        ("Start", Action::Start),
    ];
    html! {
        <div class="line">
            { for actions.into_iter().map(|(name, action)| {
                let why_not = lab.why_not(&action);
                let wishes = wishes.clone();
                let act = Callback::from(move |_: MouseEvent| wishes.dispatch(Wish::Act(action)));
                html! { <button onclick={act} disabled={why_not.is_some()} title={why_not}>{ name }</button> }
            }) }
        </div>
    }
}
