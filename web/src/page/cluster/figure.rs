//! A cluster's scene as a figure of the book.

use std::rc::Rc;

use highwater_lab::cluster::{ClusterLab, SceneInfo, Wish};
use yew::prelude::*;

use super::super::chrome::{self, figure};
use super::super::kept::{Kept, refusal};
use super::{Layout, Pointed, bytes, chooser, picture, play, shown};

/// What a figure draws of its run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum View {
    /// What each replica holds.
    #[default]
    Grid,
    /// Above it, the map.
    Map,
    /// Who has what in a group; the page has no groups, so that is drawn when the book is built.
    #[cfg(not(target_arch = "wasm32"))]
    Group,
}

/// A narrower figure has no room for a map.
const MAP_FROM_PX: u32 = 480;

#[derive(Clone, PartialEq, Properties)]
pub struct Props {
    pub scene: Rc<SceneInfo>,
    pub view: View,
    pub place: figure::Place,
}

#[component]
pub fn Figure(props: &Props) -> Html {
    let Props { scene, view, place } = props;
    let state = use_reducer(|| {
        let first = Kept::first(ClusterLab::of((**scene).clone()), &place.link);
        Kept(first.0.map(|lab| to_moment(lab, place.moment)))
    });
    let width = figure::use_width(place);
    let passing = chrome::use_passing();
    let turned = use_state(|| None::<usize>);
    let (send, flown) = play::use_play(&state, &passing);
    let lab = match &state.0 {
        Ok(lab) => lab,
        Err(why) => return refusal(why),
    };
    let wishes = state.dispatcher();
    let drawn = match view {
        #[cfg(not(target_arch = "wasm32"))]
        View::Group => lab.matrix().as_ref().map(super::group::view),
        View::Map if width >= MAP_FROM_PX => picture(lab, width, Layout::Column, flown, &turned),
        _ => picture(lab, width, Layout::Narrow, None, &turned),
    };
    let drawn = html! {
        <>
            <Pointed legend={None::<&'static str>} choose={chooser(&wishes)} id={None}>{ drawn }</Pointed>
            { bytes(lab, &wishes, width) }
        </>
    };
    figure::view(&shown(lab), &send, place, drawn)
}

/// So many moments on, as far as there are.
fn to_moment(lab: ClusterLab, moment: usize) -> ClusterLab {
    let steps = lab.place().moment_steps;
    match steps.get(moment) {
        Some(step) if moment > 0 => lab.after(Wish::GoTo(*step)),
        _ => lab,
    }
}
