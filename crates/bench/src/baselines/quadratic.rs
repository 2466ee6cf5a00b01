//! Algorithm 1 as the paper prints it: every packet since the last reset, for every deadline.

use laxity_core::{PolicyInfo, Time};
use laxity_curve::InverseCurve;
use laxity_link::assign::{Assigner, Exact};

/// The quadratic form.
#[derive(Clone, Debug)]
pub struct Quadratic {
    service: InverseCurve,
    /// Release and work of each packet.
    history: Vec<(Time, u64)>,
}

impl Quadratic {
    /// Deadlines from the inverse of the effective residual capacity.
    pub fn new(service: InverseCurve) -> Quadratic {
        Quadratic { service, history: Vec::new() }
    }
}

impl Assigner for Quadratic {
    const INFO: PolicyInfo = Exact::INFO;

    fn assign(&mut self, release: Time, wire: u32) -> Time {
        self.history.push((release, u64::from(wire)));
        let (mut work, mut deadline) = (0, Time::ZERO);
        for (release, wire) in self.history.iter().rev() {
            work += wire;
            match self.service.at(work) {
                Some(span) => deadline = deadline.max(*release + span),
                None => return Time::MAX,
            }
        }
        deadline
    }

    fn reset(&mut self) {
        self.history.clear();
    }
}
