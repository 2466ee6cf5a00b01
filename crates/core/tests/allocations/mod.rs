//! An allocator that counts, for tests that hot paths do not allocate: a test binary that has this
//! module runs with it.
//!
//! The counter is the thread's own: the test harness allocates in its own threads when it likes.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

thread_local! {
    static CALLS: Cell<u64> = const { Cell::new(0) };
}

/// Calls of the allocator by this thread so far.
pub fn calls() -> u64 {
    CALLS.with(Cell::get)
}

/// A thread that is ending has no counter any more, and nobody asks for it.
fn count() {
    let _ = CALLS.try_with(|calls| calls.set(calls.get() + 1));
}

// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promises are the system allocator's demands.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        count();
        // SAFETY: `place` came from `alloc` above with this layout.
        unsafe { System.dealloc(place, layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: as for `dealloc`, and `size` is the caller's promise.
        unsafe { System.realloc(place, layout, size) }
    }
}
