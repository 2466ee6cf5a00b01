//! What `always-check` releases of the reservations of flows that are silent.
//!
//! With `always-check` admission has no room for a best-effort packet that blocks. A packet that
//! does not fit beside what the flows may send then waits while they send nothing, for ever if they
//! stay silent. So a flow that has been silent for long enough, and at least until all its buckets
//! are full, lends its place: if the packet fits with the deadlines of such flows later by the time
//! for which it occupies the link, it goes, and what they send meanwhile conforms when it ends.
//!
//! **Why no deadline is missed.** The search counts what a silent flow may send as due later by that
//! time, and holding its packets back until then makes it so: its policer, full before and after,
//! lets through from that instant on what it would have let through at once. Deadlines count from
//! conformance, as for packets that a policer holds back. That there is room whenever all flows are
//! silent is admission itself, read from the end of the packet on.

use alloc::boxed::Box;

use laxity_core::{Divisor, Span, Time};
use laxity_curve::Envelope;

use crate::config::{LinkConfig, RealtimeFlow};

/// Which flows are silent.
#[derive(Clone, Debug)]
pub(super) struct SilentFlows {
    /// Empty when nothing is released.
    flows: Box<[FlowSilence]>,
    rate: Option<Divisor>,
    /// The end of the packet for which flows that were silent lent their places.
    until: Time,
}

#[derive(Clone, Copy, Debug)]
struct FlowSilence {
    /// How long the flow must send nothing.
    after: u64,
    /// From when on it is silent.
    from: u64,
    /// It lends its place until the end of the packet.
    lends: bool,
}

impl SilentFlows {
    pub(super) fn new(config: &LinkConfig) -> SilentFlows {
        let options = &config.options;
        let releases = options.always_check && options.release_idle > Span::ZERO;
        let silence = |f: &RealtimeFlow| {
            let after = options.release_idle.0.max(refill_time(&f.envelope));
            FlowSilence { after, from: after, lends: false }
        };
        let flows = config.realtime.iter().filter(|_| releases).map(silence).collect();
        SilentFlows { flows, rate: Divisor::new(config.rate.0), until: Time::ZERO }
    }

    /// A packet of a flow conforms at an instant, perhaps a later one.
    #[inline]
    pub(super) fn conforms(&mut self, flow: usize, at: Time) {
        if let Some(silence) = self.flows.get_mut(flow) {
            silence.from = silence.from.max(at.0.saturating_add(silence.after));
        }
    }

    /// Notes which flows are silent at `now`; returns whether any is.
    pub(super) fn update(&mut self, now: Time) -> bool {
        for silence in &mut self.flows {
            silence.lends = silence.from <= now.0;
        }
        self.flows.iter().any(|silence| silence.lends)
    }

    /// The time in which the link sends some nanobits, in ns.
    pub(super) fn transmission_time(&self, work: i128) -> u64 {
        let work = u128::try_from(work).unwrap_or(0);
        self.rate.map_or(u64::MAX, |rate| rate.div_ceil(work))
    }

    /// Whether a flow lends its place, by the last look.
    pub(super) fn lends(&self, flow: usize) -> bool {
        self.flows.get(flow).is_some_and(|silence| silence.lends)
    }

    /// Flows that lend their places do so until then.
    pub(super) fn lend_until(&mut self, until: Time) {
        self.until = until;
    }

    /// The earliest instant at which packets of a flow conform.
    #[inline]
    pub(super) fn earliest_conformance(&self, flow: usize) -> Time {
        if self.lends(flow) { self.until } else { Time::ZERO }
    }

    /// When the next flow becomes silent.
    pub(super) fn next_silence(&self, now: Time) -> Option<Time> {
        let later = self.flows.iter().map(|silence| silence.from).filter(|from| *from > now.0);
        later.min().filter(|from| *from < u64::MAX).map(Time)
    }
}

/// The time after a packet from which on a flow has all its chances again, in ns.
fn refill_time(envelope: &Envelope) -> u64 {
    match envelope {
        Envelope::Periodic { period, jitter, .. } => period.0.saturating_add(jitter.0),
        Envelope::Buckets { buckets, .. } => {
            let fill = |b: &laxity_curve::Bucket| {
                let burst = u128::from(b.burst.0) * laxity_core::NANOBITS_PER_BYTE as u128;
                Divisor::new(b.rate.0).map_or(u64::MAX, |rate| rate.div_ceil(burst))
            };
            buckets.iter().map(fill).max().unwrap_or(0)
        }
    }
}
