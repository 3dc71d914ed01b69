//! The scene of a log's files: its state, its play, and the picture put together from its parts.

mod close_up;
mod controls;
pub mod figure;
mod marks;
mod stage;
mod steps;
mod strip;

use std::rc::Rc;

use gloo::timers::callback::Timeout;
use highwater_core::disk::ReadAt;
use highwater_core::sim::log_on_memory_disk::DIR;
use highwater_lab::annotate::{File, annotate};
use highwater_lab::free_play;
use highwater_lab::lab::{Lab, Wish};
use highwater_lab::link;
use highwater_lab::scene::Scene as Story;
use highwater_lab::strip::{FILES, file_name};
use yew::prelude::*;

use super::browser;
use super::bytes::Bytes;
use super::chrome::{self, Do, Passing, Shown, keys};
use super::kept::{Kept, Playable, refusal};
use super::scenes::SceneProps;

impl Playable for Lab {
    type Wish = Wish;

    fn after(&self, wish: Wish) -> Self {
        Lab::after(self, wish)
    }

    fn open(link: String) -> Wish {
        Wish::Open(link)
    }
}

/// What yew keeps.
pub type State = Kept<Lab>;

/// Where wishes go.
pub type Wishes = UseReducerDispatcher<State>;

/// A moment stays at least so long while the story plays, and longer by each word.
const PLAY_MS: u32 = 2500;
const PLAY_WORD_MS: u32 = 220;
/// From this width on, bytes stand beside the picture.
const BESIDE_PX: u32 = 1100;
const BYTES_PX: u32 = 470;

#[component]
pub fn Scene(props: &SceneProps) -> Html {
    let state = use_reducer(|| Kept::first(Story::load().and_then(Lab::new), &props.link));
    let width = chrome::use_width();
    let passing = chrome::use_passing();
    let wishes = state.dispatcher();
    let send = to_wishes(&state, &passing);
    keys::use_keys(send.clone(), passing.clone());
    use_play(&state, &passing);
    let lab = match &state.0 {
        Ok(lab) => lab,
        Err(why) => return refusal(why),
    };
    let shown = shown(lab);
    browser::remember_link(&props.root, &shown.link);
    let annotated = lab
        .chosen
        .and_then(|chosen| annotate(lab.world()?.host(), chosen))
        .map(Rc::new);
    let beside = width >= BESIDE_PX && annotated.is_some();
    let stage_width = width.saturating_sub(chrome::padding(width)) - if beside { BYTES_PX } else { 0 };
    let close = {
        let wishes = wishes.clone();
        Callback::from(move |_: MouseEvent| wishes.dispatch(Wish::Choose(None)))
    };
    let picture = html! {
        <>
            <div class="picture">
                { stage::view(lab, &wishes, stage_width, Some("stage")) }
                { controls::view(lab, &wishes) }
            </div>
            if let Some(annotated) = annotated {
                <Bytes shown={annotated} files={files(lab)} {close} narrow={width < 700} />
            }
        </>
    };
    chrome::view(
        &shown,
        &send,
        &passing,
        classes!(beside.then_some("beside")),
        picture,
    )
}

/// The files of the chosen segment as they are on the disk.
fn files(lab: &Lab) -> Rc<Vec<File>> {
    let (Some(world), Some(chosen)) = (lab.world(), lab.chosen) else {
        return Rc::default();
    };
    let host = world.host();
    let files = FILES.into_iter().filter_map(|kind| {
        let name = file_name(chosen.segment(), kind);
        let path = format!("{}/{name}", host.path());
        let len = host.disk().len(DIR, &path).ok()?;
        let bytes = host.disk().read_at(DIR, &path, 0, len as usize).ok()?;
        Some(File { name, bytes })
    });
    Rc::new(files.collect())
}

/// What the reader wants, in this scene's words.
fn to_wishes(state: &UseReducerHandle<State>, passing: &Passing) -> Callback<Do> {
    let (state, playing) = (state.clone(), passing.playing.clone());
    Callback::from(move |wish| {
        state.dispatch(match wish {
            Do::Step | Do::Event | Do::NextMoment => Wish::Step,
            Do::Back | Do::EventBack | Do::PreviousMoment => Wish::Back,
            Do::GoTo(at) => Wish::GoTo(at),
            Do::Main => state.0.as_ref().map_or(Wish::Step, |lab| main_button(lab).1),
            Do::Guess(choice) => Wish::Guess(choice),
            Do::Explore => Wish::Explore,
            Do::Story => Wish::Story,
            Do::Undo => Wish::Undo,
            Do::Play => return playing.set(!*playing),
            Do::Close => Wish::Choose(None),
        });
    })
}

fn shown(lab: &Lab) -> Shown {
    let (at, last, is_story) = (lab.spot.at, lab.last(), lab.is_story());
    let more_to_see = is_story || lab.world().is_some_and(free_play::is_stepping);
    Shown {
        title: lab.scene.story.title.clone(),
        question: lab.scene.story.question.clone(),
        place: if is_story {
            format!("moment {} of {}", at + 1, lab.scene.moments())
        } else {
            format!("action {at} of {last}")
        },
        opening: is_story && at == 0,
        is_story,
        link: link::write(&lab.spot),
        notice: lab.notice.clone(),
        verdict: lab.verdict(),
        sentence: lab.sentence(),
        prediction: lab.prediction(),
        guessed: lab.guesses.get(at).copied().flatten(),
        button: main_button(lab).0,
        at,
        last,
        dots: if is_story {
            (0..=last).collect()
        } else {
            Vec::new()
        },
        can_step: at < last || more_to_see,
        can_play: is_story,
        can_undo: lab.can_undo(),
        summary: None,
    }
}

fn main_button(lab: &Lab) -> (String, Wish) {
    if let Some(moment) = lab.scene.moment(lab.spot.at).filter(|_| lab.is_story()) {
        return (moment.button.clone(), Wish::Step);
    }
    let Some(world) = lab.world() else {
        return ("Begin again".to_owned(), Wish::Story);
    };
    if lab.spot.at < lab.last() {
        return ("Step on".to_owned(), Wish::Step);
    }
    let (text, action) = free_play::button(world);
    (text.to_owned(), Wish::Act(action))
}

/// Steps through the story by itself, up to a question or the end.
#[hook]
fn use_play(state: &UseReducerHandle<State>, passing: &Passing) {
    let wishes = state.dispatcher();
    let playing = passing.playing.clone();
    let place = state.0.as_ref().ok().map(|lab| {
        let goes_on = lab.is_story() && lab.spot.at < lab.last() && lab.prediction().is_none();
        let words = lab.sentence().split_whitespace().count() as u32;
        (lab.spot.at, goes_on, words)
    });
    use_effect_with((*playing, place), move |(is_playing, place)| {
        let mut wait = None;
        match place {
            Some((_, true, words)) if *is_playing => {
                wait = Some(Timeout::new(PLAY_MS + PLAY_WORD_MS * words, move || {
                    wishes.dispatch(Wish::Step);
                }));
            }
            _ if *is_playing => playing.set(false),
            _ => {}
        }
        move || drop(wait)
    });
}
