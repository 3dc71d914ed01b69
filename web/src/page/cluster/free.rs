//! Free play: what the reader does to the cluster, where it leads, and every run that came of it.

use gloo::timers::callback::Timeout;
use highwater_lab::cluster::{ClusterLab, JumpTo, Offer, Picture, Wish};
use wasm_bindgen::JsCast;
use web_sys::HtmlSelectElement;
use yew::prelude::*;

use super::{State, Wishes};
use crate::page::browser;

const JUMPS: [(JumpTo, &str); 5] = [
    (JumpTo::LeaderChange, "change of leader"),
    (JumpTo::HighWatermark, "move of a high watermark"),
    (JumpTo::Isr, "change of the ISR"),
    (JumpTo::Loss, "loss"),
    (JumpTo::Broken, "broken invariant"),
];

/// What can be done, in this order.
const GROUPS: [&str; 3] = ["Brokers", "Links", "Settings"];

pub fn view(lab: &ClusterLab, wishes: &Wishes) -> Html {
    let offers = lab.offers();
    let (quick, rest): (Vec<Offer>, Vec<Offer>) = offers
        .into_iter()
        .partition(|offer| offer.words.starts_with("produce"));
    let mut choices = Vec::with_capacity(rest.len());
    for group in GROUPS {
        choices.extend(rest.iter().map(choice).filter(|choice| choice.group == group));
    }
    html! {
        <div class="controls">
            <div class="line">
                { for quick.iter().map(|offer| quick_button(offer, wishes)) }
                <Choose name="What to do" button="Do it" wishes={wishes.clone()} choices={choices} />
            </div>
            <div class="line">
                if lab.picture() != Picture::Producer {
                    <Choose name="What to look for" button="Jump to the next" wishes={wishes.clone()} choices={JUMPS.map(jump).to_vec()} />
                    { copy("Copy the picture as SVG", lab.svg()) }
                }
                { copy("Copy this run as a script", lab.script()) }
                { beside(lab, wishes) }
            </div>
            { branches(lab, wishes) }
            { why_this_leader(lab) }
        </div>
    }
}

/// Something that can be chosen, with the reason when it cannot.
#[derive(Clone, PartialEq)]
struct Choice {
    label: String,
    /// What it stands among.
    group: &'static str,
    wish: Wish,
    why_not: Option<&'static str>,
}

fn choice(offer: &Offer) -> Choice {
    Choice {
        label: offer.label.clone(),
        group: match offer.words.split(' ').next().unwrap_or_default() {
            "cut" | "heal" | "isolate" => "Links",
            "set" => "Settings",
            _ => "Brokers",
        },
        wish: Wish::Act(offer.words.clone()),
        why_not: offer.why_not,
    }
}

fn jump((to, label): (JumpTo, &str)) -> Choice {
    Choice {
        label: label.to_owned(),
        group: "Next",
        wish: Wish::Jump(to),
        why_not: None,
    }
}

/// Choices that stand together; they come in the order of their groups.
fn groups(choices: &[Choice]) -> impl Iterator<Item = &[Choice]> {
    choices.chunk_by(|one, other| one.group == other.group)
}

fn quick_button(offer: &Offer, wishes: &Wishes) -> Html {
    let (wishes, words) = (wishes.clone(), offer.words.clone());
    let act = Callback::from(move |_: MouseEvent| wishes.dispatch(Wish::Act(words.clone())));
    html! {
        <button onclick={act} disabled={offer.why_not.is_some()} title={offer.why_not}>{ &offer.label }</button>
    }
}

#[derive(Clone, PartialEq, Properties)]
struct ChooseProps {
    name: &'static str,
    button: &'static str,
    wishes: Wishes,
    choices: Vec<Choice>,
}

/// One of many, and a button that does it.
#[component]
fn Choose(props: &ChooseProps) -> Html {
    let chosen = use_state(|| None::<String>);
    let pick = {
        let chosen = chosen.setter();
        Callback::from(move |event: Event| {
            let select = event
                .target()
                .and_then(|target| target.dyn_into::<HtmlSelectElement>().ok());
            chosen.set(select.map(|select| select.value()));
        })
    };
    let is_chosen = |choice: &&Choice| (*chosen).as_ref() == Some(&choice.label) && choice.why_not.is_none();
    let found = props.choices.iter().find(is_chosen);
    let found = found.or_else(|| props.choices.iter().find(|choice| choice.why_not.is_none()));
    let act = {
        let (wishes, wish) = (props.wishes.clone(), found.map(|choice| choice.wish.clone()));
        Callback::from(move |_: MouseEvent| {
            if let Some(wish) = wish.clone() {
                wishes.dispatch(wish);
            }
        })
    };
    let option = |choice: &Choice| {
        let selected = found.is_some_and(|found| found.label == choice.label);
        let text = match choice.why_not {
            None => choice.label.clone(),
            Some(why_not) => format!("{} ({why_not})", choice.label),
        };
        html! {
            <option value={choice.label.clone()} {selected} disabled={choice.why_not.is_some()}>{ text }</option>
        }
    };
    html! {
        <>
            <select aria-label={props.name} onchange={pick}>{ for groups(&props.choices).map(|group| html! {
                <optgroup label={group[0].group}>{ for group.iter().map(option) }</optgroup>
            }) }</select>
            <button onclick={act} disabled={found.is_none()}>{ props.button }</button>
        </>
    }
}

fn copy(name: &'static str, text: String) -> Html {
    let copy = Callback::from(move |_: MouseEvent| browser::copy(&text));
    html! { <button onclick={copy}>{ name }</button> }
}

fn branches(lab: &ClusterLab, wishes: &Wishes) -> Html {
    let branches = lab.branches();
    let button = |(at, (label, is_here)): (usize, &(String, bool))| {
        let wishes = wishes.clone();
        let go = Callback::from(move |_: MouseEvent| wishes.dispatch(Wish::Branch(at)));
        html! {
            <button data-rove="" tabindex={if *is_here { "0" } else { "-1" }} aria-pressed={is_here.to_string()}
                onclick={go}>{ label }</button>
        }
    };
    if branches.len() < 2 {
        return Html::default();
    }
    html! {
        <div class="line" role="group" aria-label="Your runs" data-group="">
            <span class="soft">{ "Your runs: " }</span>
            { for branches.iter().enumerate().map(button) }
        </div>
    }
}

fn beside(lab: &ClusterLab, wishes: &Wishes) -> Html {
    let is_beside = lab.sides().len() > 1;
    let wishes = wishes.clone();
    let turn = Callback::from(move |_: MouseEvent| wishes.dispatch(Wish::Beside(!is_beside)));
    html! {
        <button onclick={turn} aria-pressed={is_beside.to_string()}>{ "Beside the story's run" }</button>
    }
}

fn why_this_leader(lab: &ClusterLab) -> Html {
    let lines = lab.why_this_leader();
    if lines.is_empty() {
        return Html::default();
    }
    html! {
        <details class="why-leader">
            <summary>{ "Why this leader, and why not another" }</summary>
            <ul>{ for lines.iter().map(|line| html! { <li>{ line }</li> }) }</ul>
        </details>
    }
}

/// Lets a search go on in slices, so that the page is never kept waiting.
#[hook]
pub fn use_search(state: &UseReducerHandle<State>) {
    let wishes = state.dispatcher();
    let searching = state.0.as_ref().is_ok_and(ClusterLab::is_searching);
    // Each slice is another state, so this comes again after each.
    use_effect(move || {
        let wait = searching.then(|| Timeout::new(0, move || wishes.dispatch(Wish::Searching)));
        move || drop(wait)
    });
}
