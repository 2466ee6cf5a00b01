//! Active queue management of best-effort classes.
//!
//! A packet passes its AQM when it is about to start, and only then: real time that goes first does
//! not consult it. CoDel (RFC 8289) has a state for each flow queue, PI2 (RFC 8033, RFC 9332) one
//! for the class; `l4s` is the dual queue of RFC 9332, or a step for ECT(1) in flow queues.
//!
//! # Delay
//!
//! The delay is the time since arrival ([`Sojourn::Raw`]) where best effort may go before real time:
//! what it leaves unused real time uses, and gives back later, so early signals cost no throughput.
//! Under `background` the time in which real-time packets were sent does not count for `pie` and
//! `l4s` ([`Sojourn::Link`]). CoDel looks for the minimum over an interval, which ignores the gaps
//! that real time makes. Real time with a period near that interval therefore hides a standing queue
//! from CoDel, of a bulk flow and of no other.

mod codel;
pub(crate) mod l4s;
mod pi2;

use alloc::boxed::Box;
use alloc::vec;

use laxity_core::{NANOBITS_PER_BYTE, Span, Time};

use crate::config::{self, LinkConfig, Sojourn};
use crate::ecn::Ecn;
use crate::flow_queue::pool::Fifo;
use codel::{Codel, Parameters};
use l4s::DualAqm;
use pi2::{ONE, Pi2};

/// The fate of the packet that is about to start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It is sent.
    Send,
    /// It is sent, and its queue owes a mark.
    Mark,
    /// It is dropped.
    Drop,
}

/// The signal to the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Signal {
    None,
    /// Congestion, by a mark where the packet can carry one.
    Mark,
    /// Congestion, by a drop.
    Drop,
}

/// The packet that is about to start, and its queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Leaving<'a> {
    pub(crate) now: Time,
    pub(crate) ecn: Ecn,
    pub(crate) queue: usize,
    pub(crate) fifo: &'a Fifo,
    /// Since its arrival.
    pub(crate) raw: Span,
    /// Time of it in which real-time packets were sent.
    pub(crate) realtime: Span,
    /// The longest raw delay at the head of a queue, for the dual queue.
    pub(crate) longest: Span,
    /// Packets of the class.
    pub(crate) packets: u32,
    /// Its flow has used its first quantum; always in a class without flow queues.
    pub(crate) bulk: bool,
}

/// The AQM of a class.
#[derive(Clone, Debug)]
pub(crate) struct Aqm {
    kind: Kind,
    ecn: bool,
    sojourn: Sojourn,
    /// Whether packets that it drops are charged.
    pub(crate) ingress: bool,
}

#[derive(Clone, Debug)]
enum Kind {
    None,
    Codel(Parameters, Box<[Codel]>),
    Pi2(Pi2),
    /// CoDel in flow queues, and the step in ns.
    Step(Parameters, Box<[Codel]>, u64),
    Dual(DualAqm),
    #[cfg(test)]
    Script(u64),
}

