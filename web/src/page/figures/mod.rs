//! Figures in the pages of the book: each element with `data-figure` is one.
//!
//! The build has put beside it what it plays (a script with its story, in templates) and how it looks at
//! first (a picture that stays until the figure lives). At most [`MOST_RUNNING`] run at a time: those that
//! were looked at last; another is a picture of where it was, and goes on from there when it is looked at.

pub mod recorded;
pub mod values;

use std::cell::RefCell;
use std::rc::Rc;

use gloo::events::EventListener;
use highwater_lab::actions::Settings;
use highwater_lab::cluster::SceneInfo;
use wasm_bindgen::JsCast;
use wasm_bindgen::prelude::Closure;
use web_sys::{Element, IntersectionObserver, IntersectionObserverEntry};
use yew::prelude::*;

use super::browser;
use super::chrome::figure::Place;
use super::{cluster, files};
use recorded::{Frame, Recorded};
use values::Value;

pub use super::cluster::figure::View;

/// Of two sizes that are drawn ahead, the larger is shown from this width on.
const WIDE_FROM_PX: i32 = 572;
/// Worlds in memory at a time.
const MOST_RUNNING: usize = 2;

/// What a figure plays.
#[derive(Clone, PartialEq)]
pub enum Plays {
    Cluster {
        scene: Rc<SceneInfo>,
        view: View,
    },
    /// One log's files.
    Files {
        story: AttrValue,
        settings: Settings,
    },
    /// What the build has played.
    Recorded {
        frames: Rc<Vec<Frame>>,
    },
}

impl Plays {
    /// The lab's scene of that name.
    pub fn scene(name: &str) -> Option<Self> {
        if name == highwater_lab::scene::NAME {
            return Some(Self::Files {
                story: highwater_lab::scene::STORY.into(),
                settings: Settings::default(),
            });
        }
        let scene = highwater_lab::cluster::scenes::find(name)?;
        Some(Self::Cluster {
            scene: Rc::new(scene.clone()),
            view: View::Grid,
        })
    }
}

#[derive(Clone, PartialEq, Properties)]
pub struct Props {
    pub plays: Plays,
    pub place: Place,
}

/// One figure, also where it is drawn as text.
#[component]
pub fn Figure(props: &Props) -> Html {
    let place = props.place.clone();
    match &props.plays {
        Plays::Cluster { scene, view } => {
            html! { <cluster::figure::Figure scene={scene.clone()} view={*view} {place} /> }
        }
        Plays::Files { story, settings } => {
            html! { <files::figure::Figure {story} settings={*settings} {place} /> }
        }
        Plays::Recorded { frames } => {
            html! { <Recorded frames={frames.clone()} {place} /> }
        }
    }
}

/// A figure's element in the page.
struct Mount {
    /// Where it lives; beside it stand its picture and its texts.
    live: Element,
    plays: Option<AppHandle<Figure>>,
    values: Vec<Value>,
    /// It needs no world: the build has played it.
    is_recorded: bool,
}

/// The figures of the page; those that were looked at, the latest last.
struct Figures {
    mounts: Vec<Mount>,
    looked_at: Vec<usize>,
}

/// Makes the page's figures live as they come into sight.
pub fn start() {
    let elements = browser::all_in_page("[data-figure]");
    if elements.is_empty() {
        return;
    }
    let mounts = elements.into_iter().map(|live| Mount {
        values: values::of(&live),
        is_recorded: live
            .parent_element()
            .is_some_and(|whole| !browser::all(&whole, ".frame").is_empty()),
        live,
        plays: None,
    });
    let figures = Rc::new(RefCell::new(Figures {
        mounts: mounts.collect(),
        looked_at: Vec::new(),
    }));
    listen_to_values(&figures);
    watch(&figures);
}

/// Tells when a figure comes into sight, or is pointed at while another one runs in its place.
fn watch(figures: &Rc<RefCell<Figures>>) {
    let seen = {
        let figures = figures.clone();
        Closure::<dyn Fn(js_sys::Array)>::new(move |entries: js_sys::Array| {
            for entry in entries.iter() {
                let entry: IntersectionObserverEntry = entry.unchecked_into();
                if entry.is_intersecting() {
                    figures.borrow_mut().look_at(&entry.target());
                }
            }
        })
    };
    let observer = IntersectionObserver::new(seen.as_ref().unchecked_ref());
    // They are watched as long as the page is there.
    seen.forget();
    for mount in &figures.borrow().mounts {
        let Some(whole) = mount.live.parent_element() else {
            continue;
        };
        if let Ok(observer) = &observer {
            observer.observe(&whole);
        }
        for event in ["pointerenter", "focusin"] {
            let (figures, element) = (figures.clone(), whole.clone());
            let look = move |_: &Event| {
                if let Ok(mut figures) = figures.try_borrow_mut() {
                    figures.look_at(&element);
                }
            };
            EventListener::new(&whole, event, look).forget();
        }
    }
}

