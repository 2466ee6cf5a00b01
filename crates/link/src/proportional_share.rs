//! `proportional-share`: the alternative that the paper argues against.

use alloc::vec::Vec;

use laxity_core::{PolicyInfo, Time};

use crate::setup::{Setup, SetupError};
use crate::{Departure, Drops, LinkPolicy, Packet};

/// Name, summary and options.
pub const INFO: PolicyInfo = PolicyInfo {
    name: "proportional-share",
    summary: "PGPS: each real-time flow its smallest sufficient rate, best effort the rest",
    source: "RTAS 2002, section 3 (the competing alternative); Parekh and Gallager 1993",
    keeps_deadlines: true,
    options: &[],
};

/// stub
#[derive(Debug)]
pub struct ProportionalShare;
impl ProportionalShare { 
/// stub
pub fn new(_: &Setup) -> Result<ProportionalShare, SetupError> { let _: Vec<u8>; Ok(ProportionalShare) } }
impl LinkPolicy for ProportionalShare {
    fn enqueue(&mut self, _: Time, _: Packet, _: &mut dyn Drops) {}
    fn dequeue(&mut self, _: Time) -> Option<Departure> { None }
    fn next_event(&self) -> Option<Time> { None }
    fn waiting(&self) -> usize { 0 }
}