impl Aqm {
    /// The AQM of class `class` with `queues` queues. `behind`: best effort never goes first.
    pub(crate) fn new(config: &LinkConfig, class: usize, queues: usize, behind: bool) -> Aqm {
        let settings = &config.best_effort[class];
        let largest = config.wire.of_bytes(config.max_packet);
        let packet_times = |n: u64| {
            let work = u128::from(largest.0) * u128::from(n) * NANOBITS_PER_BYTE as u128;
            let time = work.div_ceil(u128::from(config.rate.0.max(1)));
            Span(u64::try_from(time).unwrap_or(u64::MAX))
        };
        let largest = u32::try_from(largest.0).unwrap_or(u32::MAX);
        let codel = |rtt: Span, target: Option<Span>, interval: Option<Span>| {
            let target = target.unwrap_or(Span(rtt.0 / 20).max(packet_times(4)));
            Parameters::new(target, interval.unwrap_or(rtt), largest)
        };
        let states = || vec![Codel::default(); queues].into_boxed_slice();
        let seed = config.aqm_seed.wrapping_add(class as u64).wrapping_add(1);
        let pi2 = |t: Option<Span>| Pi2::new(t.unwrap_or(config::Aqm::PI2_TARGET), seed);
        let usual = if behind { Sojourn::Link } else { Sojourn::Raw };
        let (kind, usual, ecn, sojourn, ingress) = match settings.aqm {
            config::Aqm::None => (Kind::None, Sojourn::Raw, false, None, false),
            config::Aqm::Codel { rtt, target, interval, ecn, sojourn, ingress } => {
                let parameters = codel(rtt, target, interval);
                (Kind::Codel(parameters, states()), Sojourn::Raw, ecn, sojourn, ingress)
            }
            config::Aqm::Pie { target, ecn, sojourn, ingress } => {
                (Kind::Pi2(pi2(target)), usual, ecn, sojourn, ingress)
            }
            config::Aqm::L4s { target, rtt, step, ecn, sojourn, ingress } => {
                let step = step.unwrap_or(config::Aqm::STEP.max(packet_times(2))).0;
                let kind = match settings.flows {
                    Some(_) => Kind::Step(codel(rtt, target, None), states(), step),
                    None => Kind::Dual(DualAqm { pi2: pi2(target), step }),
                };
                (kind, usual, ecn, sojourn, ingress)
            }
        };
        Aqm { kind, ecn, sojourn: sojourn.unwrap_or(usual), ingress }
    }

    /// Drops the packets whose bits are set, the first by the least.
    #[cfg(test)]
    pub(crate) fn script(drops: u64) -> Aqm {
        Aqm { kind: Kind::Script(drops), ecn: false, sojourn: Sojourn::Raw, ingress: false }
    }

    /// Decides about the packet that is about to start.
    pub(crate) fn judge(&mut self, leaving: &Leaving<'_>) -> Verdict {
        let now = leaving.now;
        let away = if self.sojourn == Sojourn::Link { leaving.realtime } else { Span::ZERO };
        let sojourn = Span(leaving.raw.0.saturating_sub(away.0));
        let Fifo { packets, bytes, .. } = *leaving.fifo;
        let marks = self.ecn && leaving.ecn.is_capable();
        let mut step_marks = false;
        let signal = match &mut self.kind {
            Kind::None => Signal::None,
            Kind::Step(_, _, step) if leaving.ecn.is_l4s() => {
                step_marks = sojourn.0 > *step && packets > 1;
                if step_marks { Signal::Mark } else { Signal::None }
            }
            Kind::Codel(parameters, states) | Kind::Step(parameters, states, _) => {
                let state = &mut states[leaving.queue];
                match state.signals(now, sojourn, packets, bytes, parameters) {
                    true => Signal::Mark,
                    false => Signal::None,
                }
            }
            Kind::Pi2(pi2) => {
                let probability = pi2.probability(now, sojourn);
                let rolls = pi2.rolls();
                let exempt = !leaving.bulk || leaving.packets < 2;
                if exempt { Signal::None } else { classic(probability, rolls) }
            }
            Kind::Dual(dual) => {
                step_marks = leaving.queue == l4s::LOW_LATENCY;
                let delay = Span(leaving.longest.0.saturating_sub(away.0));
                let few = leaving.packets < 2;
                dual.signal(now, leaving.queue, sojourn, delay, few)
            }
            #[cfg(test)]
            Kind::Script(drops) => {
                let drop = *drops & 1 == 1;
                *drops >>= 1;
                if drop { Signal::Drop } else { Signal::None }
            }
        };
        match signal {
            Signal::None => Verdict::Send,
            Signal::Mark if marks || step_marks => Verdict::Mark,
            Signal::Mark | Signal::Drop => Verdict::Drop,
        }
    }
}

/// The signal of PI2 for classic traffic: two rolls below `p'`; a drop once `p'` is above 1/2, where
/// marks no longer suffice.
fn classic(probability: u64, rolls: (u64, u64)) -> Signal {
    match rolls.0 < probability && rolls.1 < probability {
        false => Signal::None,
        true if probability <= ONE / 2 => Signal::Mark,
        true => Signal::Drop,
    }
}
