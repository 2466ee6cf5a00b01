//! What programs that run for long share: their sockets in the file system, how others find them, the
//! privileges that they keep, and the priority of the thread that must be on time.
#![forbid(unsafe_code)]
#![cfg(target_os = "linux")]

pub mod announce;
pub mod folder;
pub mod priority;
pub mod privileges;
pub mod socket;
