//! The coordination service's tree: a row a node, a column a broker. Down each column runs the thread of its
//! session, and what hangs on that goes with it.
//!
//! All texts are the picture's own.

use highwater_core::stage::State;
use highwater_core::stage::tree::{Column, EPOCH_KEY, STATE_KEY, Session, TreeNode, TreePicture, Watch};
use highwater_core::view::Watched;
use yew::prelude::*;

use super::grid::{EPOCHS, crown};
use super::items::Items;

/// `stop`: Tab leads into this picture.
pub fn view(picture: &TreePicture, stop: bool, focus: &dyn Fn(&str) -> bool) -> Html {
    let items = Items { focus };
    let heads = picture.columns.iter().enumerate();
    let heads = heads.map(|(at, column)| head(&items, column, stop && at == 0));
    let epoch = picture.controller_epoch.zip(picture.say_epoch());
    let epoch = epoch.map(|(epoch, say)| {
        let content = html! { format!("epoch {epoch}") };
        items.item("epoch", EPOCH_KEY.to_owned(), say, false, content)
    });
    let row = |watched: Watched| picture.columns.iter().map(move |column| (column, watched));
    let cell = |(column, watched)| cell(&items, column, watched);
    html! {
        <div class={classes!("tree", format!("n{}", picture.columns.len()))}>
            <div class="twig heads"><span class="label">{ "session" }</span>{ for heads }</div>
            <div class="twig">
                <div class="label"><b>{ Watched::Controller.path() }</b>{ for epoch }</div>
                { for row(Watched::Controller).map(cell) }
            </div>
            <div class="twig">
                <div class="label"><b>{ Watched::BrokerIds.path() }</b></div>
                { for row(Watched::BrokerIds).map(cell) }
            </div>
            { state(&items, picture) }
        </div>
    }
}

fn head(items: &Items, column: &Column, tab: bool) -> Html {
    let class = match column.state {
        State::Crashed => "down",
        _ => "",
    };
    let content = html! {
        <><b>{ &column.name }</b><small>{ column.session_line() }</small><i>{ column.trouble() }</i></>
    };
    items.item(class, column.key(), column.say(), tab, content)
}

fn cell(items: &Items, column: &Column, watched: Watched) -> Html {
    let thread = match column.session {
        Session::Connected(_) => Some("held"),
        Session::Silent(..) => Some("held silent"),
        Session::Unknown | Session::Over(_) => None,
    };
    let node = |node: &TreeNode| {
        let class = match (node.gone, watched) {
            (true, _) => "znode gone",
            (false, Watched::Controller) => "znode office",
            (false, Watched::BrokerIds) => "znode",
        };
        let name = match watched {
            Watched::Controller => column.name.clone(),
            Watched::BrokerIds => column.broker.to_string(),
        };
        items.item(class, node.key(), node.say(), false, html! { name })
    };
    let watch = |watch: &Watch| {
        let (class, word) = match watch.used_up {
            true => ("watch told", "told"),
            false => ("watch", "watches"),
        };
        items.item(
            class,
            watch.key(),
            watch.say(),
            false,
            html! { <>{ eye() }<small>{ word }</small></> },
        )
    };
    html! {
        <div class={classes!("hang", thread)}>
            { for column.nodes_below(watched).map(node) }
            { for column.watches_of(watched).map(watch) }
        </div>
    }
}

fn state(items: &Items, picture: &TreePicture) -> Option<Html> {
    let node = picture.state.as_ref()?;
    let path = format!("\u{2026}/{}/state", node.partition.partition);
    let epoch = format!("epoch e{}", node.leader_epoch.rem_euclid(EPOCHS));
    let content =
        html! { <><b>{ path }</b><small class={epoch}>{ "epoch " }{ node.leader_epoch }</small></> };
    let place = |column: &Column| {
        let said = match (column.leads, column.in_isr) {
            (true, _) => html! { <>{ crown() }{ " leader" }</> },
            (false, true) => html! { "in ISR" },
            (false, false) => html! { "\u{2013}" },
        };
        html! { <span class="hang" aria-hidden="true">{ said }</span> }
    };
    Some(html! {
        <div class="twig lasting">
            { items.item("label", STATE_KEY.to_owned(), node.say(), false, content) }
            { for picture.columns.iter().map(place) }
        </div>
    })
}

/// A watch.
fn eye() -> Html {
    html! {
        <svg width="22" height="14" aria-hidden="true">
            <path d="M1 7q10-11 20 0q-10 11-20 0z" /><circle cx="11" cy="7" r="3" />
        </svg>
    }
}
