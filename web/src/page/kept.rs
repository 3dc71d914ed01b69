//! A scene's lab as yew keeps it: what the reader wishes makes the next one.

use std::rc::Rc;

use yew::prelude::*;

/// What a scene plays.
pub trait Playable: Sized {
    type Wish;

    /// The same after one wish more.
    fn after(&self, wish: Self::Wish) -> Self;

    /// To go where a link leads, its text as behind the `#`.
    fn open(link: String) -> Self::Wish;
}

/// `Err` when the scene itself cannot be played.
#[derive(Clone)]
pub struct Kept<L>(pub Result<L, String>);

impl<L: Playable> Kept<L> {
    /// At the scene's beginning, or where the link leads.
    pub fn first(lab: Result<L, String>, link: &str) -> Self {
        Self(lab.map(|lab| match link {
            "" => lab,
            link => lab.after(L::open(link.to_owned())),
        }))
    }
}

impl<L: Playable + 'static> Reducible for Kept<L> {
    type Action = L::Wish;

    fn reduce(self: Rc<Self>, wish: L::Wish) -> Rc<Self> {
        match &self.0 {
            Ok(lab) => Rc::new(Self(Ok(lab.after(wish)))),
            Err(_) => self,
        }
    }
}

/// In place of a scene that cannot be played.
pub fn refusal(why: &str) -> Html {
    html! { <main><p>{ format!("This scene cannot be told: {why}.") }</p></main> }
}
