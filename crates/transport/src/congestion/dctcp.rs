//! DCTCP (RFC 8257): a mark reduces the window by half the share of marked segments.

use laxity_core::Span;

use super::marking::{Marking, ONE};
use super::{Ack, Congestion, NewReno, Signal, Window};
use crate::Ecn;

/// DCTCP, with accurate feedback in place of its state machine for delayed acknowledgements.
#[derive(Clone, Copy, Debug)]
pub struct Dctcp {
    marking: Marking,
}

impl Default for Dctcp {
    fn default() -> Dctcp {
        Dctcp { marking: Marking::new() }
    }
}

impl Congestion for Dctcp {
    fn name(&self) -> &'static str {
        "dctcp"
    }

    fn scalable(&self) -> Option<Ecn> {
        Some(Ecn::Ect0)
    }

    fn observe(&mut self, _: &mut Window, ack: &Ack) {
        self.marking.observe(ack);
    }

    fn grow(&mut self, window: &mut Window, ack: &Ack) {
        NewReno.grow(window, ack);
    }

    // Loss is answered as by NewReno (section 3.5).
    fn reduce(&mut self, window: &Window, signal: Signal) -> u32 {
        match signal {
            Signal::Ecn => {
                let cut = u64::from(window.cwnd) * u64::from(self.marking.alpha());
                (window.cwnd - (cut / (2 * u64::from(ONE))) as u32).max(2)
            }
            Signal::Loss | Signal::Timeout => NewReno.reduce(window, signal),
        }
    }

    fn resume(&mut self, _: Span) {}

    fn undo(&mut self) {}
}
