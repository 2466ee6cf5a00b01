//! Commands that schedule this machine: links, CPUs, media servers.

pub mod bridge;
mod confine;
pub mod cpu;
pub mod link;
pub mod media;
#[cfg(test)]
mod recorded;
mod running;
pub mod top;
pub mod web;
