//! Parts of a world that copies of it share until one changes.
//!
//! In a build for the page ([`FULL`](crate::full::FULL) is not) nothing is shared: nobody copies a world
//! there, and the code that copies a whole broker is as large as the broker.

#[cfg(feature = "full")]
pub type Shared<T> = std::sync::Arc<T>;
#[cfg(not(feature = "full"))]
pub type Shared<T> = Box<T>;

/// The part, to be changed: a copy of its own, if another world has it too.
pub fn make_mut<T: Clone>(shared: &mut Shared<T>) -> &mut T {
    #[cfg(feature = "full")]
    let part = Shared::make_mut(shared);
    #[cfg(not(feature = "full"))]
    let part = &mut **shared;
    part
}
