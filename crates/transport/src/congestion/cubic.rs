//! CUBIC (RFC 9438), with HyStart, in integers.

use laxity_core::{Span, Time};

use super::cbrt::cbrt;
use super::hystart::HyStart;
use super::{Ack, Congestion, Signal, Window};

/// The window after a congestion event, in 1024ths (RFC 9438 section 4.6: 0.7; Linux: this).
const BETA: u64 = 717;
const BETA_ONE: u64 = 1024;

/// Growth of the Reno-friendly window a round trip: 3 (1 - beta) / (1 + beta), in 2^-32 segments
/// (RFC 9438 section 4.3).
const ALPHA: u64 = ((3 * (BETA_ONE - BETA)) << 32) / (BETA_ONE + BETA);

/// Before the first loss a round trip grows the window by at least a segment in this many, 5 %. Linux
/// does so too, and without it a long queue fills much later.
const LEAST_GROWTH: u64 = 20;

/// A round trip at most multiplies the window by 1.5 (RFC 9438 section 4.1).
const MOST_GROWTH: u64 = 2;

/// Time within an epoch in 2^-16 s, windows in 2^-16 segments.
const SCALE: u32 = 16;

/// `span` in 2^-16 s, rounded down: times 2^80 / 10^9, over 2^64. At most 2^26, 17 minutes.
fn ticks(span: Span) -> u64 {
    (((u128::from(span.0) * 1_208_925_819_614_629) >> 64) as u64).min(1 << 26)
}

/// C t^3 in 2^-16 segments, C 0.4, for `t` in 2^-16 s.
fn cubic(t: u64) -> u64 {
    let cube = u128::from(t * t) * u128::from(t);
    (cube >> (2 * SCALE)) as u64 * 2 / 5
}

/// The time since a congestion event (RFC 9438 section 4.2).
#[derive(Clone, Copy, Debug)]
struct Epoch {
    start: Time,
    /// The window at which the curve is flat, in segments.
    origin: u32,
    /// The time from `start` to that window, in 2^-16 s.
    k: u64,
    /// Reno's window in place of this one, in 2^-32 segments.
    reno: u64,
}

/// CUBIC.
#[derive(Clone, Copy, Debug)]
pub struct Cubic {
    hystart: Option<HyStart>,
    epoch: Option<Epoch>,
    /// The window before the last reduction, less for fast convergence; `None` before the first and
    /// after a timeout (RFC 9438 section 4.8).
    w_max: Option<u32>,
    /// The window before the last reduction.
    prior: u32,
    before: Option<Saved>,
}

/// The state that a spurious reduction restores.
#[derive(Clone, Copy, Debug)]
struct Saved {
    epoch: Option<Epoch>,
    w_max: Option<u32>,
    prior: u32,
}

impl Default for Cubic {
    fn default() -> Cubic {
        let hystart = Some(HyStart::default());
        Cubic { hystart, epoch: None, w_max: None, prior: 0, before: None }
    }
}

impl Cubic {
    /// CUBIC whose slow start ends by loss alone.
    pub fn without_hystart() -> Cubic {
        Cubic { hystart: None, ..Cubic::default() }
    }

    /// How many acknowledged segments grow `cwnd` by one.
    fn segments_per_growth(&mut self, cwnd: u32, ack: &Ack, acked: u32) -> u32 {
        let w_max = self.w_max;
        let epoch = self.epoch.get_or_insert_with(|| {
            let origin = w_max.unwrap_or(0).max(cwnd);
            // K = cbrt((W_max - cwnd) / C) (equation 2).
            let cube = (u128::from(origin - cwnd) * 5 / 2) << (3 * SCALE);
            Epoch { start: ack.now, origin, k: cbrt(cube), reno: u64::from(cwnd) << 32 }
        });
        // The window that the curve has a round trip from now (equation 1).
        let t = ticks(ack.now.since(epoch.start) + ack.min_rtt);
        let origin = u64::from(epoch.origin) << SCALE;
        let target = if t < epoch.k {
            origin.saturating_sub(cubic(epoch.k - t))
        } else {
            origin + cubic(t - epoch.k)
        };
        // Reno grows by a whole segment a round trip once it has the window of the last loss.
        let alpha = if epoch.reno >> 32 < u64::from(self.prior) { ALPHA } else { 1 << 32 };
        epoch.reno += alpha * u64::from(acked) / u64::from(cwnd);
        let target = target.max(epoch.reno >> (32 - SCALE));
        let cwnd = u64::from(cwnd);
        let mut per = match target.saturating_sub(cwnd << SCALE) {
            0 => 100 * cwnd,
            growth => ((cwnd << SCALE) / growth).min(100 * cwnd),
        };
        if w_max.is_none() {
            per = per.min(LEAST_GROWTH);
        }
        per.max(MOST_GROWTH) as u32
    }
}

