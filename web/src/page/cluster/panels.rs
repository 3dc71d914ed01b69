//! What lies under the stage in free play: the run as a diagram in space and time, with the code behind
//! each fact; the plain state; the invariants.

use highwater_lab::cluster::events::{Events, FactView, Leg};
use highwater_lab::cluster::{ClusterLab, Wish};
use yew::prelude::*;

use super::Wishes;
use super::code::Code;

/// In px.
const LANE: usize = 84;
const ROW: usize = 26;
/// From this width on there is room for lanes.
const WIDE_PX: u32 = 900;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Panel {
    Events,
    State,
    Invariants,
}

const PANELS: [(Panel, &str); 3] = [
    (Panel::Events, "Events"),
    (Panel::State, "State"),
    (Panel::Invariants, "Invariants"),
];

/// Which panel is open, and what is chosen in it.
#[derive(Clone, PartialEq)]
pub struct Looking {
    panel: UseStateHandle<Panel>,
    /// A fact of the run.
    chosen: UseStateHandle<Option<usize>>,
    /// Also those facts that change nothing.
    all: UseStateHandle<bool>,
}

#[hook]
pub fn use_looking() -> Looking {
    Looking {
        panel: use_state(|| Panel::Events),
        chosen: use_state(|| None),
        all: use_state(|| false),
    }
}

pub fn view(lab: &ClusterLab, looking: &Looking, wishes: &Wishes, width: u32) -> Html {
    let tab = |(panel, name): (Panel, &str)| {
        let is_open = *looking.panel == panel;
        let open = {
            let setter = looking.panel.setter();
            Callback::from(move |_: MouseEvent| setter.set(panel))
        };
        html! {
            <button data-rove="" tabindex={if is_open { "0" } else { "-1" }} aria-pressed={is_open.to_string()}
                onclick={open}>{ name }</button>
        }
    };
    html! {
        <section class="panels" aria-label="Panels">
            <div class="switch" role="group" aria-label="Panel" data-group="">{ for PANELS.map(tab) }</div>
            { match *looking.panel {
                Panel::Events => events(lab, looking, wishes, width >= WIDE_PX),
                Panel::State => state(lab),
                Panel::Invariants => invariants(lab),
            } }
        </section>
    }
}

fn events(lab: &ClusterLab, looking: &Looking, wishes: &Wishes, has_lanes: bool) -> Html {
    let events = lab.events_here(*looking.all);
    let chosen = events.facts.iter().find(|fact| Some(fact.at) == *looking.chosen);
    let causes = chosen.map_or(Vec::new(), |fact| events.causes(fact.at));
    let stop = chosen.or(events.facts.last()).map(|fact| fact.at);
    let by_event = |wish: Wish, text: &'static str| {
        let wishes = wishes.clone();
        let go = Callback::from(move |_: MouseEvent| wishes.dispatch(wish.clone()));
        html! { <button onclick={go}>{ text }</button> }
    };
    let every = {
        let all = looking.all.clone();
        Callback::from(move |_: MouseEvent| all.set(!*all))
    };
    let row = |fact: &FactView| {
        let (at, is_chosen) = (fact.at, Some(fact.at) == *looking.chosen);
        let choose = {
            let setter = looking.chosen.setter();
            Callback::from(move |_: MouseEvent| setter.set((!is_chosen).then_some(at)))
        };
        let class = classes!(causes.contains(&at).then_some("cause"));
        html! {
            <li {class}>
                <button data-rove="" tabindex={if stop == Some(at) { "0" } else { "-1" }}
                    aria-pressed={is_chosen.to_string()} onclick={choose}>
                    <span class="ms">{ format!("{} ms", fact.ms) }</span>
                    <span class="who">{ &fact.who }</span>
                    <span class="what">{ &fact.text }</span>
                </button>
            </li>
        }
    };
    let because = |at: &usize| {
        let fact = events.facts.iter().find(|fact| fact.at == *at)?;
        let (_, text) = fact.because.as_ref()?;
        Some(html! { <li>{ text }</li> })
    };
    html! {
        <>
            <div class="line">
                { by_event(Wish::EventBack, "◂ One fact") }
                { by_event(Wish::Event, "One fact ▸") }
                <button aria-pressed={looking.all.to_string()} onclick={every}>{ "Idle ones too" }</button>
            </div>
            <div class={classes!("events", has_lanes.then_some("with-lanes"))}>
                if has_lanes {
                    { lanes(&events, &causes) }
                }
                <ol aria-label="What has happened" data-group="">{ for events.facts.iter().map(row) }</ol>
            </div>
            if let Some(fact) = chosen {
                <p>{ format!("{}: {}", fact.who, fact.text) }</p>
                if fact.because.is_some() {
                    <p class="soft">{ "It follows from:" }</p>
                    <ol class="because">{ for causes.iter().filter_map(because) }</ol>
                }
                <Code fact={fact.clone()} />
            }
        </>
    }
}

