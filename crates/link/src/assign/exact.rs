//! `exact`: the shortest safe deadlines (Algorithm 1).

use laxity_core::{Live, OptionTable, PolicyInfo, Time};
use laxity_curve::InverseCurve;

use crate::live;

use super::{Assigner, History};

/// Algorithm 1 of the paper over the whole effective residual capacity.
///
/// The paper calls it infeasible, since each deadline seems to need the whole history, and offers
/// approximations of the curve or a fixed set of packet sizes instead. [`History`] makes it as
/// cheap as the approximations, so neither is needed.
///
/// "Shortest" is as the curve has it: steps of periodic flows are followed up to twice the instant
/// from which admission holds whatever comes
/// ([`Residual::horizon`](laxity_curve::Residual::horizon)), and by the line through them beyond,
/// which is above them by less than a packet a flow. Flows of token buckets are counted by the
/// byte, in admission as well: whole packets of one size would give less than a packet a flow more.
///
/// Beyond the paper, the history restarts whenever no real-time packet waits and the head gains by
/// it ([why that is safe](super)). At 96 % load (`scenarios/greedy-harder.toml`, 60 s) mean
/// best-effort delay is 26 % less by that; restarting when nothing waits alone gives 2 %.
#[derive(Clone, Debug)]
pub struct Exact(History);

impl Exact {
    /// Deadlines from the inverse of the effective residual capacity, remembering up to
    /// `capacity` packets inside its last corner.
    pub fn new(service: &InverseCurve, capacity: usize) -> Exact {
        Exact(History::new(service, capacity))
    }
}

impl Assigner for Exact {
    const INFO: PolicyInfo = PolicyInfo {
        name: "exact",
        summary: "EDF with the shortest safe deadline for every best-effort packet",
        source: "RTAS 2002, section 3, Algorithm 1",
        keeps_deadlines: true,
        live: &[live::HISTORY, Live::UserLink],
        options: &[],
        table: OptionTable::None,
    };

    #[inline]
    fn assign(&mut self, release: Time, wire: u32) -> Time {
        self.0.push(release, wire)
    }

    fn raise(&mut self, release: Time, from: u32, wire: u32) -> Time {
        self.0.raise(release, wire - from)
    }

    fn settle(&mut self, _release: Time, from: u32, wire: u32) {
        self.0.settle(from - wire);
    }

    fn reset(&mut self) {
        self.0.reset();
    }

    #[inline]
    fn restart(&mut self, at: Time, in_flight: u32, head: Option<(u32, Time)>) -> Option<Time> {
        match head {
            Some((wire, deadline)) => self.0.restart_with(at, in_flight, wire, deadline),
            None => {
                self.0.restart(at, in_flight);
                None
            }
        }
    }

    const RESTARTS_BEFORE_BEST_EFFORT: bool = true;
}
