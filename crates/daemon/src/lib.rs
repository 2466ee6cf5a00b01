//! Shared code of long-running programs: sockets in the file system, discovery of running programs, messages to
//! systemd's journal, privileges, and the priority of time-critical threads.
#![forbid(unsafe_code)]
#![cfg(target_os = "linux")]

pub mod announce;
pub mod directory;
pub mod journal;
pub mod priority;
pub mod privileges;
pub mod socket;
