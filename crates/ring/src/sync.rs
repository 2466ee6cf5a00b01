//! Atomics, cells and shared ownership: the real ones, or those of the model checker, which tries
//! every order of events that the memory model allows (`scripts/loom.sh`).

#[cfg(loom)]
pub(crate) use loom::{
    cell::UnsafeCell,
    sync::Arc,
    sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
};

#[cfg(not(loom))]
pub(crate) use self::real::*;

#[cfg(not(loom))]
mod real {
    pub(crate) use alloc::sync::Arc;
    #[cfg(feature = "shared")]
    pub(crate) use core::sync::atomic::AtomicU64;
    pub(crate) use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    /// `core`'s cell with the model checker's methods.
    pub(crate) struct UnsafeCell<T>(core::cell::UnsafeCell<T>);

    impl<T> UnsafeCell<T> {
        pub(crate) fn new(value: T) -> UnsafeCell<T> {
            UnsafeCell(core::cell::UnsafeCell::new(value))
        }

        #[inline(always)]
        pub(crate) fn with<R>(&self, read: impl FnOnce(*const T) -> R) -> R {
            read(self.0.get())
        }

        #[inline(always)]
        pub(crate) fn with_mut<R>(&self, write: impl FnOnce(*mut T) -> R) -> R {
            write(self.0.get())
        }
    }
}