impl Congestion for Cubic {
    fn name(&self) -> &'static str {
        "cubic"
    }

    fn observe(&mut self, window: &mut Window, ack: &Ack) {
        if let Some(hystart) = &mut self.hystart {
            hystart.observe(window, ack);
        }
    }

    fn grow(&mut self, window: &mut Window, ack: &Ack) {
        let mut acked = ack.delivered;
        if window.in_slow_start() {
            acked = window.slow_start(acked);
        }
        if acked > 0 {
            let per = self.segments_per_growth(window.cwnd, ack, acked);
            window.increase(per, acked);
        }
    }

    fn reduce(&mut self, window: &Window, signal: Signal) -> u32 {
        self.before = Some(Saved { epoch: self.epoch, w_max: self.w_max, prior: self.prior });
        let cwnd = u64::from(window.cwnd);
        // Fast convergence (section 4.7): a flow whose maximum fell leaves room to others.
        let w_max = match self.w_max {
            Some(last) if window.cwnd < last => cwnd * (BETA_ONE + BETA) / (2 * BETA_ONE),
            _ => cwnd,
        };
        self.epoch = None;
        self.prior = window.cwnd;
        self.w_max = (signal != Signal::Timeout).then_some(w_max as u32);
        if let Some(hystart) = &mut self.hystart {
            *hystart = HyStart::default();
        }
        ((cwnd * BETA / BETA_ONE) as u32).max(2)
    }

    // The curve stands still while nothing is sent (section 5.8).
    fn resume(&mut self, idle: Span) {
        if let Some(epoch) = &mut self.epoch {
            epoch.start += idle;
        }
    }

    fn undo(&mut self) {
        if let Some(Saved { epoch, w_max, prior }) = self.before.take() {
            (self.epoch, self.w_max, self.prior) = (epoch, w_max, prior);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// A connection that acknowledges the whole window each `rtt`.
    struct Rounds {
        cubic: Cubic,
        window: Window,
        now: Time,
        rtt: Span,
    }

    impl Rounds {
        fn new(cwnd: u32, ssthresh: u32, rtt: u64) -> Rounds {
            let cubic = Cubic::without_hystart();
            let window = Window { cwnd, ssthresh, credit: 0 };
            Rounds { cubic, window, now: Time::ZERO, rtt: Span(rtt * MS) }
        }

        fn lose(&mut self) {
            self.window.ssthresh = self.cubic.reduce(&self.window, Signal::Loss);
            self.window.cwnd = self.window.ssthresh;
            self.window.credit = 0;
        }

        fn round(&mut self) {
            let gap = Span(self.rtt.0 / u64::from(self.window.cwnd));
            for _ in 0..self.window.cwnd {
                let (now, min_rtt) = (self.now, self.rtt);
                let ack = Ack {
                    now,
                    delivered: 1,
                    marked: 0,
                    rtt: None,
                    min_rtt,
                    una: 0,
                    next: 0,
                    ..Ack::default()
                };
                self.cubic.grow(&mut self.window, &ack);
                self.now += gap;
            }
        }
    }

    // Fails when the curve is another than equation 1 of RFC 9438: tried with C 0.3 and without the round
    // trip in t.
    #[test]
    fn the_window_follows_the_cubic_curve() {
        let mut rounds = Rounds::new(1000, 1000, 100);
        rounds.lose();
        assert_eq!(rounds.window.cwnd, 700);
        let k = (300.0f64 / 0.4).cbrt();
        for _ in 0..150 {
            rounds.round();
            let t = rounds.now.0 as f64 / 1e9;
            let curve = 0.4 * (t - k).powi(3) + 1000.0;
            let off = (f64::from(rounds.window.cwnd) - curve).abs();
            assert!(off < 5.0, "{} at {t} s, not {curve}", rounds.window.cwnd);
        }
    }

    // Fails when a short round trip makes CUBIC slower than Reno (section 4.3): tried without the
    // Reno-friendly window.
    #[test]
    fn a_short_round_trip_has_the_reno_friendly_window() {
        let mut rounds = Rounds::new(20, 20, 5);
        rounds.lose();
        assert_eq!(rounds.window.cwnd, 14);
        for _ in 0..11 {
            rounds.round();
        }
        // 0.529 a round trip, up to the window of the loss; then one.
        assert!((19..=20).contains(&rounds.window.cwnd), "{}", rounds.window.cwnd);
        for _ in 0..10 {
            rounds.round();
        }
        assert!((28..=30).contains(&rounds.window.cwnd), "{}", rounds.window.cwnd);
    }

    // Fails when a round trip before the first loss adds less than 5 %, or more than half.
    #[test]
    fn growth_is_bounded_before_the_first_loss() {
        let mut rounds = Rounds::new(200, 200, 20);
        rounds.round();
        assert!((209..=211).contains(&rounds.window.cwnd), "{}", rounds.window.cwnd);
        let mut rounds = Rounds::new(100, 100, 20);
        rounds.round();
        rounds.now += Span(20_000 * MS);
        let before = rounds.window.cwnd;
        rounds.round();
        assert!(rounds.window.cwnd <= before * 3 / 2 + 1, "{}", rounds.window.cwnd);
    }

    // Fails when beta or fast convergence is another (sections 4.6 and 4.7).
    #[test]
    fn a_flow_whose_maximum_fell_leaves_room() {
        let mut rounds = Rounds::new(100, 100, 20);
        rounds.lose();
        assert_eq!((rounds.window.cwnd, rounds.cubic.w_max), (70, Some(100)));
        rounds.lose();
        assert_eq!((rounds.window.cwnd, rounds.cubic.w_max), (49, Some(59)));
        rounds.window.cwnd = 59;
        rounds.lose();
        assert_eq!((rounds.window.cwnd, rounds.cubic.w_max), (41, Some(59)));
    }

    // Fails when idle time counts as growth (section 5.8), or a reduction that was for nothing stays.
    #[test]
    fn idle_time_and_undone_reductions_leave_no_trace() {
        let mut rounds = Rounds::new(1000, 1000, 100);
        rounds.lose();
        rounds.round();
        let (window, saved) = (rounds.window, rounds.cubic);
        rounds.now += Span(60_000 * MS);
        rounds.cubic.resume(Span(60_000 * MS));
        rounds.round();
        assert!(rounds.window.cwnd < window.cwnd + 40, "{}", rounds.window.cwnd);
        let mut undone = saved;
        undone.reduce(&window, Signal::Timeout);
        assert_eq!(undone.w_max, None);
        undone.undo();
        assert_eq!((undone.w_max, undone.prior), (saved.w_max, saved.prior));
        assert!(undone.epoch.is_some());
    }
}
