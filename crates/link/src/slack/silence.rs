//! Capacity that silent flows lend to best effort under `always-check`.
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

/// The silence of each flow, and the capacity that silent flows lend.
#[derive(Clone, Debug)]
pub(super) struct SilentFlows {
    /// Empty when flows lend nothing.
    flows: Box<[FlowSilence]>,
    rate: Option<Divisor>,
    /// End of the packet for which silent flows lent their capacity.
    until: Time,
}

#[derive(Clone, Copy, Debug)]
struct FlowSilence {
    /// Silence after which the flow lends its capacity, in ns.
    after: u64,
    /// Time from which it counts as silent.
    from: u64,
    /// Whether it lends its capacity until the end of the packet.
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

    /// A packet of a flow conforms at `at`, which may lie in the future.
    #[inline]
    pub(super) fn conforms(&mut self, flow: usize, at: Time) {
        if let Some(silence) = self.flows.get_mut(flow) {
            silence.from = silence.from.max(at.0.saturating_add(silence.after));
        }
    }

    /// Updates which flows are silent at `now`; returns whether any is.
    pub(super) fn update(&mut self, now: Time) -> bool {
        for silence in &mut self.flows {
            silence.lends = silence.from <= now.0;
        }
        self.flows.iter().any(|silence| silence.lends)
    }

    /// Transmission time of `work` nanobits, in ns.
    pub(super) fn transmission_time(&self, work: i128) -> u64 {
        let work = u128::try_from(work).unwrap_or(0);
        self.rate.map_or(u64::MAX, |rate| rate.div_ceil(work))
    }

    /// Whether a flow lends its capacity, as of the last update.
    pub(super) fn lends(&self, flow: usize) -> bool {
        self.flows.get(flow).is_some_and(|silence| silence.lends)
    }

    /// Sets the end of the present loan.
    pub(super) fn lend_until(&mut self, until: Time) {
        self.until = until;
    }

    /// The earliest time at which packets of a flow conform.
    #[inline]
    pub(super) fn earliest_conformance(&self, flow: usize) -> Time {
        if self.lends(flow) { self.until } else { Time::ZERO }
    }

    /// Time at which the next flow becomes silent.
    pub(super) fn next_silence(&self, now: Time) -> Option<Time> {
        let later = self.flows.iter().map(|silence| silence.from).filter(|from| *from > now.0);
        later.min().filter(|from| *from < u64::MAX).map(Time)
    }
}

/// Time after a packet until all of a flow's buckets are full again, in ns.
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