/// A lane for each node, time downwards: a dot a fact, a line a message.
fn lanes(events: &Events, causes: &[usize]) -> Html {
    let height = (events.facts.len() + 1) * ROW;
    let x = |lane: usize| lane * LANE + LANE / 2;
    let y = |row: usize| (row + 1) * ROW + ROW / 2;
    let row_of = |at: usize| events.facts.iter().position(|fact| fact.at == at);
    let line = |(nth, fact): (usize, &FactView)| {
        let lane = fact.lane?;
        let sent = fact.because.as_ref().map(|(at, _)| *at);
        let (from, to) = match fact.packet? {
            Leg::Arrives { from } => ((from?, sent.and_then(row_of)), (lane, Some(nth))),
            Leg::Falls { from } => ((from?, sent.and_then(row_of)), (lane, Some(nth))),
            // Still on its way.
            Leg::Leaves { to } => {
                let arrives = |other: &FactView| {
                    other.packet.is_some() && other.because.as_ref().is_some_and(|(at, _)| *at == fact.at)
                };
                if events.facts.iter().any(arrives) {
                    return None;
                }
                ((lane, Some(nth)), (to?, None))
            }
        };
        let class = classes!(
            "way",
            matches!(fact.packet, Some(Leg::Falls { .. })).then_some("lost"),
            matches!(fact.packet, Some(Leg::Leaves { .. })).then_some("under-way"),
            (causes.contains(&fact.at) && to.1.is_some()).then_some("cause")
        );
        let (y1, y2) = (from.1.map_or(ROW, y), to.1.map_or(height, y));
        Some(html! { <path {class} d={format!("M{} {y1}L{} {y2}", x(from.0), x(to.0))} /> })
    };
    let dot = |(nth, fact): (usize, &FactView)| {
        let class = causes.contains(&fact.at).then_some("cause");
        Some(html! { <circle {class} cx={x(fact.lane?).to_string()} cy={y(nth).to_string()} r="4" /> })
    };
    let width = events.lanes.len() * LANE;
    html! {
        <svg class="lanes" width={width.to_string()} height={height.to_string()} aria-hidden="true">
            { for events.lanes.iter().enumerate().map(|(lane, name)| html! {
                <>
                    <text x={x(lane).to_string()} y="16">{ name }</text>
                    <path d={format!("M{} {ROW}V{height}", x(lane))} />
                </>
            }) }
            { for events.facts.iter().enumerate().filter_map(line) }
            { for events.facts.iter().enumerate().filter_map(dot) }
        </svg>
    }
}

fn state(lab: &ClusterLab) -> Html {
    let Some(state) = lab.state_here() else {
        return Html::default();
    };
    let row =
        |row: &[String; 7]| html! { <tr>{ for row.iter().map(|value| html! { <td>{ value }</td> }) }</tr> };
    let node = |(path, data, ephemeral): &(String, String, bool)| {
        let goes = if *ephemeral { "goes with its session" } else { data };
        html! { <li><code>{ path }</code>{ format!("  {goes}") }</li> }
    };
    html! {
        <div class="state">
            <table>
                <thead><tr>{ for state.columns.map(|name| html! { <th scope="col">{ name }</th> }) }</tr></thead>
                <tbody>{ for state.replicas.iter().map(row) }</tbody>
            </table>
            <h3>{ "In the coordination service" }</h3>
            <ul>{ for state.nodes.iter().map(node) }</ul>
        </div>
    }
}

fn invariants(lab: &ClusterLab) -> Html {
    let all = lab.invariants_here();
    html! {
        <>
        <p class="soft">{ "✓ holds up to here · ✗ is broken · needs every disk to be read: the tests look at it" }</p>
        <ul class="invariants">{ for all.iter().map(|held| html! {
            <li class={held.broken.as_ref().map(|_| "broken-one")}>
                <b>{ match (&held.broken, held.is_watched) {
                    (Some(_), _) => "✗ ",
                    (None, true) => "✓ ",
                    (None, false) => "· ",
                } }{ held.name }</b>
                <span>{ held.sentence }</span>
                if let Some(why) = &held.broken {
                    <span class="why">{ why }</span>
                }
            </li>
        }) }</ul>
        </>
    }
}
