//! The primitives that need `unsafe`, kept small and apart so that the policies can forbid it.
//!
//! - [`spsc`]: a bounded ring from one thread to another, without locks.
//! - `shared` (feature `shared`, Linux): the same ring from a process that is not trusted.
//! - `sysv` (feature `sysv`, Unix): System V semaphores, which the rings are measured against.
//! - `exec` (feature `exec`, Linux): executing a program that inherits whether SIGPIPE is ignored.
//! - [`prefetch`]: asking the cache for a line.
//!
//! Without features the crate needs no standard library and no other crate.
//!
//! ```
//! let (mut producer, mut consumer) = laxity_ring::spsc::channel(64);
//! let other = std::thread::spawn(move || (0..64).all(|n| producer.push(n).is_ok()));
//! assert!(other.join().unwrap());
//! assert_eq!((0..64).map(|_| consumer.pop().unwrap()).sum::<u32>(), 2016);
//! ```
#![no_std]
#![deny(unsafe_op_in_unsafe_fn)]
#![warn(clippy::undocumented_unsafe_blocks)]

extern crate alloc;
#[cfg(any(test, feature = "exec", feature = "shared", feature = "sysv"))]
extern crate std;

#[cfg(all(feature = "exec", target_os = "linux"))]
mod exec;
mod index;
mod prefetch;
#[cfg(all(feature = "shared", target_os = "linux"))]
pub mod shared;
pub mod spsc;
mod sync;
#[cfg(all(feature = "sysv", unix))]
pub mod sysv;

#[cfg(all(feature = "exec", target_os = "linux"))]
pub use exec::exec;
pub use prefetch::prefetch;
