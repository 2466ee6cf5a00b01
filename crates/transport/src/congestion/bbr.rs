//! BBR, version 1 (Cardwell et al., "BBR: Congestion-based congestion control", 2016;
//! draft-cardwell-iccrg-bbr-congestion-control-00): a model of the path's bandwidth and round trip in
//! place of a reaction to losses.

use laxity_core::{Span, Time};

use super::{Ack, Congestion, RateSample, Signal, Window};

/// Gains in 256ths: 2/ln 2 doubles the rate each round trip, its inverse drains the queue of that.
const STARTUP_GAIN: u64 = 739;
const DRAIN_GAIN: u64 = 88;
const ONE: u64 = 256;
/// Pacing gains of the phases in which bandwidth is probed, each a round trip.
const CYCLE: [u64; 8] = [320, 192, ONE, ONE, ONE, ONE, ONE, ONE];
/// The window in the steady state, in 256ths of the bandwidth-delay product.
const WINDOW_GAIN: u64 = 512;

/// Bandwidths are in segments a nanosecond, in 2^-40.
const SCALE: u32 = 40;

/// Round trips over which the greatest bandwidth counts.
const ROUNDS: usize = 10;

/// How long a least round trip counts, and how long a new one is looked for with how many segments.
const MIN_RTT_AGE: Span = Span::from_millis(10_000);
const PROBE_RTT: Span = Span::from_millis(200);
const LEAST_WINDOW: u32 = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Startup,
    Drain,
    /// Phase of [`CYCLE`].
    ProbeBandwidth(usize),
    /// Until when, once few segments are in flight.
    ProbeRtt(Option<Time>),
}

/// BBR. It owns the window: losses leave it to the model.
#[derive(Clone, Copy, Debug)]
pub struct Bbr {
    state: State,
    /// The greatest bandwidth of each of the last rounds.
    bandwidth: [u64; ROUNDS],
    round: usize,
    /// The round ends when a segment sent after so many deliveries arrives.
    round_end: u64,
    /// The bandwidth at which growth was last seen, and rounds since.
    full_bandwidth: u64,
    rounds_without_growth: u32,
    min_rtt: Option<(Span, Time)>,
    phase_start: Time,
    /// The window before round trips were probed.
    prior: u32,
}

impl Default for Bbr {
    fn default() -> Bbr {
        Bbr {
            state: State::Startup,
            bandwidth: [0; ROUNDS],
            round: 0,
            round_end: 0,
            full_bandwidth: 0,
            rounds_without_growth: 0,
            min_rtt: None,
            phase_start: Time::ZERO,
            prior: 0,
        }
    }
}

impl Bbr {
    fn max_bandwidth(&self) -> u64 {
        self.bandwidth.iter().copied().max().unwrap_or(0)
    }

    fn is_full(&self) -> bool {
        self.rounds_without_growth >= 3
    }

    /// Segments of the bandwidth-delay product times `gain`; `None` before the first measurement.
    fn product(&self, gain: u64) -> Option<u32> {
        let (rtt, _) = self.min_rtt?;
        let product = u128::from(self.max_bandwidth()) * u128::from(rtt.0) * u128::from(gain);
        let segments = product.div_ceil(u128::from(ONE) << SCALE) as u32;
        (segments > 0).then_some(segments)
    }

    fn measure(&mut self, now: Time, sample: &RateSample, rtt: Option<Span>) {
        if sample.prior >= self.round_end {
            self.round_end = sample.total;
            self.round += 1;
            self.bandwidth[self.round % ROUNDS] = 0;
            self.check_growth(sample.app_limited);
        }
        // An interval below the least round trip is of segments that arrived together.
        if sample.interval >= self.min_rtt.map_or(Span(1), |(rtt, _)| rtt) {
            let rate = (u64::from(sample.delivered) << SCALE) / sample.interval.0.max(1);
            if !sample.app_limited || rate >= self.max_bandwidth() {
                let slot = &mut self.bandwidth[self.round % ROUNDS];
                *slot = rate.max(*slot);
            }
        }
        let Some(rtt) = rtt else { return };
        let old = self.min_rtt.is_some_and(|(_, at)| now.since(at) > MIN_RTT_AGE);
        if old && !matches!(self.state, State::ProbeRtt(_)) {
            self.state = State::ProbeRtt(None);
        }
        if old || self.min_rtt.is_none_or(|(least, _)| rtt <= least) {
            self.min_rtt = Some((rtt, now));
        }
    }

