//! What a build has: all, or what the scenes of the page play.
//!
//! The page is held to a weight, and code is what it weighs. So without the feature `full` there are no
//! consumers and no groups, nothing that only operators ask, and of each message one version
//! ([`SIMULATED`](crate::protocol::api::SIMULATED)). What depends on it asks here, so that every build
//! checks all of the code, and the compiler leaves out what cannot be reached.

use std::ops::{Deref, DerefMut};

/// Whether all of it is there: feature `full`.
pub const FULL: bool = cfg!(feature = "full");

/// A thing with this in it exists in a full build alone; all that is done with it is left out of others.
#[cfg(feature = "full")]
#[derive(Clone, Copy, Debug)]
pub enum OnlyInFull {
    There,
}

#[cfg(not(feature = "full"))]
#[derive(Clone, Copy, Debug)]
pub enum OnlyInFull {}

impl OnlyInFull {
    pub const fn get() -> Option<Self> {
        #[cfg(feature = "full")]
        let there = Some(Self::There);
        #[cfg(not(feature = "full"))]
        let there = None;
        there
    }
}

/// A thing that there is in a full build alone.
#[derive(Clone, Debug)]
pub struct InFull<T> {
    _only_in_full: OnlyInFull,
    thing: Box<T>,
}

impl<T> InFull<T> {
    /// `None` where there is none; nothing is made there.
    pub fn new<E>(make: impl FnOnce() -> Result<T, E>) -> Option<Result<Self, E>> {
        let only_in_full = OnlyInFull::get()?;
        Some(make().map(|thing| Self {
            _only_in_full: only_in_full,
            thing: Box::new(thing),
        }))
    }
}

impl<T> Deref for InFull<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.thing
    }
}

impl<T> DerefMut for InFull<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.thing
    }
}
