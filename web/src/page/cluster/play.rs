//! Time on the screen: a step with the messages that bring it, and play from moment to moment.
//!
//! A step first lets its messages fly, then the picture changes; a press meanwhile changes it at once.
//! Play goes on so to the story's next moment, and there waits for the reader. Who wants no motion gets
//! every change without it.

use std::rc::Rc;

use gloo::timers::callback::Timeout;
use highwater_lab::cluster::{ClusterLab, Wish};
use yew::prelude::*;

use super::State;
use super::flight::Flown;
use super::map::SharedStage;
use crate::page::browser;
use crate::page::chrome::{Do, Passing};

/// From one moment to the next play takes at most so long, however many steps there are.
const MOMENT_MS: f64 = 3500.0;

/// Takes what the reader wants; and what flies at present.
#[hook]
pub fn use_play(state: &UseReducerHandle<State>, passing: &Passing) -> (Callback<Do>, Option<Flown>) {
    let flown = use_state(|| None::<Flown>);
    let began = use_mut_ref(|| 0_usize);
    let playing = passing.playing.clone();
    {
        // When the messages have arrived, the picture changes.
        let (flown, state) = (flown.clone(), state.dispatcher());
        use_effect_with((*flown).clone(), move |flying| {
            let wait = flying.as_ref().map(|flying| {
                Timeout::new(flying.lasts_ms as u32, move || {
                    flown.set(None);
                    state.dispatch(Wish::Step);
                })
            });
            move || drop(wait)
        });
    }
    {
        // While it plays, one step follows the other.
        let (flown, playing, began) = (flown.clone(), playing.clone(), began.clone());
        let lab = state.0.as_ref().ok().cloned();
        let place = lab.as_ref().map(|lab| (lab.is_story(), lab.place().step));
        use_effect_with(
            (*playing, flown.is_some(), place),
            move |(is_playing, is_flying, _)| {
                if let Some(lab) = lab.filter(|_| *is_playing && !is_flying) {
                    match next(&lab, *began.borrow()) {
                        Some(next) => flown.set(Some(next)),
                        None => playing.set(false),
                    }
                }
            },
        );
    }
    let flying = (*flown).clone();
    let state = state.clone();
    let send = Callback::from(move |wish: Do| {
        let Ok(lab) = &state.0 else { return };
        let still = browser::wants_no_motion();
        let was_flying = flown.is_some();
        let was_playing = *playing;
        if wish != Do::Close {
            flown.set(None);
            playing.set(false);
        }
        match wish {
            Do::Step if !was_flying && !still => {
                match flight(lab, 1.0).filter(|flown| !flown.flights.is_empty()) {
                    Some(flight) => flown.set(Some(flight)),
                    None => state.dispatch(Wish::Step),
                }
            }
            Do::Main if lab.is_story() && !was_playing && !still && goes_on(lab) => {
                *began.borrow_mut() = lab.place().step;
                playing.set(true);
            }
            Do::Step => state.dispatch(Wish::Step),
            Do::Back => state.dispatch(Wish::Back),
            Do::Event => state.dispatch(Wish::Event),
            Do::EventBack => state.dispatch(Wish::EventBack),
            Do::NextMoment | Do::Main => state.dispatch(Wish::NextMoment),
            Do::PreviousMoment => state.dispatch(Wish::PreviousMoment),
            Do::GoTo(at) => state.dispatch(Wish::GoTo(at)),
            Do::Guess(choice) => state.dispatch(Wish::Guess(choice)),
            Do::Explore => state.dispatch(Wish::Explore),
            Do::Story => state.dispatch(Wish::Story),
            Do::Undo => state.dispatch(Wish::Undo),
            Do::Play if was_playing => {}
            Do::Play => {
                *began.borrow_mut() = lab.place().step;
                playing.set(true);
            }
            Do::Close => state.dispatch(Wish::Close),
        }
    });
    (send, flying)
}

/// There is another moment.
fn goes_on(lab: &ClusterLab) -> bool {
    let place = lab.place();
    place.moment_steps.iter().any(|step| *step > place.step)
}

/// The next step of play; `None` at the next moment, or at the end.
fn next(lab: &ClusterLab, began: usize) -> Option<Flown> {
    let place = lab.place();
    let at_moment = place.moment_steps.contains(&place.step) && place.step != began;
    if at_moment || place.step >= place.last_step {
        return None;
    }
    let steps = &place.moment_steps;
    let from = steps
        .iter()
        .rev()
        .find(|step| **step <= place.step)
        .copied()
        .unwrap_or_default();
    let to = steps
        .iter()
        .find(|step| **step > place.step)
        .copied()
        .unwrap_or(place.last_step);
    let whole = (lab.play_ms(to) - lab.play_ms(from)).max(1.0);
    flight(lab, (MOMENT_MS / whole).min(1.0))
}

/// What flies from here to the next step; time on the screen is `scale` times the run's own.
fn flight(lab: &ClusterLab, scale: f64) -> Option<Flown> {
    let step = lab.place().step;
    let sides = lab.sides();
    let flights = match &sides[..] {
        [_] => lab.flights(0, step),
        _ => Vec::new(),
    };
    let next = lab.after(Wish::Step).sides().into_iter().next()?;
    let (from_ms, to_ms) = (lab.play_ms(step), lab.play_ms(step + 1));
    Some(Flown {
        flights: Rc::new(flights),
        from_ms,
        to_ms,
        lasts_ms: (to_ms - from_ms) * scale,
        next: SharedStage(next.stage),
    })
}
