//! Future demand of one flow on the wire, from the present state of its policer.

use laxity_core::{Divisor, Time};

use crate::Wire;
use crate::config::RealtimeFlow;
use crate::police::{Policer, Remaining};

/// An upper bound on a flow's future work in every interval that begins now.
///
/// The minimum of a few rising lines, and nothing before its smallest packet conforms. Where all
/// packets count as one size, they are counted whole: a staircase below those lines for the first
/// so many packets, and the lines from there on, which exceed the staircase by less than a packet.
/// As time passes without packets the bound for a fixed instant does not grow, and a packet that
/// conforms lowers it by at least its size: what the lower bound on slack rests on.
#[derive(Clone, Debug)]
pub struct FlowDemand {
    deadline: u64,
    /// Amount by which its next packets are due later.
    deferred: u64,
    /// Wire bytes for each counted byte are at most `wire.0 / wire.1`: the ratio falls with the
    /// packet's size, so the smallest packet decides.
    wire: (u64, u64),
    policer: Policer,
    /// Smallest packet on the wire, in nanobits.
    quantum: u64,
    /// Number of packets that are counted whole.
    steps: u64,
    lines: [Line; Remaining::LINES],
    count: usize,
    /// The fastest of the lines.
    fastest: u64,
    /// Time at which the lines had their levels.
    at: Time,
    /// `crossings[i][j]` divides by the rate of line `i` less that of line `j`.
    crossings: [[Option<Divisor>; Remaining::LINES]; Remaining::LINES],
}

/// A token bucket on the wire, in nanobits and bit/s.
#[derive(Clone, Copy, Debug, Default)]
struct Line {
    level: u64,
    burst: u64,
    rate: u64,
    inverse: Option<Divisor>,
}

/// From `at` (ns from now) on, the demand grows by `intercept + slope * x` more.
#[derive(Clone, Copy, Debug)]
pub(super) struct Change {
    pub(super) at: u64,
    pub(super) intercept: i128,
    pub(super) slope: i128,
}

impl Change {
    pub(super) const NEVER: Change = Change { at: u64::MAX, intercept: 0, slope: 0 };
}

impl FlowDemand {
    /// The demand of a flow that has not sent yet, its next `steps` packets counted whole if they
    /// are of one size.
    pub fn new(flow: &RealtimeFlow, wire: Wire, steps: usize) -> FlowDemand {
        let counted = flow.smallest_counted();
        let policer = Policer::new(&flow.envelope);
        let full = policer.remaining(Time(u64::MAX / 2));
        let mut demand = FlowDemand {
            // A flow with a service curve demands by its curve; of its buckets only the lines count.
            deadline: if flow.service.is_some() { u64::MAX } else { flow.deadline.0 },
            deferred: 0,
            wire: (wire.of_bytes(counted).0.max(1), counted.0.max(1)),
            policer,
            quantum: 0,
            steps: match flow.service {
                None if counted == flow.envelope.max_packet() => steps as u64,
                _ => 0,
            },
            lines: [Line::default(); Remaining::LINES],
            count: full.count,
            fastest: 0,
            at: Time::ZERO,
            crossings: [[None; Remaining::LINES]; Remaining::LINES],
        };
        demand.quantum = demand.on_wire(full.least);
        for i in 0..full.count {
            let (burst, rate) = full.lines[i];
            let rate = demand.on_wire(i128::from(rate));
            let inverse = Divisor::new(rate);
            demand.fastest = demand.fastest.max(rate);
            demand.lines[i] = Line { level: 0, burst: demand.on_wire(burst), rate, inverse };
        }
        for i in 0..full.count {
            for j in 0..full.count {
                let (a, b) = (demand.lines[i].rate, demand.lines[j].rate);
                demand.crossings[i][j] = a.checked_sub(b).and_then(Divisor::new);
            }
        }
        demand.refresh(Time::ZERO);
        demand
    }

