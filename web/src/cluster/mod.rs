//! Scenes of a whole cluster: the run of a script, the places in it, and what a reader does there.
//!
//! The picture is the core's [`stage`](highwater_core::stage); here is how a reader moves through a run.
//!
//! Reading order: [`scenes`] which there are; [`run`] a script that was played, seen from any of its facts;
//! [`timeline`] where a reader can stand, [`pace`] when that is on the screen, [`flight`] the messages in
//! between; [`lab`] what the reader does, [`focus`] what the story points at, [`own`] a run of one's own,
//! [`offer`] what can be done in it, [`tune`] what can be set otherwise, [`jump`] looking ahead; [`outcome`] what a fault has cost, [`events`]
//! what happened in single facts, [`state`] what there is now, [`opened`] in bytes; [`link`] all of it in one
//! line, [`svg`] as a picture; `matrix` who has what in a group.

pub mod events;
pub mod flight;
pub mod focus;
pub mod jump;
pub mod lab;
pub mod link;
#[cfg(not(target_arch = "wasm32"))]
pub mod matrix;
pub mod offer;
pub mod opened;
pub mod outcome;
pub mod own;
pub mod pace;
pub mod run;
pub mod scenes;
pub mod state;
pub mod svg;
pub mod timeline;
pub mod tune;

pub use flight::Flight;
pub use highwater_core::stage::Picture;
pub use jump::JumpTo;
pub use lab::{ClusterLab, Place, SideView, Wish};
pub use offer::Offer;
pub use scenes::{SCENES, SceneInfo};
