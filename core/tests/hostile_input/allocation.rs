//! An allocator that knows the most that its thread held at once.

#![allow(
    unsafe_code,
    reason = "GlobalAlloc is an unsafe trait; each call goes to the system's allocator as it came"
)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

thread_local! {
    /// Bytes held now, and the most so far; more may be freed than was counted, hence signed.
    static HELD: Cell<(isize, isize)> = const { Cell::new((0, 0)) };
}

fn count(change: isize) {
    // A thread that is ending has no cell any more; nobody asks then.
    let _ = HELD.try_with(|held| {
        let (now, most) = held.get();
        let now = now + change;
        held.set((now, most.max(now)));
    });
}

unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // For a moment both may be there.
        count(new_size as isize);
        count(-(layout.size() as isize));
        unsafe { System.realloc(block, layout, new_size) }
    }
}

/// The most bytes that this thread held at once during `work`, beyond what it held before.
pub fn most_held_during(work: impl FnOnce()) -> usize {
    HELD.with(|held| held.set((0, 0)));
    work();
    HELD.with(|held| held.get().1.unsigned_abs())
}

#[test]
fn the_count_sees_a_block_and_its_growth() {
    assert_eq!(most_held_during(|| drop(Vec::<u8>::with_capacity(1000))), 1000);
    let grown = most_held_during(|| {
        let mut bytes = vec![0u8; 1000];
        bytes.reserve_exact(2000);
    });
    assert_eq!(grown, 4000);
}