    /// The lines that bound what the policer lets through from `now` on: level in wire nanobits and
    /// rate in bit/s.
    pub(super) fn lines_at(&self, now: Time) -> impl Iterator<Item = (u64, u64)> + '_ {
        let rates = self.lines.iter().map(|line| line.rate);
        self.levels(now).into_iter().zip(rates).take(self.count)
    }

    /// The flow's relative deadline in ns.
    #[inline]
    pub fn deadline(&self) -> u64 {
        self.deadline.saturating_add(self.deferred)
    }

    /// Defers the deadline of the flow's future packets by `by` ns.
    pub(super) fn defer(&mut self, by: u64) {
        self.deferred = by;
    }

    /// Maximum number of changes that [`changes`](Self::changes) yields.
    pub(super) fn max_changes(&self) -> usize {
        self.steps as usize + self.count
    }

    /// A counted amount on the wire, rounded up; below zero counts as zero.
    fn on_wire(&self, counted: i128) -> u64 {
        let (num, den) = self.wire;
        let counted = u128::try_from(counted).unwrap_or(0);
        let wire = if num == den {
            counted
        } else {
            (counted * u128::from(num)).div_ceil(u128::from(den))
        };
        u64::try_from(wire).unwrap_or(u64::MAX)
    }

    /// A packet of `bytes` conformed at `at`.
    #[inline]
    pub fn take(&mut self, at: Time, bytes: u32) {
        self.policer.take(at, bytes);
        self.refresh(at);
    }

    /// Recomputes the levels from the exact state, so that rounding never accumulates.
    #[inline]
    fn refresh(&mut self, at: Time) {
        let rest = self.policer.remaining(at);
        for i in 0..self.count {
            self.lines[i].level = self.on_wire(rest.lines[i].0).min(self.lines[i].burst);
        }
        self.at = at;
    }

    #[inline]
    fn levels(&self, now: Time) -> [u64; Remaining::LINES] {
        let elapsed = now.since(self.at).0;
        let mut levels = [0; Remaining::LINES];
        for (level, line) in levels.iter_mut().zip(&self.lines).take(self.count) {
            let grown = line.level.saturating_add(line.rate.saturating_mul(elapsed));
            *level = grown.min(line.burst);
        }
        levels
    }

    /// Nanoseconds until the lines allow `packets` of the smallest ones; `None` when they never do.
    #[inline]
    fn offset(&self, levels: &[u64; Remaining::LINES], packets: u64) -> Option<u64> {
        let work = u128::from(self.quantum) * u128::from(packets);
        let mut offset = 0;
        for (level, line) in levels.iter().zip(&self.lines).take(self.count) {
            if let Some(missing) = work.checked_sub(u128::from(*level)).filter(|m| *m > 0) {
                offset = offset.max(line.inverse?.div_ceil(missing));
            }
        }
        Some(offset)
    }

    /// The line that binds at `y`: the lowest, and of equal ones the flattest.
    #[inline]
    fn binding(&self, levels: &[u64; Remaining::LINES], y: u64) -> (usize, u128) {
        let mut best = (0, u128::MAX);
        for (i, (level, line)) in levels.iter().zip(&self.lines).take(self.count).enumerate() {
            let rate = line.rate;
            let value = u128::from(*level) + u128::from(rate) * u128::from(y);
            if value < best.1 || (value == best.1 && rate < self.lines[best.0].rate) {
                best = (i, value);
            }
        }
        best
    }

    /// The most the flow can send within `y` ns from `now`, in wire nanobits.
    #[inline]
    pub fn within(&self, now: Time, y: u64) -> i128 {
        let (_, bound) = self.binding(&self.levels(now), y);
        self.round_to_packets(bound) as i128
    }

    /// Rounds the bound of the lines down to whole packets where those are counted.
    #[inline]
    fn round_to_packets(&self, bound: u128) -> u128 {
        let quantum = u128::from(self.quantum);
        if bound < quantum {
            0
        } else if bound < quantum * u128::from(self.steps + 1) {
            bound - bound % quantum
        } else {
            bound
        }
    }

    /// The fastest that the bound for a fixed instant, `y` ns from `now`, can fall as time passes,
    /// in bit/s, and the ns for which that is certain.
    #[inline]
    pub(super) fn max_decrease(&self, now: Time, y: u64) -> (u64, u64) {
        let (_, bound) = self.binding(&self.levels(now), y);
        let quantum = u128::from(self.quantum);
        let stairs = quantum * u128::from(self.steps + 1);
        // The lines fall by what is beyond a whole packet before the staircase does, and by what is
        // beyond the staircase before they give way to it.
        let (fastest, beyond) = match bound {
            _ if bound < quantum => return (0, y),
            _ if self.steps == 0 => return (self.fastest, y),
            _ if bound < stairs => (0, bound % quantum),
            _ => (self.fastest, bound - stairs),
        };
        let still = u64::try_from(beyond).unwrap_or(u64::MAX).checked_div(self.fastest);
        (fastest, still.map_or(y, |still| still.min(y)))
    }

    /// Writes the changes of the flow's demand line, at intervals of its deadline and more; `out`
    /// has [`max_changes`](Self::max_changes) entries.
    #[inline]
    pub(super) fn changes(&self, now: Time, out: &mut [Change]) {
        out.fill(Change::NEVER);
        let levels = self.levels(now);
        let deadline = self.deadline();
        let (steps, out) = out.split_at_mut(self.steps as usize);
        for (packet, step) in (1..).zip(steps) {
            let Some(y) = self.offset(&levels, packet) else { return };
            let (at, intercept) = (deadline.saturating_add(y), i128::from(self.quantum));
            *step = Change { at, intercept, slope: 0 };
        }
        let Some(mut y) = self.offset(&levels, self.steps + 1) else { return };
        let shifted = |i: usize| {
            let rate = i128::from(self.lines[i].rate);
            (i128::from(levels[i]) - rate * i128::from(deadline), rate)
        };
        let mut before = (i128::from(self.quantum) * i128::from(self.steps), 0);
        let (mut active, _) = self.binding(&levels, y);
        for change in out.iter_mut() {
            let line = shifted(active);
            *change = Change {
                at: deadline.saturating_add(y),
                intercept: line.0 - before.0,
                slope: line.1 - before.1,
            };
            before = line;
            let mut next: Option<u64> = None;
            for j in 0..self.count {
                // From the first whole y on at which the flatter line is the lower one.
                let Some(divisor) = self.crossings[active][j] else { continue };
                let at = divisor.div_rem(levels[j].saturating_sub(levels[active])).0 + 1;
                next = Some(next.map_or(at, |first| first.min(at)));
            }
            let Some(at) = next else { return };
            // Several may pass below it within one nanosecond.
            y = y.max(at);
            active = self.binding(&levels, y).0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use laxity_core::{Bytes, NANOBITS_PER_BYTE, Rate, Span};
    use laxity_curve::{Bucket, Envelope};

    use crate::config::Excess;

    fn flow(envelope: Envelope) -> RealtimeFlow {
        RealtimeFlow {
            envelope,
            deadline: Span(50),
            excess: Excess::Delay,
            buffer: None,
            service: None,
        }
    }

    fn envelopes() -> [Envelope; 3] {
        let b = |burst, rate: u64| Bucket { burst: Bytes(burst), rate: Rate(rate * 8_000_000) };
        let three = [b(2, 700), b(5, 200), b(9, 90)];
        [
            Envelope::buckets(&three, Bytes(2)).unwrap().with_min_packet(Bytes(1)).unwrap(),
            Envelope::leaky_bucket(Bytes(3), Rate(300 * 8_000_000)).unwrap(),
            Envelope::periodic(Span(13), Bytes(2), Span(4)).unwrap(),
        ]
    }

    /// Flows over two kinds of wire, with none, some and many packets counted whole.
    fn demands() -> impl Iterator<Item = FlowDemand> {
        let wires = [Wire::default(), Wire { overhead: 3, min_frame: 5 }];
        let cases = wires.into_iter().flat_map(|wire| [0, 1, 5, 40].map(|steps| (wire, steps)));
        cases.flat_map(|(wire, steps)| {
            envelopes().map(|envelope| FlowDemand::new(&flow(envelope), wire, steps))
        })
    }

    /// Fails when a change is at the wrong place or of the wrong size.
    #[test]
    fn changes_describe_the_demand_bound() {
        for mut demand in demands() {
            let mut now = Time(3);
            for _ in 0..12 {
                let mut changes = vec![Change::NEVER; demand.max_changes()];
                demand.changes(now, &mut changes);
                for x in 50..400 {
                    let drawn: i128 = changes
                        .iter()
                        .filter(|c| c.at <= x)
                        .map(|c| c.intercept + c.slope * i128::from(x))
                        .sum();
                    assert_eq!(drawn, demand.within(now, x - 50), "{demand:?} now {now:?}");
                }
                let at = demand.policer.conforms_at(now, 2).unwrap();
                demand.take(at, 2);
                now = at + Span(at.0 % 7);
            }
        }
    }

    /// The traffic of a greedy flow within `y` ns, by its policer, in nanobits on the wire.
    fn greedy(demand: &FlowDemand, now: Time, y: u64, size: u32) -> i128 {
        let mut policer = demand.policer.clone();
        let mut packets = 0;
        while let Some(at) = policer.conforms_at(now, size).filter(|t| t.0 <= now.0 + y) {
            policer.take(at, size);
            packets += 1;
        }
        packets * i128::from(demand.on_wire(i128::from(size) * NANOBITS_PER_BYTE))
    }

    /// Fails when the bound is below what the policer would let through.
    #[test]
    fn the_bound_holds_for_a_greedy_flow() {
        for mut demand in demands() {
            let mut now = Time(3);
            for _ in 0..8 {
                for y in 0..300 {
                    for size in [1, 2] {
                        assert!(demand.within(now, y) >= greedy(&demand, now, y, size));
                    }
                }
                let at = demand.policer.conforms_at(now, 2).unwrap();
                demand.take(at, 2);
                now = at;
            }
        }
    }

    /// Fails when whole packets are counted as the line through them.
    #[test]
    fn packets_of_one_size_are_counted_whole() {
        let envelope = Envelope::periodic(Span(13), Bytes(2), Span(4)).unwrap();
        let mut demand = FlowDemand::new(&flow(envelope), Wire::default(), 40);
        for now in [0, 5, 11, 20] {
            let at = demand.policer.conforms_at(Time(now), 2).unwrap();
            demand.take(at, 2);
            for now in at.0..at.0 + 30 {
                for y in 0..300 {
                    let greedy = greedy(&demand, Time(now), y, 2);
                    assert_eq!(demand.within(Time(now), y), greedy, "now {now} y {y}");
                }
            }
        }
    }

    /// Fails when the bound for a fixed instant falls sooner or faster than it is said to.
    #[test]
    fn the_bound_falls_no_faster_than_certain() {
        for demand in demands() {
            for until in 0..90 {
                let (fastest, certain) = demand.max_decrease(Time(0), until);
                let before = demand.within(Time(0), until);
                for now in 0..=certain.min(until) {
                    let fallen = before - demand.within(Time(now), until - now);
                    assert!(fallen <= i128::from(fastest) * i128::from(now), "{demand:?}");
                }
            }
        }
    }
}
