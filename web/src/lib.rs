//! What a scene of the lab is, without a browser: the run, the pictures' contents, the sentences.
//!
//! The page ([`page`]) only draws what stands here and sends back what the reader wants. So the same
//! words can be computed natively, and a browser test compares them with what the page shows.
//!
//! Reading order: [`actions`] is what can happen; [`world`] the run at one moment; [`strip`] its files
//! as a picture, [`places`] where each part is drawn, [`close_up`] one thing of it, large; [`finding`] a
//! look-up, [`steps`] its pictures; [`fields`] the values for sentences; [`scene`] the story and its
//! predictions; [`lab`] what the reader does, [`spot`] where that has led, [`free_play`] what is said
//! without a story; [`picture`] what the stage shows and says; [`link`] all of it in one line;
//! [`annotate`] the bytes of what is chosen; [`say`] numbers and times for people, [`terms`] words that the
//! glossary explains.

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used))]
#![forbid(unsafe_code)]

// The page speaks of what it draws as any other user of it does.
extern crate self as highwater_lab;

pub mod actions;
pub mod annotate;
mod batch_bytes;
pub mod close_up;
pub mod cluster;
pub mod code;
pub mod fields;
pub mod finding;
pub mod free_play;
pub mod lab;
pub mod link;
pub mod page;
pub mod picture;
pub mod places;
pub mod say;
pub mod scene;
pub mod sealed;
pub mod spot;
pub mod steps;
pub mod strip;
pub mod terms;
pub mod world;
