//! What programs that run for long share: their sockets in the file system, the privileges that
//! they keep, and the priority of the thread that must be on time.
#![forbid(unsafe_code)]
#![cfg(target_os = "linux")]

pub mod folder;
pub mod priority;
pub mod privileges;
pub mod socket;
