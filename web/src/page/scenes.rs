//! Which scenes there are, and the one that an element shows: the one that its link names, else the one
//! that it asks for with `data-scene`.
//!
//! Below the page's own scene (`data-gallery`) stand all of them, to choose from.

use gloo::events::EventListener;
use web_sys::Element;
use yew::prelude::*;

use super::browser;
use super::{cluster, files};

/// What every kind of scene is given.
#[derive(Clone, PartialEq, Properties)]
pub struct SceneProps {
    /// The element that the scene is mounted in.
    pub root: Element,
    /// The link to open; empty for the scene's beginning.
    pub link: AttrValue,
}

/// A scene to choose.
struct Scene {
    name: &'static str,
    title: &'static str,
    question: &'static str,
    kind: Kind,
}

enum Kind {
    Cluster,
    Files,
}

/// In the order of the gallery.
fn all() -> Vec<Scene> {
    let clusters = highwater_lab::cluster::SCENES.iter().map(|scene| Scene {
        name: &scene.name,
        title: &scene.title,
        question: &scene.question,
        kind: Kind::Cluster,
    });
    let files = Scene {
        name: highwater_lab::scene::NAME,
        title: "A log grows, a lookup finds",
        question: "How is one record found among millions, without a hash table?",
        kind: Kind::Files,
    };
    clusters.chain([files]).collect()
}

impl Scene {
    fn show(&self, scene: SceneProps) -> Html {
        match self.kind {
            Kind::Cluster => html! { <cluster::Scene name={self.name} {scene} /> },
            Kind::Files => html! { <files::Scene ..scene /> },
        }
    }
}

#[derive(Clone, PartialEq, Properties)]
pub struct Props {
    pub root: Element,
    /// The scene that is shown when no link names one.
    pub wanted: AttrValue,
    /// The whole page is the lab's: its address carries the link, and the gallery stands below.
    pub gallery: bool,
}

/// A scene, and another one when the address names another.
#[component]
pub fn Lab(props: &Props) -> Html {
    let opened = use_opened();
    let named = browser::part_of(&opened.1, "scene");
    let all = all();
    let find = |name: &str| all.iter().find(|scene| scene.name == name);
    let Some(scene) = named.and_then(find).or_else(|| find(&props.wanted)) else {
        return html! { { format!("There is no scene `{}`.", props.wanted) } };
    };
    // A bare name is no link: it stands for the scene's beginning.
    let is_name = opened.1 == format!("scene={}", scene.name);
    let link = if is_name { AttrValue::default() } else { opened.1 };
    let shown = scene.show(SceneProps {
        root: props.root.clone(),
        link,
    });
    html! {
        <>
            // Each link begins anew, with its own history.
            <div key={opened.0}>{ shown }</div>
            if props.gallery {
                { gallery(&all, scene.name) }
            }
        </>
    }
}

/// The link in the address, and how many were opened before it.
#[hook]
fn use_opened() -> (u32, AttrValue) {
    let opened = use_state(|| (0_u32, AttrValue::from(browser::address_hash())));
    let latest = use_mut_ref(|| 0_u32);
    {
        let opened = opened.setter();
        use_effect_with((), move |()| {
            let window = gloo::utils::window();
            let listener = EventListener::new(&window, "hashchange", move |_| {
                *latest.borrow_mut() += 1;
                opened.set((*latest.borrow(), AttrValue::from(browser::address_hash())));
            });
            move || drop(listener)
        });
    }
    (*opened).clone()
}

fn gallery(all: &[Scene], shown: &str) -> Html {
    let scene = |scene: &Scene| {
        let current = (scene.name == shown).then_some("true");
        html! {
            <li>
                <a href={format!("#scene={}", scene.name)} aria-current={current}>
                    <b>{ scene.title }</b>
                    <span>{ scene.question }</span>
                </a>
            </li>
        }
    };
    html! {
        <nav class="gallery" aria-label="Scenes">
            <h2>{ "All scenes" }</h2>
            <ul>{ for all.iter().map(scene) }</ul>
        </nav>
    }
}
