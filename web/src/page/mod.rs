//! The page's parts: [`scenes`] chooses what is shown; [`chrome`] is what stands around every picture;
//! [`files`] and [`cluster`] are the two kinds of scene, [`kept`] the state of either, and [`bytes`] what both open. [`figures`] are scenes in the pages of the book.

mod browser;
mod bytes;
pub mod chrome;
mod cluster;
pub mod figures;
mod files;
mod kept;
mod scenes;

/// Shows the page's scenes and figures.
pub fn start() {
    browser::tell_of_panics();
    for (root, wanted) in browser::scenes() {
        let props = scenes::Props {
            root: root.clone(),
            wanted: wanted.into(),
            gallery: root.has_attribute("data-gallery"),
        };
        yew::Renderer::<scenes::Lab>::with_root_and_props(root, props).render();
    }
    figures::start();
}