    /// The pipe is full when bandwidth grew by less than a quarter in three rounds.
    fn check_growth(&mut self, app_limited: bool) {
        if self.is_full() || app_limited {
            return;
        }
        let bandwidth = self.max_bandwidth();
        if bandwidth >= self.full_bandwidth + self.full_bandwidth / 4 {
            (self.full_bandwidth, self.rounds_without_growth) = (bandwidth.max(1), 0);
        } else {
            self.rounds_without_growth += 1;
        }
    }

    fn advance(&mut self, window: &Window, ack: &Ack) {
        let least = self.min_rtt.map_or(Span::ZERO, |(rtt, _)| rtt);
        let long = ack.now.since(self.phase_start) > least;
        let holds = |gain| self.product(gain).is_some_and(|product| ack.in_flight <= product);
        match self.state {
            State::Startup if self.is_full() => self.state = State::Drain,
            State::Drain if holds(ONE) => self.enter_cycle(ack.now, 2),
            State::ProbeBandwidth(phase) => {
                let ends = match phase {
                    0 => long && (ack.lost > 0 || !holds(CYCLE[0] - 1)),
                    1 => long || holds(ONE),
                    _ => long,
                };
                if ends {
                    self.enter_cycle(ack.now, (phase + 1) % CYCLE.len());
                }
            }
            State::ProbeRtt(None) => {
                self.prior = self.prior.max(window.cwnd);
                if ack.in_flight <= LEAST_WINDOW {
                    self.state = State::ProbeRtt(Some(ack.now + PROBE_RTT.max(least)));
                }
            }
            State::ProbeRtt(Some(until)) if ack.now >= until => {
                self.min_rtt = self.min_rtt.map(|(rtt, _)| (rtt, ack.now));
                self.state = State::Startup;
                if self.is_full() {
                    self.enter_cycle(ack.now, 2);
                }
            }
            State::Startup | State::Drain | State::ProbeRtt(_) => {}
        }
    }

    fn enter_cycle(&mut self, now: Time, phase: usize) {
        (self.state, self.phase_start) = (State::ProbeBandwidth(phase), now);
    }

    fn set_window(&mut self, window: &mut Window, ack: &Ack) {
        if let State::ProbeRtt(_) = self.state {
            window.cwnd = window.cwnd.min(LEAST_WINDOW);
            return;
        }
        window.cwnd = window.cwnd.max(core::mem::take(&mut self.prior));
        // A loss takes from the window what was lost, for a round trip.
        if ack.lost > 0 {
            window.cwnd = window.cwnd.saturating_sub(ack.lost).max(ack.in_flight + ack.delivered);
        }
        let gain = if self.is_full() { WINDOW_GAIN } else { STARTUP_GAIN };
        let grown = window.cwnd + ack.delivered;
        window.cwnd = match self.product(gain) {
            // Three more keep the path full between acknowledgements.
            Some(product) if self.is_full() => grown.min(product + 3),
            Some(product) if window.cwnd >= product + 3 => window.cwnd,
            _ => grown,
        };
        window.cwnd = window.cwnd.max(LEAST_WINDOW);
    }
}

impl Congestion for Bbr {
    fn name(&self) -> &'static str {
        "bbr"
    }

    fn owns_window(&self) -> bool {
        true
    }

    fn paces(&self) -> bool {
        true
    }

    fn pacing_gap(&self) -> Option<Span> {
        let gain = match self.state {
            State::Startup => STARTUP_GAIN,
            State::Drain => DRAIN_GAIN,
            State::ProbeBandwidth(phase) => CYCLE[phase],
            State::ProbeRtt(_) => ONE,
        };
        let rate = u128::from(self.max_bandwidth()) * u128::from(gain);
        let gap = (u128::from(ONE) << SCALE).checked_div(rate)?;
        Some(Span(gap as u64))
    }

    fn observe(&mut self, window: &mut Window, ack: &Ack) {
        if let Some(sample) = &ack.rate {
            self.measure(ack.now, sample, ack.rtt);
        }
        self.advance(window, ack);
        self.set_window(window, ack);
    }

    fn grow(&mut self, _: &mut Window, _: &Ack) {}

    // The window before a timeout returns with the first acknowledgement after it.
    fn reduce(&mut self, window: &Window, signal: Signal) -> u32 {
        if signal == Signal::Timeout {
            self.prior = self.prior.max(window.cwnd);
        }
        window.ssthresh
    }

    fn resume(&mut self, _: Span) {}

    fn undo(&mut self) {}
}
