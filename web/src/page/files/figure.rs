//! A log's files as a figure of the book.

use highwater_lab::actions::Settings;
use highwater_lab::lab::{Lab, Wish};
use highwater_lab::scene::Scene;
use yew::prelude::*;

use super::super::chrome::{self, figure};
use super::super::kept::{Kept, refusal};
use super::{shown, stage, to_wishes};

#[derive(Clone, PartialEq, Properties)]
pub struct Props {
    /// A story of the strip.
    pub story: AttrValue,
    pub settings: Settings,
    pub place: figure::Place,
}

#[component]
pub fn Figure(props: &Props) -> Html {
    let place = &props.place;
    let state = use_reducer(|| {
        let lab = Scene::of(&props.story).and_then(Lab::new);
        let lab = lab.map(|lab| match props.settings == Settings::default() {
            true => lab,
            false => lab.after(Wish::Set(props.settings)),
        });
        let first = Kept::first(lab, &place.link);
        Kept(first.0.map(|lab| match place.moment {
            0 => lab,
            moment => lab.after(Wish::GoTo(moment)),
        }))
    });
    let width = figure::use_width(place);
    let passing = chrome::use_passing();
    let send = to_wishes(&state, &passing);
    let wishes = state.dispatcher();
    let lab = match &state.0 {
        Ok(lab) => lab,
        Err(why) => return refusal(why),
    };
    figure::view(&shown(lab), &send, place, stage::view(lab, &wishes, width, None))
}