/// A value in a sentence: each press takes the next, and plays the figure again with it.
fn listen_to_values(figures: &Rc<RefCell<Figures>>) {
    for (at, mount) in figures.borrow().mounts.iter().enumerate() {
        for value in &mount.values {
            let (figures, value) = (figures.clone(), value.clone());
            let button = value.button.clone();
            let turn = move |_: &Event| {
                value.turn();
                figures.borrow_mut().play_again(at);
            };
            EventListener::new(&button, "click", turn).forget();
        }
    }
}

impl Figures {
    fn look_at(&mut self, whole: &Element) {
        let is_it = |mount: &Mount| mount.live.parent_element().as_ref() == Some(whole);
        let Some(at) = self.mounts.iter().position(is_it) else {
            return;
        };
        self.looked_at.retain(|other| *other != at);
        if !self.mounts[at].is_recorded {
            self.looked_at.push(at);
        }
        let parked = self.looked_at.len().saturating_sub(MOST_RUNNING);
        for other in self.looked_at.drain(..parked) {
            self.mounts[other].park();
        }
        self.mounts[at].play();
    }

    fn play_again(&mut self, at: usize) {
        let mount = &mut self.mounts[at];
        mount.end();
        // Another run: its places are others, but it tells the same moments.
        let _ = mount.live.remove_attribute("data-link");
        let whole = mount.live.parent_element();
        if let Some(whole) = whole {
            self.look_at(&whole);
        }
    }
}

impl Mount {
    fn play(&mut self) {
        if self.plays.is_some() {
            return;
        }
        let Some(plays) = self.texts() else { return };
        let link = self.attribute("data-link");
        // The link is the exact place; only where there is none, after another value was taken, the moment is.
        let moment = match link.is_empty() {
            true => self.attribute("data-moment").parse().unwrap_or_default(),
            false => 0,
        };
        let place = Place {
            root: Some(self.live.clone()),
            width: 0,
            link: link.into(),
            moment,
        };
        let props = Props { plays, place };
        self.plays = Some(yew::Renderer::<Figure>::with_root_and_props(self.live.clone(), props).render());
    }

    /// Keeps the picture of where it is.
    fn park(&mut self) {
        if let (Some(still), true) = (self.beside(".still"), self.plays.is_some()) {
            still.set_inner_html(&self.live.inner_html());
        }
        self.end();
    }

    fn end(&mut self) {
        if let Some(plays) = self.plays.take() {
            plays.destroy();
        }
    }

    fn texts(&self) -> Option<Plays> {
        if let Some(scene) = self.attribute_if_any("data-of-lab") {
            return Plays::scene(&scene);
        }
        if let Some(frames) = self.frames() {
            return Some(frames);
        }
        let story = self.text(".story")?;
        let Some(script) = self.text(".script") else {
            return Some(Plays::Files {
                story: story.into(),
                settings: values::settings(&self.values),
            });
        };
        let script = self
            .values
            .iter()
            .fold(script, |script, value| value.put_into(&script));
        let name = self.attribute("data-figure");
        let map = self.attribute_if_any("data-map").is_some();
        Some(Plays::Cluster {
            scene: Rc::new(SceneInfo::figure(name, script, story)),
            view: if map { View::Map } else { View::Grid },
        })
    }

    /// Those that were drawn for about this width, with the values as they are now.
    fn frames(&self) -> Option<Plays> {
        let whole = self.live.parent_element()?;
        let wide = self.live.client_width() >= WIDE_FROM_PX;
        let size = if wide { "wide" } else { "narrow" };
        let with = values::said(&self.values);
        let frame = |element: Element| {
            let is_ours = element.get_attribute("data-with")? == with;
            let template: web_sys::HtmlTemplateElement = element.dyn_into().ok()?;
            is_ours.then(|| Frame {
                html: template.inner_html(),
                button: template.get_attribute("data-button").unwrap_or_default(),
                ask: template
                    .get_attribute("data-ask")
                    .and_then(|ask| Frame::asking(&ask)),
            })
        };
        let elements = browser::all(&whole, &format!(".frame.{size}")).into_iter();
        let frames: Vec<Frame> = elements.filter_map(frame).collect();
        (!frames.is_empty()).then(|| Plays::Recorded {
            frames: Rc::new(frames),
        })
    }

    fn attribute(&self, name: &str) -> String {
        self.attribute_if_any(name).unwrap_or_default()
    }

    fn attribute_if_any(&self, name: &str) -> Option<String> {
        self.live.get_attribute(name)
    }

    fn beside(&self, selector: &str) -> Option<Element> {
        browser::all(&self.live.parent_element()?, selector)
            .into_iter()
            .next()
    }

    /// The text of a template.
    fn text(&self, selector: &str) -> Option<String> {
        let template: web_sys::HtmlTemplateElement = self.beside(selector)?.dyn_into().ok()?;
        template.content().text_content()
    }
}

/// A figure as it is at that moment, `width` px wide, as a page's text: for a reader without scripts, and
/// until the figure lives. Its buttons are there for their room; the stylesheet hides them.
#[cfg(not(target_arch = "wasm32"))]
pub async fn still(plays: Plays, width: u32, moment: usize) -> String {
    let place = Place {
        root: None,
        width,
        link: AttrValue::default(),
        moment,
    };
    let renderer = yew::LocalServerRenderer::<Figure>::with_props(Props { plays, place });
    renderer.hydratable(false).render().await
}
