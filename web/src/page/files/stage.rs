//! The picture in the middle.

use highwater_lab::lab::Lab;
use highwater_lab::picture::Picture;
use yew::prelude::*;

use super::Wishes;
use super::{steps, strip};

/// A figure is one of several: it has no id.
pub fn view(lab: &Lab, wishes: &Wishes, width: u32, id: Option<&'static str>) -> Html {
    let picture = Picture::of(lab);
    let content = match &picture {
        Picture::Strip { segments, close_up } => strip::view(lab, segments, close_up.as_ref(), wishes, width),
        Picture::Steps { steps, cost } => steps::view(lab, steps, cost.as_deref(), wishes),
    };
    html! {
        <div {id} class="stage" role="group" aria-label="The log's files" data-group="">
            { content }
        </div>
    }
}
