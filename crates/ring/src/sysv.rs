//! System V semaphores, and data that one of them guards.
//!
//! The baseline of the rings in the measurements of DWCS (section 5, Figure 5(b)): a process
//! acquires the semaphore of a stream before it puts a packet into the stream's queue. Nothing
//! else needs them.

use alloc::boxed::Box;
use core::cell::UnsafeCell;
use core::fmt;
use core::ops::{Deref, DerefMut};
use std::io;

use libc::{EINTR, IPC_CREAT, IPC_PRIVATE, IPC_RMID, SETVAL, c_int, c_short, c_ushort};

/// A set of semaphores of the kernel, each 1 at first; the set is removed when this is dropped.
#[derive(Debug)]
struct Semaphores {
    id: c_int,
}

impl Semaphores {
    /// A new set that only this process and its children know of.
    fn new(count: u16) -> io::Result<Semaphores> {
        // SAFETY: the call takes numbers only.
        let id = unsafe { libc::semget(IPC_PRIVATE, count.into(), IPC_CREAT | 0o600) };
        let set = Semaphores { id: checked(id)? };
        for semaphore in 0..count {
            set.control(semaphore, SETVAL, 1)?;
        }
        Ok(set)
    }

    /// P: waits until the semaphore is above 0 and takes 1.
    fn acquire(&self, semaphore: u16) -> io::Result<()> {
        self.add(semaphore, -1)
    }

    /// V: adds 1.
    fn release(&self, semaphore: u16) -> io::Result<()> {
        self.add(semaphore, 1)
    }

    fn add(&self, semaphore: u16, change: c_short) -> io::Result<()> {
        let sem_num: c_ushort = semaphore;
        let mut operation = libc::sembuf { sem_num, sem_op: change, sem_flg: 0 };
        loop {
            // SAFETY: one operation, as the last argument says, that lives during the call.
            let done = checked(unsafe { libc::semop(self.id, &mut operation, 1) });
            match done {
                Err(error) if error.raw_os_error() == Some(EINTR) => {}
                done => return done.map(drop),
            }
        }
    }

    fn control(&self, semaphore: u16, command: c_int, value: c_int) -> io::Result<c_int> {
        // SAFETY: the two commands used take a number or nothing as the last argument.
        checked(unsafe { libc::semctl(self.id, semaphore.into(), command, value) })
    }
}

impl Drop for Semaphores {
    fn drop(&mut self) {
        // Only fails when another process has removed the set.
        let _ = self.control(0, IPC_RMID, 0);
    }
}

fn checked(result: c_int) -> io::Result<c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Values, each of which only the holder of its semaphore may touch.
pub struct Guarded<T> {
    set: Semaphores,
    values: Box<[UnsafeCell<T>]>,
}

// SAFETY: a value is reached only through `Guard`, of which there is one at a time for each value,
// because its semaphore starts at 1 and no other code adds to it: the set has no key by which another
// program could come upon it.
unsafe impl<T: Send> Sync for Guarded<T> {}

impl<T> Guarded<T> {
    /// A semaphore for each value: at most 65,535, and at most 32,000 unless the kernel's
    /// `kernel.sem` is set otherwise.
    ///
    /// # Errors
    /// `InvalidInput` for more values than that; the kernel's error, such as `ENOSPC` where all sets are in use.
    pub fn new(values: impl IntoIterator<Item = T>) -> io::Result<Guarded<T>> {
        let values: Box<[_]> = values.into_iter().map(UnsafeCell::new).collect();
        let count = u16::try_from(values.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
        Ok(Guarded { set: Semaphores::new(count)?, values })
    }

    /// P on the semaphore of value `index`; V when the guard is dropped.
    ///
    /// # Errors
    /// `InvalidInput` when there is no such value; the kernel's error of `semop(2)`.
    pub fn lock(&self, index: usize) -> io::Result<Guard<'_, T>> {
        let semaphore = u16::try_from(index).map_err(|_| io::ErrorKind::InvalidInput)?;
        let value = self.values.get(index).ok_or(io::ErrorKind::InvalidInput)?;
        self.set.acquire(semaphore)?;
        Ok(Guard { set: &self.set, semaphore, value })
    }
}

impl<T> fmt::Debug for Guarded<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guarded").field("set", &self.set).finish_non_exhaustive()
    }
}

/// Leave to touch a value, given up when this is dropped.
#[derive(Debug)]
pub struct Guard<'a, T> {
    set: &'a Semaphores,
    semaphore: u16,
    value: &'a UnsafeCell<T>,
}

impl<T> Deref for Guard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the semaphore was acquired, so no other guard of this value exists.
        unsafe { &*self.value.get() }
    }
}

impl<T> DerefMut for Guard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above, and this guard is borrowed mutably.
        unsafe { &mut *self.value.get() }
    }
}

impl<T> Drop for Guard<'_, T> {
    fn drop(&mut self) {
        // Only fails when another process has removed the set; then no process can enter any more.
        let _ = self.set.release(self.semaphore);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    /// Fails when `lock` does not acquire.
    #[test]
    fn the_lock_is_exclusive() {
        let counters = Guarded::new([0u64, 0]).unwrap();
        let add = |index: usize| {
            for _ in 0..500 {
                let mut counter = counters.lock(index).unwrap();
                let before = *counter;
                thread::yield_now();
                *counter = before + 1;
            }
        };
        thread::scope(|scope| {
            for thread in 0..4 {
                scope.spawn(move || add(thread % 2));
            }
        });
        assert_eq!([0, 1].map(|i| *counters.lock(i).unwrap()), [1000, 1000]);
        assert!(counters.lock(2).is_err());
    }

    /// Fails when the set stays in the kernel, which has few.
    #[test]
    fn the_semaphore_set_is_removed_with_its_owner() {
        let set = Semaphores::new(1).unwrap();
        let id = set.id;
        drop(set);
        let gone = core::mem::ManuallyDrop::new(Semaphores { id });
        assert!(gone.acquire(0).is_err());
    }
}
